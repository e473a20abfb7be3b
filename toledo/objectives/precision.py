"""N-gram precisions with expected counts, clipped hard or smoothly: what CoBLEU and xBLEU share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.forest.forest import sentences_at_once
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.objective import MatchedForest, closest_lengths

STEEPNESS = 1000.0  # of smooth clipping and brevity
LEAST = 1e-9  # no matches at all are taken as this many, so that the logarithm stays finite


@dataclass(frozen=True)
class Precision:
    """(1/N) Σ_n ln(matches of order n / n-grams of order n), and its derivatives by matches and n-grams.

    Orders that no translation reaches do not count. `length` is the expected length of all segments, `closest` the sum
    of the reference lengths closest to the expected ones.
    """

    value: float
    length: float
    closest: float
    per_match: NDArray[np.float64]
    per_ngram: NDArray[np.float64]


class Slopes(NamedTuple):
    """The derivative of an objective by each match and n-gram of each order, and by each word besides."""

    per_match: NDArray[np.float64]
    per_ngram: NDArray[np.float64]
    per_word: float


class Counted(NamedTuple):
    """n-grams and matches by order for some segments together, and the expected length of each segment."""

    sums: NDArray[np.float64]
    lengths: NDArray[np.float64]


class PrecisionObjective(ExpectedCounts):
    """A function of n-gram precisions and lengths."""

    order: int
    smooth: ClassVar[bool]

    @abstractmethod
    def finish(self, found: Precision) -> tuple[float, float, float]:
        """Return the value, and its derivatives by `found.value` and by the expected length."""

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """See `ExpectedCounts`."""
        segments, pieces = len(matched.ngrams.forest), sentences_at_once(matched.ngrams.forest.shape)
        parts = map_chunks(
            lambda first, last: self.collect(matched, expected, first, last), segments, chunk=pieces, threads=threads
        )
        value, slopes = self.settle(matched, expected, parts, threads)
        derivatives = np.empty(expected.size)
        map_chunks(
            lambda first, last: self.differentiate(matched, expected, slopes, first, last, derivatives),
            segments,
            chunk=pieces,
            threads=threads,
        )
        return value, derivatives

    def collect(self, matched: MatchedForest, expected: NDArray[np.float64], first: int, last: int) -> Counted:
        """Count some segments."""
        matched.require_order(self.order)
        ngrams = matched.ngrams
        return _count(
            ngrams.orders, expected, matched.reference_counts, self.order, self.smooth, ngrams.sentences, first, last
        )

    def settle(
        self, matched: MatchedForest, expected: NDArray[np.float64], parts: Sequence[Any], threads: int | None
    ) -> tuple[float, Slopes]:
        """Return the value, and what it takes to differentiate it."""
        found = mean_log_precision(matched, parts, self.order)
        if found.length <= 0.0:
            none = np.zeros(self.order)
            return self.finish(found)[0], Slopes(none, none, 0.0)
        value, factor, per_word = self.finish(found)
        return value, Slopes(factor * found.per_match, factor * found.per_ngram, per_word)

    def differentiate(
        self,
        matched: MatchedForest,
        expected: NDArray[np.float64],
        slopes: Slopes,
        first: int,
        last: int,
        derivatives: NDArray[np.float64],
    ) -> None:
        """Write the derivatives by the expected counts of the n-grams of some segments."""
        ngrams = matched.ngrams
        begin, end = ngrams.sentences[first], ngrams.sentences[last]
        _derivatives(ngrams.orders, expected, matched.reference_counts, self.smooth, slopes, begin, end, derivatives)


def mean_log_precision(matched: MatchedForest, parts: Sequence[Counted], order: int) -> Precision:
    """Return the precisions up to an order, their mean logarithm, and the lengths."""
    totals, found = sum((part.sums for part in parts), start=np.zeros((2, order)))
    lengths = np.concatenate([part.lengths for part in parts])
    possible = totals > 0.0
    safe = np.maximum(found, LEAST)
    return Precision(
        value=float(np.log(safe[possible] / totals[possible]).sum()) / order,
        length=float(lengths.sum()),
        closest=float(closest_lengths(matched.reference_lengths, lengths).sum()),
        per_match=np.where(possible & (found > LEAST), 1.0 / safe, 0.0) / order,
        per_ngram=np.divide(1.0, totals, out=np.zeros(order), where=possible) / order,
    )


@kernel
def clip(count: float, limit: float, smooth: bool) -> tuple[float, float]:
    """Return the part of an expected count that matches, and its derivative by the count.

    Hard: min(x, c), with derivative 1 at the kink. Smooth: ψ(x, c) = (x − c) / (1 + e^{1000 (x − c)}) + c, and nothing
    for n-grams that no reference has: there ψ(x, 0) is small but not 0, and would add up.
    """
    if limit <= 0.0:
        return 0.0, 0.0
    over = count - limit
    if not smooth:
        return (limit, 0.0) if over > 0.0 else (count, 1.0)
    small = math.exp(-abs(STEEPNESS * over))
    gate = (small if over > 0.0 else 1.0) / (1.0 + small)  # 1 / (1 + e^{1000 over}) without overflow
    return over * gate + limit, gate - STEEPNESS * over * gate * (1.0 - gate)


@kernel
def _count(
    orders: NDArray[np.uint8],
    expected: NDArray[np.float64],
    wanted: NDArray[np.float64],
    order: int,
    smooth: bool,
    ends: NDArray[np.int64],
    first: int,
    last: int,
) -> Counted:
    sums, lengths = np.zeros((2, order)), np.zeros(last - first)
    for sentence in range(first, last):
        for g in range(ends[sentence], ends[sentence + 1]):
            n = orders[g]
            if n == 1:
                lengths[sentence - first] += expected[g]
            if n <= order:
                sums[0, n - 1] += expected[g]
                sums[1, n - 1] += clip(expected[g], wanted[g], smooth)[0]
    return Counted(sums, lengths)


@kernel
def _derivatives(
    orders: NDArray[np.uint8],
    expected: NDArray[np.float64],
    wanted: NDArray[np.float64],
    smooth: bool,
    slopes: Slopes,
    begin: int,
    end: int,
    result: NDArray[np.float64],
) -> None:
    per_match, per_ngram, per_word = slopes
    for g in range(begin, end):
        n = orders[g]
        result[g] = per_word if n == 1 else 0.0
        if n <= per_match.size:
            result[g] += clip(expected[g], wanted[g], smooth)[1] * per_match[n - 1] - per_ngram[n - 1]
