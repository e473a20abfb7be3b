"""Expected BLEU for graphs with smooth clipping and brevity (Rosti, Zhang, Matsoukas and Schwartz 2011).

    xBLEU = e^P · B,   P = (1/N) Σ_n (ln Σ_i m_i^n − ln Σ_i h_i^n),   B = φ(1 − Σ r_i / Σ h_i^1)
    ψ(x, c) = (x − c) / (1 + e^{1000 (x − c)}) + c,                     φ(x) = (e^x − 1) / (1 + e^{1000 x}) + 1

Matches m are sums of ψ over the n-grams of the references only: elsewhere ψ(x, 0) is small but not 0 and would add up.
The counts h are true expected counts, also where some paths are shorter than n words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.matching import MatchedForest
from toledo.objectives.objective import ExpectedCounts
from toledo.objectives.precision import mean_log_precision

STEEPNESS = 1000.0


@dataclass(frozen=True)
class XBLEU(ExpectedCounts):
    """BLEU with expected counts, between 0 and 1, smooth everywhere."""

    order: int = 4

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """See the formulas above."""
        wanted = matched.reference_counts > 0.0
        smooth, slope = smooth_clip(expected, matched.reference_counts)
        value, derivatives = mean_log_precision(
            matched, expected, np.where(wanted, smooth, 0.0), np.where(wanted, slope, 0.0), self.order
        )
        precision = math.exp(value)
        brevity, brevity_slope = _brevity(matched, expected)
        derivatives *= precision * brevity
        derivatives[matched.ngrams.orders == 1] += precision * brevity_slope
        return precision * brevity, derivatives


def smooth_clip(
    counts: NDArray[np.float64], limits: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ψ(counts, limits) and its derivative by the counts, without overflow."""
    over = counts - limits
    gate = _gate(STEEPNESS * over)
    return over * gate + limits, gate - STEEPNESS * over * gate * (1.0 - gate)


def smooth_brevity(x: float) -> tuple[float, float]:
    """φ(x) and its derivative, without overflow."""
    gate = float(_gate(np.array([STEEPNESS * x]))[0])
    grown = math.expm1(min(x, 1.0))  # beyond 1 the gate is 0
    return grown * gate + 1.0, gate * (math.exp(min(x, 1.0)) - STEEPNESS * grown * (1.0 - gate))


def _gate(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + e^x)."""
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x > 0, e, 1.0) / (1.0 + e))


def _brevity(matched: MatchedForest, expected: NDArray[np.float64]) -> tuple[float, float]:
    """B, and its derivative by the expected length."""
    length, closest = matched.lengths(expected)
    if length <= 0.0:
        return 0.0, 0.0
    target = float(closest.sum())
    value, slope = smooth_brevity(1.0 - target / length)
    return value, slope * target / length**2
