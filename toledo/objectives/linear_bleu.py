"""Expected linear corpus BLEU (Tromble, Kumar, Och and Macherey 2008).

    G = θ_0 · E[length] + Σ_n θ_n Σ_g E[c_g] · [g is in a reference],    θ_0 = −1/T,   θ_n = 1 / (N T p r^{n−1})

for unigram precision p and precision ratio r; T = 1 here, as a factor does not change what is best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import sum_of_products
from toledo.forest.forest import Scores
from toledo.forest.inside_outside import distribution
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.lists import HypothesisLists
from toledo.objectives.objective import MatchedForest, Objective, Situation, WeightedSum
from toledo.settings import Meta, Settings
from toledo.weights import Weights


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


@dataclass(frozen=True)
class FittedLinearBLEU(Settings, Objective):
    """Linear BLEU per word, with the precision and ratio of the weights at the start."""

    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4

    name, only_metric = "linear-bleu", "BLEU"
    works_on = ("forests", "lists")

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], HypothesisLists]) -> Objective:
        """Return linear BLEU over the number of words of the references."""
        words = float(matched.reference_lengths.mean(axis=1).sum())
        return WeightedSum([(1.0 / max(words, 1.0), fitted_linear_bleu(matched, start, self.order))])

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Refuse to be used before it is fitted."""
        raise TypeError("call `fitted` first")


def fitted_linear_bleu(matched: MatchedForest, weights: Weights, order: int) -> LinearBLEU:
    """Return linear BLEU with the unigram precision and the ratio of precisions that these weights give."""
    ngrams = matched.ngrams
    given = distribution(ngrams.forest.shape, ngrams.forest.scores(weights))
    expected = ngrams.expected_counts(given)
    totals = np.bincount(ngrams.orders, expected, order + 1)[1:]
    matches = np.bincount(ngrams.orders, np.where(matched.reference_counts > 0.0, expected, 0.0), order + 1)[1:]
    if not matches.all():
        return LinearBLEU(order)
    precisions = matches / totals
    ratio = (precisions[-1] / precisions[0]) ** (1.0 / max(order - 1, 1))
    return LinearBLEU(order, float(precisions[0]), float(ratio))
