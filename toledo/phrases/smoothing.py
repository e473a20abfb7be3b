"""Phrase translation probabilities from counts: relative frequencies, or smoothed (Foster, Kuhn and Johnson 2006).

Kneser-Ney, modified: p(e|f) = (c(e,f) − D(c)) / c(f) + α(f) · n(e) / n, where n(e) counts the pairs with e, n all
pairs, and α(f) is the mass that the discounts D take from the pairs of f; so Σ_e p(e|f) = 1.
Good-Turing: counts up to 8 are multiplied by the ratio of the expected to the observed count; the mass is not given
to anything.
"""

from __future__ import annotations

import logging
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

Smoothing = Literal["none", "kneser-ney", "good-turing"]

LARGEST_ADJUSTED = 8  # Good-Turing leaves larger counts alone: counts of counts are too noisy there
USUAL_DISCOUNTS = (0.5, 1.0, 1.5)
LARGEST_DISCOUNTS = (0.9, 1.9, 2.9)


class Counts(NamedTuple):
    """Counts of pairs, the numbers of their two phrases, and the counts of the phrases."""

    joint: NDArray[np.float64]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    of_source: NDArray[np.float64]
    of_target: NDArray[np.float64]


class Probabilities(NamedTuple):
    """Of each pair: forward p(target | source), backward p(source | target)."""

    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


def phrase_probabilities(counts: Counts, smoothing: Smoothing = "none") -> Probabilities:
    """Both directions, smoothed as asked for."""
    if smoothing == "kneser-ney":
        return _kneser_ney(counts)
    joint = counts.joint
    if smoothing == "good-turing":
        joint = joint * good_turing_factors(counts.joint)
    return Probabilities(joint / counts.of_source[counts.source], joint / counts.of_target[counts.target])


def discounts(joint: NDArray[np.float64]) -> tuple[float, float, float]:
    """D1, D2, D3+ of modified Kneser-Ney (Chen and Goodman 1998), within bounds; usual ones for a tiny table."""
    n1, n2, n3, n4 = (float(np.count_nonzero(joint == count)) for count in range(1, 5))
    if 0 in (n1, n2, n3, n4):
        log.warning("too few phrase pairs to estimate Kneser-Ney discounts: using %s, %s and %s", *USUAL_DISCOUNTS)
        return USUAL_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    estimates = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    d1, d2, d3 = (min(max(value, 0.0), most) for value, most in zip(estimates, LARGEST_DISCOUNTS, strict=True))
    return d1, d2, d3


def _kneser_ney(counts: Counts) -> Probabilities:
    by_count = np.array([0.0, *discounts(counts.joint)])
    discount = np.minimum(by_count[np.minimum(counts.joint, 3).astype(np.int64)], counts.joint)
    return Probabilities(
        _backed_off(counts.joint, discount, counts.source, counts.of_source, counts.target),
        _backed_off(counts.joint, discount, counts.target, counts.of_target, counts.source),
    )


def _backed_off(
    joint: NDArray[np.float64],
    discount: NDArray[np.float64],
    given: NDArray[np.int32],
    totals: NDArray[np.float64],
    predicted: NDArray[np.int32],
) -> NDArray[np.float64]:
    mass = np.bincount(given, discount, totals.size)[given]
    lower = (np.bincount(predicted) / joint.size)[predicted]
    probabilities: NDArray[np.float64] = (joint - discount + mass * lower) / totals[given]
    return probabilities


def good_turing_factors(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """(c + 1) n_{c+1} / (c n_c) for counts c up to 8, at most 1 and rising with c; Moses adds 0.1 to each n."""
    seen = np.array([np.count_nonzero(joint == count) for count in range(LARGEST_ADJUSTED + 2)]) + 0.1
    factors = np.ones(LARGEST_ADJUSTED + 2)
    factors[0] = 0.01
    for count in range(1, LARGEST_ADJUSTED + 1):
        estimate = (count + 1) / count * seen[count + 1] / seen[count]
        factors[count] = max(min(estimate, 1.0), factors[count - 1])
    return factors[np.minimum(joint, LARGEST_ADJUSTED + 1).astype(np.int64)]
