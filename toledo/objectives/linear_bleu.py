"""Expected linear corpus BLEU (Tromble, Kumar, Och and Macherey 2008).

    G = θ_0 · E[length] + Σ_n θ_n Σ_g E[c_g] · [g is in a reference],    θ_0 = −1/T,   θ_n = 1 / (N T p r^{n−1})

for unigram precision p and precision ratio r; T = 1 here, as a factor does not change what is best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import sum_of_products
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.objective import MatchedForest


@dataclass(frozen=True)
class LinearBLEU(ExpectedCounts):
    """Linear in the counts, so its expectation is exact."""

    order: int = 4
    precision: float = 0.85
    ratio: float = 0.72

    def factors(self) -> NDArray[np.float64]:
        """θ_0, θ_1, … θ_N."""
        steps = np.arange(self.order)
        return np.concatenate([[-1.0], 1.0 / (self.order * self.precision * self.ratio**steps)])

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """See the formula above."""
        matched.require_order(self.order)
        orders = matched.ngrams.orders
        factors = np.concatenate([self.factors(), np.zeros(matched.ngrams.order - self.order)])
        derivatives = np.where(matched.reference_counts > 0.0, factors[orders], 0.0)
        derivatives[orders == 1] += factors[0]
        return float(sum_of_products(derivatives, expected)), derivatives
