"""TER, translation edit rate (Snover et al. 2006), with the shifts of tercom as sacreBLEU computes them.

Statistics of a segment are [edits, reference length]: the fewest edits over the references and their mean length. The
score is 100 · edits / length; lower is better, and it may exceed 100.

Edits are counted as tercom and sacreBLEU do: as long as a shift of a matching block lowers the edit distance, make the
shift that lowers it most (of equal ones: the longest block, then the earliest, then the earliest target). The edit
distance is computed in a beam around the diagonal, so time and memory are linear in the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.instructions import listed
from toledo.compiled.kernels import inner_kernel, kernel
from toledo.compiled.ragged import Sequences, pair_words
from toledo.errors import InputError
from toledo.metrics.score import Score
from toledo.metrics.segments import Rows, SegmentMetric, Text, Texts
from toledo.settings import Meta

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Number = TypeVar("Number", np.int32, np.int64)


class Shift(NamedTuple):
    """Move `length` words from `start` before `target`; an order of tuples is the order of preference."""

    gain: int
    length: int
    minus_start: int
    minus_target: int


class Places(NamedTuple):
    """How words stand beside the places of a reference or a network.

    `matches[i, j − i + d]` tells whether word i belongs at place j, for places up to d away. `words` at the places, or
    else the last ones before them, are −1 where there is none. Words may be wrong where they are, and places unmatched.
    """

    matches: NDArray[np.bool_]
    words: Int64s
    wrong: NDArray[np.bool_]
    unmatched: NDArray[np.bool_]


@kernel
def shift_candidates(places: Places, longest: int, most: int) -> Int64s:
    """Start, length and target of the shifts to try, about `most` of them, of blocks of up to `longest` words.

    A block must match places word by word; some word of it must be wrong where it is, and some of the places unmatched.
    It goes before or into the words that stand at these places now.
    """
    words, width, distance = places.wrong.size, places.unmatched.size, places.matches.shape[1] // 2
    found, count = np.empty((most + longest + 1, 3), np.int64), 0
    for start in range(words):
        own = listed(places.matches[start])
        for goal in range(max(0, start - distance), min(width, start + distance + 1)):
            if not own[goal - start + distance]:
                continue
            any_wrong, any_unmatched = False, False
            for length in range(1, min(longest, words - start, width - goal) + 1):
                word, place = start + length - 1, goal + length - 1
                if not places.matches[word, goal - start + distance]:
                    break
                any_wrong |= places.wrong[word]
                any_unmatched |= places.unmatched[place]
                if not (any_wrong and any_unmatched) or start <= places.words[goal] < start + length:
                    continue
                previous = -1
                for offset in range(-1, length):
                    target = 0 if goal + offset < 0 else places.words[goal + offset] + 1
                    if target != previous:
                        found[count, 0], found[count, 1], found[count, 2] = start, length, target
                        previous = target
                        count += 1
                if count >= most:
                    return found[:count]
    return found[:count]


@kernel
def shift_bounds(words: int, start: int, length: int, target: int) -> tuple[int, int, int]:
    """Return the bounds of the two neighboring blocks that a shift swaps: begin, middle and end.

    A target inside the block is counted from its end.
    """
    if target < start:
        return target, start, start + length
    end = target if target > start + length else min(length + target, words)
    return start, start + length, end


@kernel
def shifted(words: NDArray[Number], start: int, length: int, target: int) -> NDArray[Number]:
    """Return the words, or their numbers, with a block moved."""
    first, middle, last = shift_bounds(words.size, start, length, target)
    result = words.copy()
    result[first : first + last - middle] = words[middle:last]
    result[first + last - middle : last] = words[first:middle]
    return result


UNREACHED = 1 << 28
NO_WORD = -1


class TERLimits(NamedTuple):
    """How far TER looks."""

    beam_width: int = 25
    shift_size: int = 10
    shift_distance: int = 50
    candidates: int = 1000


class EditBeam(NamedTuple):
    """Row i of the edit matrix covers the columns `low[i]` to `high[i] − 1`, at most `width`; row 0 covers all."""

    low: Int64s
    high: Int64s
    width: int


class EditMatrix(NamedTuple):
    """Costs up to each cell and from it to the end; column j of row i is at [i, j − low[i]]. Row 0 is not kept."""

    costs: Int32s
    ahead: Int32s


@kernel
def count_edits(hypothesis: Int32s, reference: Int32s, limits: TERLimits) -> int:
    """Insertions, deletions, substitutions and shifts."""
    if reference.size == 0 or hypothesis.size == 0:
        return hypothesis.size + reference.size
    words = hypothesis.copy()
    padded = np.full(reference.size + 1, NO_WORD, np.int32)
    padded[1:] = reference
    meant = listed(padded)  # the word of column j is at j
    beam = _beam(hypothesis.size, reference.size, limits.beam_width)
    matrix = EditMatrix(
        np.empty((words.size + 1, beam.width), np.int32), np.empty((words.size + 1, beam.width), np.int32)
    )
    unreached = np.full((2, reference.size + 2), UNREACHED, np.int32)
    rows = listed(unreached[0]), listed(unreached[1])
    shifts = 0
    checked = 0
    while True:
        distance = _fill(matrix, rows, words, meant, beam)
        if distance == 0:
            return shifts
        best, checked = _best_shift(matrix, rows, words, meant, beam, distance, limits, checked)
        if checked >= limits.candidates or best.gain <= 0:
            return shifts + distance
        words = shifted(words, -best.minus_start, best.length, -best.minus_target)
        shifts += 1


@kernel
def _beam(hypothesis: int, reference: int, beam_width: int) -> EditBeam:
    """Around the diagonal; wider where the lengths differ so much that neighboring rows would not meet."""
    ratio = reference / hypothesis
    width = math.ceil(ratio / 2 + beam_width) if beam_width < ratio / 2 else beam_width
    low, high = np.empty(hypothesis + 1, np.int64), np.empty(hypothesis + 1, np.int64)
    for row in range(hypothesis + 1):
        diagonal = math.floor(row * ratio)
        low[row] = max(0, diagonal - width)
        high[row] = min(reference + 1, diagonal + width)
    low[0], high[0], high[hypothesis] = 0, reference + 1, reference + 1
    return EditBeam(listed(low), listed(high), int(np.max(high[1:] - low[1:])))


@inner_kernel
def _fill(matrix: EditMatrix, rows: tuple[Int32s, Int32s], words: Int32s, meant: Int32s, beam: EditBeam) -> int:
    """Fill in the costs up to all cells, and return the edit distance.

    `rows` is memory for two whole rows, shifted by one column so that column −1 exists.
    """
    above, here = rows
    _load(matrix, above, beam, 0)
    for row in range(1, words.size + 1):
        low, high = beam.low[row], beam.high[row]
        _next_row(above, here, int(words[row - 1]), meant, beam.high[row - 1], low, high)
        for column in range(low, high):
            matrix.costs[row, column - low] = here[column + 1]
        above, here = here, above
    return int(above[len(meant)])


@inner_kernel
def _load(matrix: EditMatrix, row: Int32s, beam: EditBeam, number: int) -> None:
    """Write a row of the matrix to a whole row."""
    low, high = beam.low[number], beam.high[number]
    row[low] = UNREACHED
    costs = listed(matrix.costs[number])
    for column in range(low, high):
        row[column + 1] = costs[column - low] if number else column


@inner_kernel
def _next_row(above: Int32s, here: Int32s, word: int, meant: Int32s, end: int, low: int, high: int) -> None:
    """Fill in the columns `low` to `high − 1` of the row of a word, below a row that ends before column `end`."""
    for column in range(1 + end, 1 + high):
        above[column] = UNREACHED
    here[low] = UNREACHED
    cost, diagonal = UNREACHED, above[low]
    for column in range(low, high):
        kept = diagonal + (word != meant[column])
        diagonal = above[column + 1]
        cost = (diagonal if diagonal < cost else cost) + 1
        if kept < cost:
            cost = kept
        here[column + 1] = cost


@inner_kernel
def _fill_ahead(matrix: EditMatrix, rows: tuple[Int32s, Int32s], words: Int32s, meant: Int32s, beam: EditBeam) -> None:
    """Fill in the costs from all cells to the end, the last row first."""
    (below, here), last = rows, words.size
    low, high = beam.low[last], beam.high[last]
    for column in range(low, high):
        below[column] = matrix.ahead[last, column - low] = high - 1 - column
    for row in range(last - 1, 0, -1):
        for column in range(beam.low[row], low):
            below[column] = UNREACHED
        below[high] = UNREACHED
        low, high = beam.low[row], beam.high[row]
        word, cost = int(words[row]), UNREACHED
        diagonal = below[high]
        for column in range(high - 1, low - 1, -1):
            kept = diagonal + (column + 1 >= len(meant) or word != meant[column + 1])
            diagonal = below[column]
            cost = (diagonal if diagonal < cost else cost) + 1
            if kept < cost:
                cost = kept
            here[column] = matrix.ahead[row, column - low] = cost
        below, here = here, below


@inner_kernel
def _distance_after(
    matrix: EditMatrix, rows: tuple[Int32s, Int32s], words: Int32s, meant: Int32s, beam: EditBeam, first: int, last: int
) -> int:
    """Return the edit distance of shifted words, of which those from `first` to `last − 1` are not as in the matrix."""
    (above, here), given = rows, listed(words)
    _load(matrix, above, beam, first)
    for row in range(first + 1, last + 1):
        _next_row(above, here, given[row - 1], meant, beam.high[row - 1], beam.low[row], beam.high[row])
        above, here = here, above
    low, high = beam.low[last], beam.high[last]
    ahead, distance = listed(matrix.ahead[last]), UNREACHED
    for column in range(low, high):
        distance = min(distance, above[column + 1] + ahead[column - low])
    return distance


@inner_kernel
def _cost(matrix: EditMatrix, beam: EditBeam, row: int, column: int) -> int:
    if not beam.low[row] <= column < beam.high[row]:
        return UNREACHED
    return int(matrix.costs[row, column - beam.low[row]]) if row else column


@kernel
def _places(matrix: EditMatrix, words: Int32s, meant: Int32s, beam: EditBeam, distance: int) -> Places:
    """Follow the cheapest edits back from the last cell: of equal ones a word in place, then one too many."""
    size = len(meant) - 1
    places = Places(
        np.zeros((words.size, 2 * distance + 1), np.bool_),
        np.empty(size, np.int64),
        np.zeros(words.size, np.bool_),
        np.zeros(size, np.bool_),
    )
    for number in range(words.size):
        word = int(words[number])
        for place in range(max(0, number - distance), min(size, number + distance + 1)):
            if word == meant[place + 1]:
                places.matches[number, place - number + distance] = True
    row, column = words.size, size
    while row > 0 or column > 0:
        cost, is_wrong = _cost(matrix, beam, row, column), row == 0 or words[row - 1] != meant[column]
        is_kept = row > 0 and column > 0 and cost == _cost(matrix, beam, row - 1, column - 1) + is_wrong
        if not is_kept and row > 0 and cost == _cost(matrix, beam, row - 1, column) + 1:
            row -= 1
            places.wrong[row] = True
            continue
        column -= 1
        places.words[column] = row - 1
        places.unmatched[column] = is_wrong or not is_kept
        if is_kept:
            row -= 1
            places.wrong[row] = is_wrong
    return places


@kernel
def _best_shift(
    matrix: EditMatrix,
    rows: tuple[Int32s, Int32s],
    words: Int32s,
    meant: Int32s,
    beam: EditBeam,
    distance: int,
    limits: TERLimits,
    checked: int,
) -> tuple[Shift, int]:
    """Return the best shift (gain 0 if there is none) and the number of candidates tried so far."""
    places = _places(matrix, words, meant, beam, limits.shift_distance)
    best = Shift(0, 0, 0, 0)
    candidates = shift_candidates(places, limits.shift_size, limits.candidates - checked)
    if len(candidates):
        _fill_ahead(matrix, rows, words, meant, beam)
    for start, length, target in listed(candidates):
        first, _, last = shift_bounds(words.size, start, length, target)
        after = _distance_after(matrix, rows, shifted(words, start, length, target), meant, beam, first, last)
        candidate = Shift(distance - after, length, -start, -target)
        if candidate > best:
            best = candidate
    return best, checked + len(candidates)


@dataclass(frozen=True, kw_only=True)
class TER(SegmentMetric):
    """TER with sacreBLEU's settings, numbers and signatures; further fields say how far it looks for shifts."""

    normalized: Annotated[bool, Meta(description="Normalize and tokenize as tercom does.")] = False
    no_punct: Annotated[bool, Meta(description="Remove punctuation.")] = False
    asian_support: Annotated[bool, Meta(description="Treat Asian characters as words.")] = False
    case_sensitive: Annotated[bool, Meta(description="Distinguish upper and lower case.")] = False
    limits: TERLimits = TERLimits()  # noqa: RUF009 (a tuple)

    name = "TER"
    higher_is_better = False
    size = 2
    segments_at_once = 50

    def __post_init__(self) -> None:
        limits = self.limits
        if min(limits.beam_width, limits.candidates) < 1 or min(limits.shift_size, limits.shift_distance) < 0:
            raise InputError("the limits of TER must be positive", argument="limits")

    def _counter(
        self, hypotheses: Sequence[Text], references: Sequence[Sequence[Text]], result: Rows
    ) -> Callable[[int, int], None]:
        """Return a function that fills rows with the fewest edits and the mean reference length."""
        pairing = pair_words(self.split_words(hypotheses), [self.split_words(group) for group in references])
        said = pairing.hypotheses.symbols, pairing.hypotheses.offsets
        meant = pairing.references.symbols, pairing.references.offsets
        return lambda begin, end: _fill_statistics(said, meant, pairing.groups, begin, end, self.limits, result)

    def scores(self, statistics: Rows) -> Rows:
        """Return the score of each row in per cent; words where nothing should be count as 100."""
        edits, length = statistics[:, 0], statistics[:, 1]
        return np.where(length > 0, 100 * edits / np.where(length > 0, length, 1), np.where(edits > 0, 100.0, 0.0))

    def gradient(self, statistics: Rows) -> Rows:
        """Return the derivatives of the score by the statistics; 0 without a reference."""
        edits, length = statistics
        return np.array([100 / length, -100 * edits / length**2]) if length > 0 else np.zeros(2)

    def details(self, statistics: Rows) -> dict[str, Any]:
        """Return edits and reference length."""
        return {"num_edits": int(statistics[0]), "ref_length": float(statistics[1])}

    def gains(self, texts: Sequences, hypotheses: int, probabilities: Rows, *, only_best: bool = False) -> Rows:
        """Return the expected 100 − TER of the first texts: 100 for equal texts, below 0 for more edits than words."""
        from toledo.metrics.expected import expected_ter

        return expected_ter(texts, hypotheses, probabilities, self.limits, only_best)

    def twin(self) -> Any:
        """Return sacreBLEU's object with the same settings."""
        from sacrebleu.metrics.ter import TER as SacreTER  # noqa: N811

        return SacreTER(self.normalized, self.no_punct, self.asian_support, self.case_sensitive)


def corpus_ter(hypotheses: Sequence[str], references: Any, **settings: Any) -> Score:
    """Compute TER of a corpus as sacreBLEU does; settings are those of `TER`."""
    return TER(**settings).corpus_score(hypotheses, references)


def sentence_ter(hypothesis: str, references: str | Sequence[str], **settings: Any) -> Score:
    """Compute TER of one text as sacreBLEU does; settings are those of `TER`."""
    return TER(**settings).sentence_score(hypothesis, references)


@kernel(small=10_000)
def _fill_statistics(
    hypotheses: Texts, references: Texts, groups: Int64s, begin: int, end: int, limits: TERLimits, result: Rows
) -> None:
    words, offsets = hypotheses
    reference_words, reference_offsets = references
    for segment in range(begin, end):
        first, last = groups[segment], groups[segment + 1]
        hypothesis = words[offsets[segment] : offsets[segment + 1]]
        fewest = np.iinfo(np.int64).max
        for number in range(first, last):
            reference = reference_words[reference_offsets[number] : reference_offsets[number + 1]]
            fewest = min(fewest, count_edits(hypothesis, reference, limits))
        result[segment, 0] = fewest
        result[segment, 1] = (reference_offsets[last] - reference_offsets[first]) / (last - first)
