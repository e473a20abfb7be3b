"""Lattices in the Python Lattice Format (PLF) of Moses and cdec, one on each line.

    ((('the', 0.9, 1), ('a', 0.1, 1),), (('house', 1.0, 1),),)

A tuple for each state but the last: its arcs, each a word, numbers, and how many states further it leads. It looks
like a Python literal, but is never evaluated: what is not exactly this is refused with its column. Moses takes the
numbers for probabilities, cdec for logarithms. Features become `score`, or `score_1`, `score_2` … if there are several;
Moses' way to write sparse features, `name=value` before the last number, works too. `*EPS*` is no word.

The syntax of PLF: tuples of tuples, read from left to right by a strict parser. Nothing is ever evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_lines
from toledo.forest.constructors import Arc, from_lattice
from toledo.forest.forest import Forest
from toledo.formats.fields import number_text, parse_number, without_base, words_text
from toledo.formats.lattice import LatticeArc, WordLattice, lattice_of
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


Values = Literal["probabilities", "logarithms"]

LOWEST = -100.0  # for the logarithm of 0, as in Moses
SCORE = "score"

RESERVED_WORD = re.compile(rf"(^|\s){re.escape(NO_WORD)}(\s|$)")
SPARSE_NAME = re.compile(r"[(),'\"=]")


def read_plf(
    path: str | Path,
    vocabulary: Vocabulary,
    feature_names: Sequence[str] | None = None,
    values: Values = "probabilities",
) -> Iterator[Forest]:
    """The lattices of a file. `feature_names` are the names of the numbers on arcs, in order."""
    names = None if feature_names is None else tuple(feature_names)
    empty = 0  # lattices without arcs at the beginning wait for the names that the first arc gives
    for number, line in enumerate(read_lines(path), start=1):
        try:
            columns = Parser(line).lattice()
            _require_end(columns)
            if names is None and not columns:
                empty += 1
                continue
            names = _default_names(columns) if names is None else names
            arcs = list(_arcs(columns, names, values))
        except PlfError as problem:
            raise InputError(
                f"{problem.message} (column {problem.column + 1})",
                file=display_name(path),
                line=number,
                remedy=problem.remedy,
            ) from None
        for _ in range(empty):
            yield from_lattice([], 0, [0], names, vocabulary)
        empty = 0
        yield from_lattice(arcs, 0, [len(columns)], names, vocabulary)
    for _ in range(empty):
        yield from_lattice([], 0, [0], (SCORE,), vocabulary)


def write_plf(forests: Iterable[Forest], path: str | Path, values: Values = "probabilities") -> None:
    """Write lattices, one on each line; the dense features of an arc become its numbers, without their names."""
    with atomic_writer(path) as stream:
        stream.writelines(plf_text(forest, values) for forest in forests)


def plf_text(forest: Forest, values: Values = "probabilities") -> str:
    """The line of one lattice."""
    return _text(lattice_of(forest), forest.feature_names, values) + "\n"


def _default_names(columns: list[list[PlfArc]]) -> tuple[str, ...]:
    size = next(len(arc.numbers) for column in columns for arc in column)
    return (SCORE,) if size == 1 else tuple(f"{SCORE}_{place}" for place in range(1, size + 1))


def _arcs(columns: list[list[PlfArc]], names: tuple[str, ...], values: Values) -> Iterator[Arc]:
    last = len(columns)
    for state, column in enumerate(columns):
        for arc in column:
            end = state + arc.distance
            if end > last:
                raise PlfError(f"the arc leads to state {end}, the last one is {last}", arc.column)
            if len(arc.numbers) != len(names):
                raise PlfError(
                    f"{len(arc.numbers)} numbers before the last instead of {len(names)}",
                    arc.column,
                    "give all arcs the same number of scores",
                )
            scores = (_from_file(value, values, arc.column) for value in arc.numbers)
            others, base = without_base(arc.sparse)
            yield Arc(state, end, arc.words, {**dict(zip(names, scores, strict=True)), **others}, base)


def _require_end(columns: list[list[PlfArc]]) -> None:
    last = len(columns)
    if columns and not any(state + arc.distance >= last for state, arcs in enumerate(columns) for arc in arcs):
        raise PlfError(f"no arc leads to the last state, {last}", 0, "remove the empty states at the end")


def _from_file(value: float, values: Values, column: int) -> float:
    if values == "logarithms":
        return value
    if value < 0:
        raise PlfError(
            f"{value} is not a probability", column, "if the numbers are logarithms, read PLF values as logarithms"
        )
    return math.log(value) if value else LOWEST


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
    if not -700 < value < 700:
        raise InputError(
            f"the feature {name} has the value {value}, too far from 0 for a probability",
            remedy="write PLF values as logarithms",
        )
    probability, single = math.exp(value), np.float32(value)
    texts = (f"{probability:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if np.float32(math.log(float(text))) == single), repr(probability))
