"""The score of expected statistics: corpus BLEU, TER or chrF of n-best lists and samples (Smith and Eisner 2006).

    J = score(Σ_i Σ_e P_i(e) · s(e)),    ∂J/∂P_i(e) = ∇score · s(e)

with the statistics s(e) of hypothesis e. For BLEU the matches are clipped hypothesis by hypothesis before the
expectation is taken, in CoBLEU after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.structure import Scores
from toledo.metrics.metric import Metric
from toledo.objectives.objective import Objective, Situation
from toledo.sums import row_products, sum_of_products


@dataclass(frozen=True, eq=False)
class ExpectedStatistics(Objective):
    """A metric of expected statistics, 0 to 1 as a rule and more is better: error rates have a minus sign.

    `statistics` has one row per edge of the matched forest.
    """

    statistics: NDArray[np.float64]
    metric: Metric

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Each hypothesis is rewarded by what its statistics add."""
        forest = situation.matched.ngrams.forest
        if forest.shape.tails.size or self.statistics.shape != (forest.edges, self.metric.size):
            raise InputError(
                f"statistics of shape {self.statistics.shape} for {forest.edges} edges",
                remedy="give a row of the metric's statistics for each hypothesis of n-best lists",
            )
        factor = (1.0 if self.metric.higher_is_better else -1.0) / 100.0
        expected = sum_of_products(situation.distribution.posteriors, self.statistics)
        slopes = factor * self.metric.gradient(expected)
        return factor * self.metric.score(expected), row_products(self.statistics, slopes)
