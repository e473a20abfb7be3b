"""The corpus score everywhere on a line through weight space, exactly (Och 2003).

Along w + γ d a hypothesis scores score + γ · slope. Of each segment only the hypotheses on the upper envelope of these
lines are ever chosen, each between two breakpoints. Sorted together, the breakpoints of all segments cut the line into
intervals; at each breakpoint one segment moves on to its next hypothesis, and the sum of statistics with it.

Lines through the weights of n-best lists: what MERT needs of them, laid out for speed.

Lines through the weights of lattices and forests (Macherey et al. 2008; Kumar et al. 2009).

The envelope of all derivations takes the place of that of a list. Only derivations on it are written out as words, to
be compared with the references.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel, map_chunks
from toledo.forest.envelope import envelope_texts
from toledo.forest.forest import sentences_at_once
from toledo.forest.linear import Vector, row_scores
from toledo.metrics.metric import Metric
from toledo.metrics.references import Counter
from toledo.metrics.utility import PairMetric
from toledo.objectives.lists import sign
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import TuningProblem
from toledo.tuning.weight_space import WeightSpace
from toledo.weights import Weights

Floats = NDArray[np.float64]

NARROWEST = 1e-6  # intervals narrower than this, in parts of the reach, are left out: weights are not that exact
SAME = 1e-9  # scores closer than this are equal


class LineOfLists(NamedTuple):
    """A line as hypotheses see it: their scores at γ = 0, and their features, a row for each weight.

    Segment i has the hypotheses `offsets[i]:offsets[i + 1]`.
    """

    scores: Floats
    features: NDArray[np.floating[Any]]
    direction: Floats
    offsets: NDArray[np.int64]
    statistics: NDArray[np.floating[Any]]


class LineSteps(NamedTuple):
    """Sums of statistics on a line: row i holds from `starts[i]` to `starts[i + 1]`, the last one to +∞."""

    starts: Floats
    statistics: Floats


class HullArrays(NamedTuple):
    """Room for the work on a segment: points not yet looked at, those that move, and tasks (see below)."""

    rest: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    tasks: NDArray[np.int64]


class Breakpoints(NamedTuple):
    """Where the hypothesis `lefts` of some segment gives way to `rights`."""

    gammas: Floats
    lefts: NDArray[np.int32]
    rights: NDArray[np.int32]


class LinePoint(NamedTuple):
    """A point of a line and how good it is: the score there, with a minus sign for an error rate."""

    gamma: float
    gain: float


def best_point(
    steps: LineSteps, metric: Metric, reach: float, low: float = -math.inf, high: float = math.inf
) -> LinePoint:
    """Return the point of a line with the best score of the corpus between `low` and `high`, which must include 0.

    It is the middle of an interval; of equally good ones the nearest to 0. `reach` is the scale of the line: the γ that
    moves weights as far as they are large.
    """
    gains = sign(metric) * metric.scores(steps.statistics)
    gamma, place = _best_point(steps.starts, gains, reach, low, high)
    return LinePoint(gamma, float(gains[place]))


def statistics_at(steps: LineSteps, gamma: float) -> Floats:
    """Return the sum of statistics at a point of a line."""
    place = int(np.searchsorted(steps.starts, gamma, side="right")) - 1
    return np.asarray(steps.statistics[place], np.float64)


def statistics_along(line: LineOfLists) -> LineSteps:
    """Return the sums of statistics of the best hypotheses everywhere on a line."""
    return merged_steps(*_all_breakpoints(line), line.statistics)


def merged_steps(breakpoints: Breakpoints, first: Floats, statistics: NDArray[np.floating[Any]]) -> LineSteps:
    """Sort the breakpoints of all segments; `first` is the sum of statistics before all of them."""
    order = np.argsort(breakpoints.gammas)  # NumPy's own is several times as fast as a compiled one
    return _steps(breakpoints, order, first, statistics)


@kernel
def _all_breakpoints(line: LineOfLists) -> tuple[Breakpoints, Floats]:
    """Return the breakpoints of all segments, and the sum of statistics at −∞."""
    scores, features, direction, offsets, statistics = line
    largest = 0
    for segment in range(offsets.size - 1):
        largest = max(largest, offsets[segment + 1] - offsets[segment])
    space = HullArrays(np.empty(largest, np.uint32), np.empty(largest, np.uint32), np.empty((largest + 1, 4), np.int64))
    found = Breakpoints(np.empty(scores.size), np.empty(scores.size, np.int32), np.empty(scores.size, np.int32))
    room, size, total = np.empty(largest), 0, np.zeros(statistics.shape[1])
    for segment in range(offsets.size - 1):
        begin, end = offsets[segment], offsets[segment + 1]
        if begin < end:
            slopes = room[: end - begin]  # of one segment only: they stay close to the processor
            slopes[:] = 0.0
            for k in range(direction.size):
                if direction[k] != 0.0:
                    add_scaled(features[k, begin:end], direction[k], slopes)
            first, size = _add_breakpoints(scores[begin:end], slopes, begin, space, found, size)
            total += statistics[first]
    return Breakpoints(found.gammas[:size], found.lefts[:size], found.rights[:size]), total


@kernel
def _steps(
    breakpoints: Breakpoints, order: NDArray[np.int64], total: Floats, statistics: NDArray[np.floating[Any]]
) -> LineSteps:
    gammas, lefts, rights = breakpoints
    starts, sums = np.empty(order.size + 1), np.empty((order.size + 1, total.size))
    starts[0] = -math.inf
    sums[0] = total
    for i in range(order.size):
        left, right = lefts[order[i]], rights[order[i]]
        starts[i + 1] = gammas[order[i]]
        for k in range(total.size):
            sums[i + 1, k] = sums[i, k] + statistics[right, k] - statistics[left, k]
    return LineSteps(starts, sums)


@inner_kernel
def add_scaled(row: NDArray[np.floating[Any]], factor: float, sums: Floats) -> None:
    """Add a row times a factor."""
    for i in range(sums.size):
        sums[i] += factor * row[i]


@inner_kernel
def _add_breakpoints(
    scores: Floats, slopes: Floats, begin: int, space: HullArrays, found: Breakpoints, size: int
) -> tuple[int, int]:
    """Append the breakpoints of a segment from left to right; gives the line that is best at −∞, and the new size.

    Lines are points (slope, score), and their upper envelope is the upper hull of the points: QuickHull, which needs no
    sorting and soon forgets most points. A task is two points of the hull and, in `rest`, the points above the chord
    between them. The first point between the outermost two is the best one at γ = 0. `begin` is the number of
    the segment's first line.
    """
    rest, _, tasks = space
    gammas, lefts, rights = found
    first = last = top = 0
    lowest = highest = slopes[0]
    score_first = score_last = score_top = scores[0]
    for i in range(scores.size):
        rest[i] = i
    for i in range(scores.size):
        slope, score = slopes[i], scores[i]
        if slope <= lowest and (slope < lowest or score > score_first):
            first, lowest, score_first = i, slope, score
        if slope >= highest and (slope > highest or score > score_last):
            last, highest, score_last = i, slope, score
        if score > score_top:
            top, score_top = i, score
    if lowest == highest:
        return begin + first, size
    waiting = _split(scores, slopes, first, top, last, space, 0, scores.size, 0)
    while waiting:
        waiting -= 1
        left, right, low, high = tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3]
        gamma = (scores[left] - scores[right]) / (slopes[right] - slopes[left])
        top, most = -1, scores[left] + gamma * slopes[left]
        for place in range(low, high):
            i = rest[place]
            height = scores[i] + gamma * slopes[i]
            if height > most:
                top, most = i, height
        if top >= 0:
            waiting = _split(scores, slopes, left, top, right, space, low, high, waiting)
        else:
            gammas[size], lefts[size], rights[size] = gamma, begin + left, begin + right
            size += 1
    return begin + first, size


@inner_kernel
def _split(
    scores: Floats,
    slopes: Floats,
    left: int,
    top: int,
    right: int,
    space: HullArrays,
    low: int,
    high: int,
    waiting: int,
) -> int:
    """Make tasks for both sides of a new point of the hull, the left one to be done first; gives their number.

    No branches: which points are above a chord cannot be foreseen.
    """
    rest, spare, tasks = space
    left_slope, left_score, top_slope, top_score = slopes[left], scores[left], slopes[top], scores[top]
    left_run, left_rise = top_slope - left_slope, top_score - left_score
    right_run, right_rise = slopes[right] - top_slope, scores[right] - top_score
    kept = moved = 0
    for place in range(low, high):
        i = rest[place]
        slope, score = slopes[i], scores[i]
        rest[low + kept] = i
        kept += (slope > top_slope) & ((score - top_score) * right_run > right_rise * (slope - top_slope))
        spare[moved] = i
        moved += (slope < top_slope) & ((score - left_score) * left_run > left_rise * (slope - left_slope))
    for place in range(moved):
        rest[low + kept + place] = spare[place]
    if slopes[right] > top_slope:
        tasks[waiting, 0], tasks[waiting, 1], tasks[waiting, 2], tasks[waiting, 3] = top, right, low, low + kept
        waiting += 1
    if top_slope > left_slope:
        tasks[waiting, 0], tasks[waiting, 1] = left, top
        tasks[waiting, 2], tasks[waiting, 3] = low + kept, low + kept + moved
        waiting += 1
    return waiting


@kernel
def _best_point(starts: Floats, gains: Floats, reach: float, low: float, high: float) -> tuple[float, int]:
    """Return the middle of the best interval and its number; open ones end a reach beyond their breakpoint (or 0)."""
    best, place, origin = 0.0, -1, 0
    for i in range(starts.size):
        start = max(starts[i], low)
        end = min(starts[i + 1], high) if i + 1 < starts.size else high
        if starts[i] <= 0.0:
            origin = i
        here = start <= 0.0 <= end and start < end
        if start == -math.inf:
            start = min(end, 0.0) - reach
        if end == math.inf:
            end = max(start, 0.0) + reach
        wide = end - start > NARROWEST * reach
        if not (wide or here) or not math.isfinite(start + end):
            continue
        middle = 0.5 * (start + end)
        margin = SAME if place < 0 or abs(middle) >= abs(best) else -SAME  # of equal ones the nearest to 0
        if place < 0 or gains[i] > gains[place] + margin:
            best, place = middle, i
    return best, place if place >= 0 else origin


@dataclass(frozen=True, eq=False)
class LineProblem(TuningProblem, ABC):
    """Search spaces seen from some of their dense weights, whose places are `free`; all others stay as they are."""

    free: NDArray[np.int64]

    @abstractmethod
    def from_point(self, values: Vector) -> Callable[[Vector], LineSteps]:
        """Return the sums of statistics along lines from a point, as a function of their directions."""

    def score(self, values: Vector) -> float:
        """Return the metric's score of the best hypotheses."""
        along = self.from_point(values[self.free])
        return self.metric.score(statistics_at(along(np.zeros(self.free.size)), 0.0))


@dataclass(frozen=True, eq=False)
class ListLines(LineProblem):
    """Hypotheses of lists: a row of `features` for each free weight, `fixed` is what the other weights give.

    Hypotheses of a segment that agree in features and statistics are there once.
    """

    features: NDArray[np.float32]
    fixed: Vector
    statistics: NDArray[np.floating[Any]]
    offsets: NDArray[np.int64]

    def from_point(self, values: Vector) -> Callable[[Vector], LineSteps]:
        """Return the sums of statistics along lines from a point, as a function of their directions."""
        scores = self.fixed.copy()
        for row, value in zip(self.features, values.tolist(), strict=True):
            add_scaled(row, value, scores)
        return lambda direction: statistics_along(
            LineOfLists(scores, self.features, direction, self.offsets, self.statistics)
        )


def list_lines(problem: TuningProblem, free: NDArray[np.int64]) -> ListLines:
    """Return the lines through the weights of lists, a hypothesis once."""
    lists, others = problem.lists, problem.space.start.copy()
    others[free] = 0.0
    fixed = row_scores(problem.rows, others, problem.threads)
    features = problem.rows.dense[:, free]
    segments = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    table = np.column_stack([segments, fixed, features, lists.statistics])
    kept = _first_of_equals(table)
    offsets = np.searchsorted(segments[kept], np.arange(len(lists) + 1))
    return ListLines(
        *_fields(problem),
        free,
        np.ascontiguousarray(features[kept].T),
        fixed[kept],
        _compact(lists.statistics[kept]),
        offsets,
    )


def _fields(problem: TuningProblem) -> tuple[Examples, Weights, WeightSpace, int | None]:
    return problem.examples, problem.start, problem.space, problem.threads


def _compact(statistics: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """Half the memory where nothing is lost, as with counts: lines read statistics here and there."""
    half = statistics.astype(np.float32)
    return half if np.array_equal(half, statistics) else statistics


def _first_of_equals(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where rows stand that do not occur before. (As bytes rows are sorted at once; −0 becomes 0.)"""
    rows = np.ascontiguousarray(table + 0.0)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])


@dataclass(frozen=True, eq=False)
class ForestLines(LineProblem):
    """All derivations of forests; `texts` compares them with the references."""

    texts: Counter

    @property
    def unit(self) -> float:
        """Return what counts as one per cent of the metric; 0 if that is not known before texts are made."""
        return 1.0 if self.metric.in_per_cent else 0.0

    def from_point(self, values: Vector) -> Callable[[Vector], LineSteps]:
        """Return the sums of statistics along lines from a point, as a function of their directions."""
        weights = self.space.start.copy()
        weights[self.free] = values
        scores = row_scores(self.rows, weights, self.threads)

        def along(direction: Vector) -> LineSteps:
            moves = np.zeros(weights.size)
            moves[self.free] = direction
            slopes = row_scores(self.rows._replace(base=np.empty(0)), moves, self.threads)
            parts = map_chunks(
                lambda begin, end: self._envelopes(begin, end, scores, slopes),
                len(self.examples.forest),
                chunk=sentences_at_once(self.examples.forest.shape),
                threads=self.threads,
            )
            return _joined_steps(parts)

        return along

    def _envelopes(self, begin: int, end: int, scores: Vector, slopes: Vector) -> EnvelopePieces:
        shape, yields = self.examples.forest.shape, self.examples.forest.yields
        sentences, starts, offsets, words = envelope_texts(shape, yields, scores, slopes, begin, end)
        segments = np.repeat(np.arange(begin, end), np.diff(sentences))
        return EnvelopePieces(segments, starts, self.texts.statistics(words, offsets, segments, threads=1))


class EnvelopePieces(NamedTuple):
    """The pieces of envelopes in a row: whose they are, where they start, and the statistics of their texts."""

    segments: NDArray[np.int64]
    starts: Vector
    statistics: NDArray[np.float64]


def _joined_steps(parts: Sequence[EnvelopePieces]) -> LineSteps:
    """Return all pieces in a row, and a breakpoint between neighbors of one segment."""
    segments, starts, statistics = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    inner = np.flatnonzero(segments[1:] == segments[:-1]).astype(np.int32)
    firsts = np.flatnonzero(np.diff(segments, prepend=-1))
    breakpoints = Breakpoints(starts[inner + 1], inner, inner + np.int32(1))
    return merged_steps(breakpoints, statistics[firsts].sum(axis=0), statistics)


def forest_lines(problem: TuningProblem, free: NDArray[np.int64]) -> ForestLines:
    """Return the lines through the weights of lattices and forests."""
    examples, start, space, threads = _fields(problem)
    texts = examples.metric.prepare(examples.references, examples.forest.vocabulary)
    if isinstance(examples.metric, PairMetric):  # functions and models are called in the calling thread
        threads = 1
    return ForestLines(examples, start, space, threads, free, texts)
