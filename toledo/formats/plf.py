"""Lattices in the Python Lattice Format (PLF) of Moses and cdec, one on each line.

    ((('the', 0.9, 1), ('a', 0.1, 1),), (('house', 1.0, 1),),)

A tuple for each state but the last: its arcs, each a word, numbers, and how many states further it leads. It looks like
a Python literal but is never evaluated: a strict parser refuses anything else and names the column. Moses takes the
numbers for probabilities, cdec for logarithms. Features become `score`, or `score_1`, `score_2` … if there are several;
Moses' sparse features, `name=value` before the last number, are read too. `*EPS*` stands for no word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from toledo.errors import InputError
from toledo.files import file_error, read_lines, whole_number
from toledo.forest.constructors import Arc, from_lattice
from toledo.forest.forest import Forest
from toledo.formats.fields import (
    LARGEST,
    LatticeArc,
    WordLattice,
    lattice_of,
    number_text,
    parse_number,
    without_base,
    words_text,
)
from toledo.text.vocabulary import Vocabulary, split_words

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
Values = Literal["probabilities", "logarithms"]

SURROGATES = range(0xD800, 0xE000)  # halves of characters
LOWEST = -100.0  # for the logarithm of 0, as in Moses
SCORE = "score"

RESERVED_WORD = re.compile(rf"(^|\s){re.escape(NO_WORD)}(\s|$)")
SPARSE_NAME = re.compile(r"[(),'\"=]")
LAYOUT = "write ((('word', 0.5, 1), …), …)"


@dataclass(frozen=True)
class PlfArc:
    """An arc as it is in the file, and its column."""

    words: list[str]
    numbers: list[float]
    sparse: dict[str, float]
    distance: int
    column: int


class _PlfLine:
    """Parses one line from left to right, and makes arcs of it."""

    def __init__(self, line: str, path: str | Path, number: int) -> None:
        self.path, self.number = path, number
        self.line = line.rstrip(" \t")
        self.place = self.column = 0
        self.kind = self.text = ""
        self.advance()
        self.columns = self.sequence(lambda: self.sequence(self.arc))  # the arcs that leave each state but the last
        if self.kind != "end":
            raise self.error(
                f"{self.text!r} after the end of the lattice", self.column, "write one lattice on each line"
            )
        self.last = len(self.columns)
        ends = (state + arc.distance for state, arcs in enumerate(self.columns) for arc in arcs)
        if self.columns and max(ends, default=0) < self.last:
            raise self.error(f"no arc leads to the last state, {self.last}", 0, "remove the empty states at the end")

    def error(self, message: str, column: int, remedy: str = LAYOUT) -> InputError:
        """Return an error at a column."""
        return file_error(self.path, self.number, f"{message} (column {column + 1})", remedy)

    def advance(self) -> None:
        """Go to the next token."""
        match = TOKEN.match(self.line, self.place)
        if not match or not match.lastgroup:
            raise self.error("a quote that does not end, or an odd character", self.place)
        self.kind, self.text, self.column = match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        self.place = match.end()

    def expect(self, mark: str) -> None:
        """Go past a mark that must be here."""
        if self.kind != "mark" or self.text != mark:
            message = f"expected {mark!r}, found {self.text!r}" if self.text else f"{mark!r} is missing"
            raise self.error(message, self.column)
        self.advance()

    def sequence(self, item: Callable[[], Item]) -> list[Item]:
        """Parse items in parentheses with commas between them, and perhaps after the last."""
        self.expect("(")
        items = []
        while self.text != ")" or self.kind != "mark":
            items.append(item())
            if self.text != ")":
                self.expect(",")
        self.advance()
        return items

    def arc(self) -> PlfArc:
        """Parse a word, numbers and the distance."""
        column = self.column
        self.expect("(")
        if self.kind != "string":
            raise self.error(f"expected a word in quotes, found {self.text!r}", self.column)
        words = self.unquoted(self.text)
        self.advance()
        fields = []
        while self.text == ",":
            self.advance()
            if self.kind == "mark" and self.text == ")":
                break
            if self.kind != "bare":
                raise self.error(f"expected a number, found {self.text!r}", self.column)
            fields.append((self.text, self.column))
            self.advance()
        self.expect(")")
        if not fields:
            raise self.error("an arc without a number", column)
        numbers, sparse = list[float](), dict[str, float]()
        for text, place in fields[:-1]:
            self.value(text, place, numbers, sparse)
        distance, place = fields[-1]
        length = whole_number(distance)
        if not length:
            remedy = "write how many states further it leads: 1, 2, …"
            raise self.error(f"the last number of an arc is {distance}", place, remedy)
        return PlfArc(words, numbers, sparse, length, column)

    def value(self, text: str, column: int, numbers: list[float], sparse: dict[str, float]) -> None:
        """Add a number, or a sparse feature `name=value`."""
        name, equals, number = text.rpartition("=")
        try:
            value = parse_number(number)
        except ValueError as error:
            raise self.error(str(error), column) from None
        if equals:
            sparse[name] = value
        else:
            numbers.append(value)

    def unquoted(self, text: str) -> list[str]:
        """Return the words of a string in quotes."""
        start = text.index(text[-1]) + 1  # after the first quote

        def replace(match: re.Match[str]) -> str:
            code = match[1] or match[2] or match[3]
            if code and int(code, 16) < 0x110000 and int(code, 16) not in SURROGATES:
                return chr(int(code, 16))
            if match[4] not in ("\\", "'", '"'):
                column = self.column + start + match.start()
                raise self.error(f"{match[0]!r} in a word", column, r"escape \\, \' and \", or a character by its code")
            return match[4]

        word = ESCAPE.sub(replace, text[start:-1])
        return [] if word == NO_WORD else split_words(word)

    def arcs(self, names: tuple[str, ...], values: Values) -> Iterator[Arc]:
        """Yield the arcs of the lattice with named features."""
        for state, column in enumerate(self.columns):
            for arc in column:
                end = state + arc.distance
                if end > self.last:
                    raise self.error(f"the arc leads to state {end}, the last one is {self.last}", arc.column)
                if len(arc.numbers) != len(names):
                    message = f"{len(arc.numbers)} numbers before the last instead of {len(names)}"
                    raise self.error(message, arc.column, "give all arcs the same number of scores")
                scores = arc.numbers
                if values == "probabilities":
                    if negative := [value for value in scores if value < 0]:
                        remedy = "if the numbers are logarithms, read PLF values as logarithms"
                        raise self.error(f"{negative[0]} is not a probability", arc.column, remedy)
                    scores = [math.log(value) if value else LOWEST for value in scores]
                others, base = without_base(arc.sparse)
                yield Arc(state, end, arc.words, {**dict(zip(names, scores, strict=True)), **others}, base)


def read_plf(
    path: str | Path,
    vocabulary: Vocabulary,
    feature_names: Sequence[str] | None = None,
    values: Values = "probabilities",
) -> Iterator[Forest]:
    """Read the lattices of a file. `feature_names` are the names of the numbers on arcs, in order."""
    names = None if feature_names is None else tuple(feature_names)
    empty = 0  # lattices without arcs at the beginning wait for the names that the first arc gives
    for number, text in enumerate(read_lines(path), start=1):
        line = _PlfLine(text, path, number)
        if names is None:
            if not line.columns:
                empty += 1
                continue
            size = next(len(arc.numbers) for column in line.columns for arc in column)
            names = (SCORE,) if size == 1 else tuple(f"{SCORE}_{place}" for place in range(1, size + 1))
        arcs = list(line.arcs(names, values))
        yield from (from_lattice([], 0, [0], names, vocabulary) for _ in range(empty))
        empty = 0
        yield from_lattice(arcs, 0, [line.last], names, vocabulary)
    yield from (from_lattice([], 0, [0], (SCORE,), vocabulary) for _ in range(empty))


def plf_text(forest: Forest, values: Values = "probabilities") -> str:
    """Return the line of one lattice; the dense features of an arc become its numbers, without their names."""
    return _text(lattice_of(forest), forest.feature_names, values) + "\n"


def _text(lattice: WordLattice, names: Sequence[str], values: Values) -> str:
    leaving = {start: list(arcs) for start, arcs in groupby(lattice.arcs, key=lambda arc: arc.start)}
    columns = ([_arc_text(arc, names, values) for arc in leaving.get(state, [])] for state in range(lattice.states - 1))
    return f"({''.join(f'({text}),' for text in map(''.join, columns))})"


def _arc_text(arc: LatticeArc, names: Sequence[str], values: Values) -> str:
    word = NO_WORD if arc.word is None else words_text([arc.word], "PLF", RESERVED_WORD)
    quoted = word.replace("\\", "\\\\").replace("'", "\\'")
    numbers = [_to_file(arc.features.get(name, 0.0), name, values) for name in names]
    others = {name: value for name, value in arc.features.items() if name not in names}
    words_text(others, "PLF as the name of a feature", SPARSE_NAME)
    sparse = [f"{name}={number_text(value)}" for name, value in others.items()]
    return f"('{quoted}', {', '.join([*numbers, *sparse, str(arc.end - arc.start)])}),"


def _to_file(value: float, name: str, values: Values) -> str:
    if values == "logarithms":
        return number_text(value)
    if value == LOWEST:
        return "0"
    if not -700 < value < math.log(LARGEST):  # beyond, it could not be read back
        raise InputError(
            f"the feature {name} has the value {value}, too far from 0 for a probability",
            remedy="write PLF values as logarithms",
        )
    probability, single = math.exp(value), np.float32(value)
    texts = (f"{probability:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if np.float32(math.log(float(text))) == single), repr(probability))
