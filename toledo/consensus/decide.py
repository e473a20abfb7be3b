"""Decisions of any rule for many forests; the best derivation and the most probable translation.

p(e) is the sum of p(d) over all derivations d that write e. Finding the best e is NP-hard on lattices and forests; here
the sum is over the best derivations only. On n-best lists, whose entries are all seen, it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.consensus.asking import ShownTexts
from toledo.consensus.rule import Decision, Rule, check_scale
from toledo.consensus.texts import best_texts
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.progress import Progress, silent
from toledo.settings import Meta, Settings
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

T = TypeVar("T")
SEGMENTS_AT_ONCE = 4
NOTHING = Decision(np.empty(0, np.int32), -np.inf)


def map_forests(
    function: Callable[[Forest, Scores], T],
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float] | None,
    threads: int | None = None,
    progress: Progress = silent,
    label: str = "deciding",
) -> list[T]:
    """Apply a function to each of some one-segment forests and its scores, in threads."""
    named = weights if weights is None or isinstance(weights, Weights) else Weights(weights)

    def work(first: int, last: int) -> list[T]:
        return [
            function(one, one.edge_scores(None) if named is None else one.scores(named, 1))
            for one in forests[first:last]
        ]

    parts = map_chunks(work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads, progress=progress, label=label)
    return [result for part in parts for result in part]


def decide(
    rule: Rule,
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float] | None,
    scale: float = 1.0,
    threads: int | None = None,
    progress: Progress = silent,
    shown: ShownTexts = ShownTexts(),  # noqa: B008 (frozen)
) -> list[Decision]:
    """Return the decision of a rule for each of some one-segment forests; without weights, base scores decide.

    `shown` is for metrics that are functions, which are called for all forests together.
    """
    check_scale(scale)
    if not rule.has_scale:
        scale = 1.0  # others would round scores, and break ties, in another way
    if rule.asks_for_pairs:
        found = map_forests(lambda one, scores: rule.forest_texts(one, scale * scores), forests, weights, threads)
        return rule.decide_together(found, shown)
    return map_forests(lambda forest, scores: rule.decide(forest, scale * scores), forests, weights, threads, progress)


@dataclass(frozen=True)
class Viterbi(Rule):
    """The text of the best derivation; the value is its score. The text does not depend on the scale."""

    name = "viterbi"
    has_scale = False

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the best derivation."""
        (best,) = viterbi(forest, scores)
        return NOTHING if best is None else Decision(best.word_ids, best.score)

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return the best score of each text; without scores all are equal, and the first is chosen."""
        return np.zeros(len(problem.texts)) if problem.scores is None else problem.scores


@dataclass(frozen=True)
class MaxDerivation(Viterbi):
    """The derivation that was sampled most often: the best one if scores are logarithms of counts."""

    name = "max-derivation"

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return the best score of each text, or how often it was sampled."""
        return problem.counts.astype(np.float64) if problem.scores is None else problem.scores


@dataclass(frozen=True)
class MaxTranslation(Settings, Rule):
    """The most probable of the `size` best texts; the value is the logarithm of its share of their probability."""

    size: Annotated[int, Meta(ge=1, description="Number of best texts to look at.")] = 1000

    name = "max-translation"

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the text whose derivations weigh most; of equal ones the one with the best derivation."""
        found = best_texts(forest, scores, self.size if forest.shape.tails.size else max(forest.edges, 1))
        if not len(found):
            return NOTHING
        best = int(np.argmax(found.probabilities))
        words = found.texts.symbols[found.texts.offsets[best] : found.texts.offsets[best + 1]]
        return Decision(words, float(np.log(found.probabilities[best])))

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return the probability of each text."""
        return problem.own
