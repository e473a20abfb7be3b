"""Consensus GLEU: an objective of our own, and the example of how to add one.

GLEU (Wu et al. 2016) is the smaller of n-gram precision and recall over all orders together, matches / max(n-grams of
the hypothesis, n-grams of the reference). With expected counts it needs no logarithm and no brevity penalty, and is
never degenerate where no 4-gram matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.objective import MatchedForest
from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class ConsensusGLEU(Settings, ExpectedCounts):
    """Clipped expected counts over the larger of expected and reference n-grams, between 0 and 1."""

    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4

    name = "gleu"

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """Apply the quotient rule; where the references have more n-grams, only matches count."""
        matched.require_order(self.order)
        counted = matched.ngrams.orders <= self.order
        closest = matched.lengths(expected)[1]
        reference_ngrams = sum(float(np.maximum(closest - n, 0.0).sum()) for n in range(self.order))
        matches = float(np.minimum(expected, matched.reference_counts)[counted].sum())
        total = float(expected[counted].sum())
        size = max(total, reference_ngrams)
        if size <= 0.0:
            return 0.0, np.zeros(expected.size)
        matching = (expected <= matched.reference_counts) & (matched.reference_counts > 0.0)
        per_ngram = matches / size**2 if total > reference_ngrams else 0.0
        return matches / size, np.where(counted, matching / size - per_ngram, 0.0)
