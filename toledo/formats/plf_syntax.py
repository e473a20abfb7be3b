"""The syntax of PLF: tuples of tuples, read from left to right by a strict parser. Nothing is ever evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from toledo.formats.features import parse_number
from toledo.vocabulary import split_words

Item = TypeVar("Item")

NO_WORD = "*EPS*"

TOKEN = re.compile(
    r"""[ \t]*(?:
        (?P<mark>[(),])
      | (?P<string>u?'(?:[^'\\]|\\.)*' | u?"(?:[^"\\]|\\.)*")
      | (?P<bare>[^\s(),'"]+)
      | (?P<end>$)
    )""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")


class PlfError(Exception):
    """What is wrong, where in the line, and what to do."""

    def __init__(self, message: str, column: int, remedy: str = "write ((('word', 0.5, 1), …), …)") -> None:
        self.message, self.column, self.remedy = message, column, remedy
        super().__init__(message)


@dataclass(frozen=True)
class PlfArc:
    """An arc as it stands in the file, and its column."""

    words: list[str]
    numbers: list[float]
    sparse: dict[str, float]
    distance: int
    column: int


class Parser:
    """Reads one line from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line.rstrip(" \t")
        self.place = 0
        self.kind = self.text = ""
        self.column = 0
        self.advance()

    def lattice(self) -> list[list[PlfArc]]:
        """The arcs that leave each state but the last."""
        columns = self.sequence(lambda: self.sequence(self.arc))
        if self.kind != "end":
            raise PlfError(f"{self.text!r} after the end of the lattice", self.column, "write one lattice on each line")
        return columns

    def sequence(self, item: Callable[[], Item]) -> list[Item]:
        """Items in parentheses with commas between them, and perhaps after the last."""
        self.expect("(")
        items = []
        while self.text != ")" or self.kind != "mark":
            items.append(item())
            if self.text != ")":
                self.expect(",")
        self.advance()
        return items

    def arc(self) -> PlfArc:
        """A word, numbers and the distance."""
        column = self.column
        self.expect("(")
        if self.kind != "string":
            raise PlfError(f"expected a word in quotes, found {self.text!r}", self.column)
        word = _unquoted(self.text, self.column)
        self.advance()
        fields = []
        while self.text == ",":
            self.advance()
            if self.kind == "mark" and self.text == ")":
                break
            fields.append((self.text, self.column))
            if self.kind != "bare":
                raise PlfError(f"expected a number, found {self.text!r}", self.column)
            self.advance()
        self.expect(")")
        return _arc(word, fields, column)

    def expect(self, mark: str) -> None:
        """Go past a mark that must be here."""
        if self.kind != "mark" or self.text != mark:
            raise PlfError(
                f"expected {mark!r}, found {self.text!r}" if self.text else f"{mark!r} is missing", self.column
            )
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        match = TOKEN.match(self.line, self.place)
        if not match or not match.lastgroup:
            raise PlfError("a quote that does not end, or an odd character", self.place)
        self.kind, self.text, self.column = match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        self.place = match.end()


def _unquoted(text: str, column: int) -> list[str]:
    def replace(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code and int(code, 16) < 0x110000:
            return chr(int(code, 16))
        if match[4] not in ("\\", "'", '"'):
            raise PlfError(f"{match[0]!r} in a word", column + start + match.start(), r"escape only \\, \' and \"")
        return match[4]

    start = text.index(text[-1]) + 1  # after the first quote
    word = ESCAPE.sub(replace, text[start:-1])
    return [] if word == NO_WORD else split_words(word)


def _arc(words: list[str], fields: list[tuple[str, int]], column: int) -> PlfArc:
    if not fields:
        raise PlfError("an arc without a number", column)
    numbers, sparse = [], {}
    for text, place in fields[:-1]:
        name, equals, value = text.rpartition("=")
        try:
            if equals:
                sparse[name] = parse_number(value)
            else:
                numbers.append(parse_number(text))
        except ValueError as error:
            raise PlfError(str(error), place) from None
    text, place = fields[-1]
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise PlfError(f"the last number of an arc is {text}", place, "write how many states further it leads: 1, 2, …")
    return PlfArc(words, numbers, sparse, int(text), column)
