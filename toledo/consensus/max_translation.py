"""The most probable translation: derivations with the same text count together.

p(e) is the sum of p(d) over all derivations d that write e. Finding the best e is NP-hard on lattices and forests; here
the sum is over the best derivations only. On n-best lists, whose entries are all seen, it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.rule import NOTHING, Decision
from toledo.forest.kbest import k_best
from toledo.forest.structure import Forest, Scores


@dataclass(frozen=True)
class MaxTranslation:
    """The text with the largest sum over the `size` best derivations; the value is the logarithm of that sum."""

    size: int = 1000

    name = "max-translation"

    def choose(self, forest: Forest, scores: Scores) -> Decision:
        """The text whose derivations weigh most; of equals the one with the best derivation."""
        size = self.size if forest.shape.tails.size else forest.edges
        texts: dict[bytes, NDArray[np.int32]] = {}
        sums: dict[bytes, float] = {}
        for derivation in islice(k_best(forest, scores), size):
            key = derivation.word_ids.tobytes()
            texts.setdefault(key, derivation.word_ids)
            sums[key] = float(np.logaddexp(sums.get(key, -np.inf), derivation.score))
        if not texts:
            return NOTHING
        best = max(sums, key=sums.__getitem__)
        return Decision(texts[best], sums[best])
