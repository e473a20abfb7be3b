"""Consensus BLEU and consensus n-gram precision (Pauls, DeNero and Klein 2009).

    CoBLEU = min(0, 1 − |R| / C_1) + (1/N) Σ_n ln(C_n^clip / C_n)

with C_n = Σ_i Σ_g E_i[c_g] and C_n^clip = Σ_i Σ_g min(E_i[c_g], c_g(r_i)). The derivative of a clipped count is 1 where
E[c_g] ≤ c_g(r), the kink included, and 0 elsewhere (the paper's appendix prints another term, which is no derivative).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.matching import MatchedForest
from toledo.objectives.precision import Precision, PrecisionObjective


@dataclass(frozen=True)
class CoBLEU(PrecisionObjective):
    """The logarithm of BLEU with expected counts; at most 0."""

    order: int = 4
    smooth = False

    def finish(self, found: Precision) -> tuple[float, float, float]:
        """See the formula above."""
        if found.length <= 0.0:
            return -np.inf, 0.0, 0.0
        if found.length > found.closest:
            return found.value, 1.0, 0.0
        return found.value + 1.0 - found.closest / found.length, 1.0, found.closest / found.length**2


@dataclass(frozen=True)
class ConsensusPrecision(ExpectedCounts):
    """The expected share of n-grams of one order that the references have; CoBP of the paper for order 2."""

    order: int = 2

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """The clipped expected count over the expected count."""
        matched.require_order(self.order)
        chosen = matched.ngrams.orders == self.order
        total = float(expected[chosen].sum())
        if total <= 0.0:
            return 0.0, np.zeros(expected.size)
        precision = float(np.minimum(expected, matched.reference_counts)[chosen].sum()) / total
        unclipped = (expected <= matched.reference_counts) & (matched.reference_counts > 0.0)
        return precision, np.where(chosen, (unclipped - precision) / total, 0.0)
