"""What MERT maximizes: a function of the counts in the best translations, as an objective beside those of expectation.

    OneBestObjective(ConsensusPrecision())    MaxBP of Pauls, DeNero and Klein (2009)
    OneBestObjective(CoBLEU())                MaxBLEU: the logarithm of BLEU of the best translations

It is constant wherever the best translations stay the same, so its gradient is 0: look at it, and tune it with `mert`
or `simplex`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.forest.derivations import viterbi
from toledo.forest.forest import Scores
from toledo.forest.ngrams import add_expected
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.objective import Objective, Situation


@dataclass(frozen=True)
class OneBestObjective(Objective):
    """An objective of expected counts, with the counts of the best derivation of each segment instead."""

    objective: ExpectedCounts

    @property
    def order(self) -> int:  # type: ignore[override]
        """The length of the longest n-grams whose counts are needed."""
        return self.objective.order

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Return the value; no edge is worth anything, since a small change of scores changes nothing."""
        matched, scores = situation.matched, situation.scores
        ngrams, counts = matched.ngrams, np.zeros(matched.ngrams.orders.size)
        used = [found.edges for found in viterbi(ngrams.forest, scores) if found is not None]
        uses = np.bincount(np.concatenate([np.empty(0, np.int32), *used]), minlength=scores.size)
        add_expected(ngrams.completed, uses.astype(np.float64), 0, scores.size, counts)
        return self.objective.value_and_derivatives(matched, counts, situation.threads)[0], np.zeros(scores.size)
