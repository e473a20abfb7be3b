"""Lattices in the Python Lattice Format (PLF) of Moses and cdec, one on each line.

    ((('the', 0.9, 1), ('a', 0.1, 1),), (('house', 1.0, 1),),)

A tuple for each state but the last: its arcs, each a word, numbers, and how many states further it leads. It looks
like a Python literal, but is never evaluated: what is not exactly this is refused with its column. Moses takes the
numbers for probabilities, cdec for logarithms. Features become `score`, or `score_1`, `score_2` … if there are several;
Moses' way to write sparse features, `name=value` before the last number, works too. `*EPS*` is no word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_lines
from toledo.forest import Arc, Forest, from_lattice
from toledo.formats.features import number_text, without_base, words_text
from toledo.formats.lattices import Lattice, LatticeArc, lattice_of
from toledo.formats.plf_syntax import NO_WORD, Parser, PlfArc, PlfError
from toledo.vocabulary import Vocabulary

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
        raise PlfError(f"{value} is not a probability", column, "if the numbers are logarithms, say so: --plf-values")
    return math.log(value) if value else LOWEST


def _text(lattice: Lattice, names: Sequence[str], values: Values) -> str:
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
            remedy="write logarithms: --plf-values logarithms",
        )
    probability, single = math.exp(value), np.float32(value)
    texts = (f"{probability:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if np.float32(math.log(float(text))) == single), repr(probability))
