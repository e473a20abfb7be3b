"""The number of edits of TER, compiled: edit distance in a beam, and greedy shifts.

As tercom and sacreBLEU do it: as long as a shift of a matching block lowers the edit distance, make the one that
lowers it most (of equal ones: the longest block, then the earliest, then the earliest target). The edit distance is
computed in a beam around the diagonal, so time and memory are linear in the length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.metrics.shifts import Places, Shift, shift_candidates, shifted

UNREACHED = np.int32(1 << 28)
KEEP, DELETE, INSERT = np.int8(0), np.int8(1), np.int8(2)  # KEEP stands for substitutions too


class Limits(NamedTuple):
    """How far TER looks."""

    beam_width: int
    shift_size: int
    shift_distance: int
    candidates: int


class Beam(NamedTuple):
    """Row i of the edit matrix covers the columns `low[i]` to `high[i] − 1`; row 0 covers all."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]


class Matrix(NamedTuple):
    """Costs and operations of the rows 1 and up; column j of row i is at [i, j − low[i]]."""

    costs: NDArray[np.int32]
    operations: NDArray[np.int8]


@kernel
def count_edits(hypothesis: NDArray[np.int32], reference: NDArray[np.int32], limits: Limits) -> int:
    """Insertions, deletions, substitutions and shifts."""
    if reference.size == 0 or hypothesis.size == 0:
        return hypothesis.size + reference.size
    words = hypothesis.copy()
    beam = _beam(hypothesis.size, reference.size, limits.beam_width)
    width = np.max(beam.high[1:] - beam.low[1:])
    matrix = Matrix(np.empty((words.size + 1, width), np.int32), np.empty((words.size + 1, width), np.int8))
    rows = np.full((2, reference.size + 2), UNREACHED)
    shifts = 0
    checked = 0
    while True:
        distance = _fill(matrix, rows, words, reference, beam)
        best, checked = _best_shift(matrix, rows, words, reference, beam, distance, limits, checked)
        if checked >= limits.candidates or best.gain <= 0:
            return shifts + distance
        words = shifted(words, -best.minus_start, best.length, -best.minus_target)
        shifts += 1


@kernel
def _beam(hypothesis: int, reference: int, beam_width: int) -> Beam:
    """Around the diagonal; wider where the lengths differ so much that neighbouring rows would not meet."""
    ratio = reference / hypothesis
    width = math.ceil(ratio / 2 + beam_width) if beam_width < ratio / 2 else beam_width
    low, high = np.empty(hypothesis + 1, np.int64), np.empty(hypothesis + 1, np.int64)
    for row in range(hypothesis + 1):
        diagonal = math.floor(row * ratio)
        low[row] = max(0, diagonal - width)
        high[row] = min(reference + 1, diagonal + width)
    low[0], high[0], high[hypothesis] = 0, reference + 1, reference + 1
    return Beam(low, high)


@kernel
def _fill(
    matrix: Matrix, rows: NDArray[np.int32], words: NDArray[np.int32], reference: NDArray[np.int32], beam: Beam
) -> int:
    """All costs and operations of the edit matrix; gives the edit distance.

    `rows` holds two whole rows, shifted by one column so that column −1 exists.
    """
    _load(matrix, rows[0], beam, 0)
    for row in range(1, words.size + 1):
        above, here = rows[(row - 1) % 2], rows[row % 2]
        low, high = beam.low[row], beam.high[row]
        above[1 + beam.high[row - 1] : 1 + high] = UNREACHED
        here[low] = UNREACHED
        word = words[row - 1]
        for column in range(low, high):
            cost, operation = UNREACHED, KEEP
            if column > 0:
                cost = above[column] + np.int32(word != reference[column - 1])
            if above[column + 1] + 1 < cost:
                cost, operation = above[column + 1] + 1, DELETE
            if here[column] + 1 < cost:
                cost, operation = here[column] + 1, INSERT
            here[column + 1] = cost
            matrix.costs[row, column - low] = cost
            matrix.operations[row, column - low] = operation
    return int(rows[words.size % 2, reference.size + 1])


@kernel
def _load(matrix: Matrix, row: NDArray[np.int32], beam: Beam, number: int) -> None:
    """Write a row of the matrix to a whole row."""
    low, high = beam.low[number], beam.high[number]
    row[low] = UNREACHED
    for column in range(low, high):
        row[column + 1] = matrix.costs[number, column - low] if number else column


@kernel
def _distance_after(
    matrix: Matrix,
    rows: NDArray[np.int32],
    words: NDArray[np.int32],
    reference: NDArray[np.int32],
    beam: Beam,
    unchanged: int,
) -> int:
    """The edit distance of shifted words; the rows of the first `unchanged` words are in the matrix."""
    _load(matrix, rows[unchanged % 2], beam, unchanged)
    for row in range(unchanged + 1, words.size + 1):
        above, here = rows[(row - 1) % 2], rows[row % 2]
        low, high = beam.low[row], beam.high[row]
        above[1 + beam.high[row - 1] : 1 + high] = UNREACHED
        here[low] = UNREACHED
        word = words[row - 1]
        left = UNREACHED
        for column in range(low, high):
            cost = above[column + 1] + 1
            if column > 0:
                cost = min(cost, above[column] + np.int32(word != reference[column - 1]))
            left = min(cost, left + 1)
            here[column + 1] = left
    return int(rows[words.size % 2, reference.size + 1])


@kernel
def _places(
    matrix: Matrix, words: NDArray[np.int32], reference: NDArray[np.int32], beam: Beam, distance: int
) -> Places:
    """Follow the operations back from the last cell."""
    places = Places(
        np.zeros((words.size, 2 * distance + 1), np.bool_),
        np.empty(reference.size, np.int64),
        np.zeros(words.size, np.bool_),
        np.zeros(reference.size, np.bool_),
    )
    for word in range(words.size):
        for place in range(max(0, word - distance), min(reference.size, word + distance + 1)):
            places.matches[word, place - word + distance] = words[word] == reference[place]
    row, column = words.size, reference.size
    while row > 0 or column > 0:
        operation = matrix.operations[row, column - beam.low[row]] if row else INSERT
        if operation == DELETE:
            row -= 1
            places.wrong[row] = True
            continue
        column -= 1
        places.words[column] = row - 1
        if operation == INSERT:
            places.unmatched[column] = True
        else:
            row -= 1
            places.wrong[row] = places.unmatched[column] = words[row] != reference[column]
    return places


@kernel
def _best_shift(
    matrix: Matrix,
    rows: NDArray[np.int32],
    words: NDArray[np.int32],
    reference: NDArray[np.int32],
    beam: Beam,
    distance: int,
    limits: Limits,
    checked: int,
) -> tuple[Shift, int]:
    """The best shift (gain 0 if there is none) and the number of candidates tried so far."""
    places = _places(matrix, words, reference, beam, limits.shift_distance)
    best = Shift(0, 0, 0, 0)
    candidates = shift_candidates(places, limits.shift_size, limits.candidates - checked)
    for start, length, target in candidates:
        after = _distance_after(
            matrix, rows, shifted(words, start, length, target), reference, beam, min(start, target)
        )
        candidate = Shift(distance - after, length, -start, -target)
        if candidate > best:
            best = candidate
    return best, checked + len(candidates)
