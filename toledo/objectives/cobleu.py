"""Consensus BLEU and consensus n-gram precision (Pauls, DeNero and Klein 2009).

    CoBLEU = min(0, 1 − |R| / C_1) + (1/N) Σ_n ln(C_n^clip / C_n)

with C_n = Σ_i Σ_g E_i[c_g] and C_n^clip = Σ_i Σ_g min(E_i[c_g], c_g(r_i)). The derivative of a clipped count is 1 where
E[c_g] ≤ c_g(r), the kink included, and 0 elsewhere (the paper's appendix prints another term, which is not the
derivative).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.objective import MatchedForest
from toledo.objectives.precision import Precision, PrecisionObjective
from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class CoBLEU(Settings, PrecisionObjective):
    """The logarithm of BLEU with expected counts (Pauls, DeNero and Klein 2009); at most 0.

        CoBLEU = min(0, 1 − |R| / C_1) + (1/N) Σ_n ln(C_n^clip / C_n)

    with C_n = Σ_i Σ_g E_i[c_g] and C_n^clip = Σ_i Σ_g min(E_i[c_g], c_g(r_i)). The derivative of a clipped count is 1
    where E[c_g] ≤ c_g(r), the kink included, and 0 elsewhere (the term in the paper's appendix is not a derivative).

    The penalty for short texts has a kink where C_1 = |R|, and good weights lie on it: it is a ridge across which
    gradients jump, and on which gradient methods get stuck far from its highest point. A finite `steepness` rounds it:

        min(0, x) ≈ −(1/k) ln(1 + e^{−k x}),    x = 1 − |R| / C_1,    k = steepness
    """

    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4
    steepness: Annotated[float, Meta(gt=0, description="Steepness of the brevity penalty.")] = math.inf

    name, smooth = "cobleu", False

    def gentle(self, steepness: float) -> CoBLEU:
        """Return CoBLEU with a less steep penalty."""
        return replace(self, steepness=steepness)

    def finish(self, found: Precision) -> tuple[float, float, float]:
        """Add the brevity penalty."""
        if found.length <= 0.0:
            return -np.inf, 0.0, 0.0
        penalty, slope = brevity(1.0 - found.closest / found.length, self.steepness)
        return found.value + penalty, 1.0, slope * found.closest / found.length**2


def brevity(x: float, steepness: float) -> tuple[float, float]:
    """Return the logarithm of the penalty and its derivative by x, without overflow; 1 at the kink."""
    if math.isinf(steepness):
        return min(x, 0.0), float(x <= 0.0)
    small = math.exp(-abs(steepness * x))
    gate = (small if x > 0.0 else 1.0) / (1.0 + small)
    return min(x, 0.0) - math.log1p(small) / steepness, gate


@dataclass(frozen=True)
class ConsensusPrecision(ExpectedCounts):
    """The expected share of n-grams of one order that the references have; CoBP of the paper for order 2."""

    order: int = 2

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the clipped expected count over the expected count."""
        matched.require_order(self.order)
        chosen = matched.ngrams.orders == self.order
        total = float(expected[chosen].sum())
        if total <= 0.0:
            return 0.0, np.zeros(expected.size)
        precision = float(np.minimum(expected, matched.reference_counts)[chosen].sum()) / total
        unclipped = (expected <= matched.reference_counts) & (matched.reference_counts > 0.0)
        return precision, np.where(chosen, (unclipped - precision) / total, 0.0)
