"""What a decision rule is: from the distribution over the translations of a segment to one translation.

    decide(Viterbi(), forests, weights)
    decide(LatticeMBR(), forests, weights, scale=0.5)

A scale multiplies all scores before they become probabilities, p(d) ∝ exp(scale · score(d)): small ones make the
distribution flat, large ones sharp. Which is best depends on the rule; `toledo.consensus.scale` finds out.

The most probable translation: derivations with the same text count together.

p(e) is the sum of p(d) over all derivations d that write e. Finding the best e is NP-hard on lattices and forests; here
the sum is over the best derivations only. On n-best lists, whose entries are all seen, it is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.consensus.texts import best_texts
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.progress import Progress, silent
from toledo.weights import Weights

SEGMENTS_AT_ONCE = 4
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # beyond them, products with scores are 0 or no numbers


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen words, as ids of the forest's vocabulary, and what they are worth to the rule that chose them.

    Where nothing is possible, there are no words and the value is −inf.
    """

    words: NDArray[np.int32]
    value: float


class Rule(Protocol):
    """A way to choose the translation of a segment."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    def choose(self, forest: Forest, scores: Scores) -> Decision:
        """The translation of a one-segment forest for scores of its edges, which have been scaled."""
        ...


@dataclass(frozen=True)
class Viterbi:
    """The words of the best derivation; its score is the value. No scale changes the words."""

    name = "viterbi"

    def choose(self, forest: Forest, scores: Scores) -> Decision:
        """The best derivation."""
        (best,) = viterbi(forest, scores)
        return NOTHING if best is None else Decision(best.word_ids, best.score)


NOTHING = Decision(np.empty(0, np.int32), -np.inf)


def decide(
    rule: Rule,
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float],
    scale: float = 1.0,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[Decision]:
    """The decision of a rule for each of some one-segment forests."""
    check_scale(scale)
    named = weights if isinstance(weights, Weights) else Weights(weights)

    def work(first: int, last: int) -> list[Decision]:
        return [rule.choose(forest, scale * forest.scores(named, threads=1)) for forest in forests[first:last]]

    parts = map_chunks(work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads, progress=progress, label="deciding")
    return [decision for part in parts for decision in part]


def check_scale(scale: float) -> None:
    """Refuse scales that make no distribution of scores, or turn it round."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ValueError(f"a scale is a positive number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}")


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
