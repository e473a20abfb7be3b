"""The most probable translation: derivations with the same text count together.

p(e) is the sum of p(d) over all derivations d that write e. Finding the best e is NP-hard on lattices and forests; here
the sum is over the best derivations only. On n-best lists, whose entries are all seen, it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.consensus.lists import best_texts
from toledo.consensus.rule import NOTHING, Decision
from toledo.forest.structure import Forest, Scores


@dataclass(frozen=True)
class MaxTranslation:
    """The most probable of the `size` best texts; the value is the logarithm of its share of what was seen."""

    size: int = 1000

    name = "max-translation"

    def choose(self, forest: Forest, scores: Scores) -> Decision:
        """The text whose derivations weigh most; of equal ones the one with the best derivation."""
        found = best_texts(forest, scores, self.size if forest.shape.tails.size else max(forest.edges, 1))
        if not len(found):
            return NOTHING
        best = int(np.argmax(found.probabilities))
        words = found.texts.symbols[found.texts.offsets[best] : found.texts.offsets[best + 1]]
        return Decision(words, float(np.log(found.probabilities[best])))
