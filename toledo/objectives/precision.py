"""What CoBLEU and xBLEU share: n-gram precisions and lengths with expected counts, clipped hard or smoothly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import sentences_at_once
from toledo.kernels import kernel, map_chunks
from toledo.objectives.matching import MatchedForest, closest_lengths

LEAST = 1e-9  # no matches at all are taken as this many, so that the logarithm stays finite
STEEPNESS = 1000.0


@dataclass(frozen=True)
class Precision:
    """(1/N) Σ_n ln(matches of order n / n-grams of order n), and what it takes to differentiate it.

    Orders that no translation reaches do not count. `length` is the expected length of all segments, `closest` the sum
    of the reference lengths closest to the expected ones.
    """

    value: float
    length: float
    closest: float
    per_match: NDArray[np.float64]
    per_ngram: NDArray[np.float64]

    def derivatives(
        self,
        matched: MatchedForest,
        expected: NDArray[np.float64],
        smooth: bool,
        factor: float,
        per_word: float,
        threads: int | None,
    ) -> NDArray[np.float64]:
        """By each expected count: `factor` times the derivative of `value`, plus `per_word` for single words."""
        result = np.empty(expected.size)
        orders, wanted, ends = matched.ngrams.orders, matched.reference_counts, matched.ngrams.sentences
        per_match, per_ngram = factor * self.per_match, factor * self.per_ngram
        map_chunks(
            lambda first, last: _derivatives(
                orders, expected, wanted, smooth, per_match, per_ngram, per_word, ends[first], ends[last], result
            ),
            ends.size - 1,
            chunk=sentences_at_once(matched.ngrams.forest.shape),
            threads=threads,
        )
        return result


def mean_log_precision(
    matched: MatchedForest, expected: NDArray[np.float64], order: int, smooth: bool, threads: int | None
) -> Precision:
    """The precisions up to an order, their mean logarithm, and the lengths."""
    matched.require_order(order)
    orders, wanted, ends = matched.ngrams.orders, matched.reference_counts, matched.ngrams.sentences
    lengths = np.zeros(ends.size - 1)
    parts = map_chunks(
        lambda first, last: _sums(orders, expected, wanted, order, smooth, ends, first, last, lengths),
        ends.size - 1,
        chunk=sentences_at_once(matched.ngrams.forest.shape),
        threads=threads,
    )
    totals, found = sum(parts, start=np.zeros((2, order)))
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
    """The part of an expected count that matches, and its derivative by the count.

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
def _sums(
    orders: NDArray[np.uint8],
    expected: NDArray[np.float64],
    wanted: NDArray[np.float64],
    order: int,
    smooth: bool,
    ends: NDArray[np.int64],
    first: int,
    last: int,
    lengths: NDArray[np.float64],
) -> NDArray[np.float64]:
    """n-grams and matches of each order; writes the lengths of the sentences."""
    sums = np.zeros((2, order))
    for sentence in range(first, last):
        for g in range(ends[sentence], ends[sentence + 1]):
            n = orders[g]
            if n == 1:
                lengths[sentence] += expected[g]
            if n <= order:
                sums[0, n - 1] += expected[g]
                sums[1, n - 1] += clip(expected[g], wanted[g], smooth)[0]
    return sums


@kernel
def _derivatives(
    orders: NDArray[np.uint8],
    expected: NDArray[np.float64],
    wanted: NDArray[np.float64],
    smooth: bool,
    per_match: NDArray[np.float64],
    per_ngram: NDArray[np.float64],
    per_word: float,
    begin: int,
    end: int,
    result: NDArray[np.float64],
) -> None:
    for g in range(begin, end):
        n = orders[g]
        result[g] = per_word if n == 1 else 0.0
        if n <= per_match.size:
            result[g] += clip(expected[g], wanted[g], smooth)[1] * per_match[n - 1] - per_ngram[n - 1]
