"""What a decision rule is: from the distribution over the translations of a segment to one translation.

    decide(Viterbi(), forests, weights)
    decide(LatticeMBR(), forests, weights, scale=0.5)

A scale multiplies all scores before they become probabilities, p(d) ∝ exp(scale · score(d)): small ones make the
distribution flat, large ones sharp. Which is best depends on the rule; `toledo.consensus.scale` finds out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from toledo.errors import InputError
from toledo.metrics.metric import Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from toledo.consensus.asking import ForestTexts, ShownTexts
    from toledo.consensus.choice import Choice
    from toledo.consensus.choosing import TextProblem
    from toledo.forest.forest import Forest, Scores

SAMPLED_TEXTS = 1000  # texts that rules look at where a search has drawn samples
SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # beyond them, products with scores are 0 or no numbers


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen words, as ids of the forest's vocabulary, and what they are worth to the rule that chose them.

    Where nothing is possible, there are no words and the value is −inf.
    """

    words: NDArray[np.int32]
    value: float


class Rule:
    """A way to choose the translation of a segment, from texts or from a forest."""

    has_confidence = False
    has_scale = True
    asks_for_pairs = False  # of texts, which a function compares: then `decide_together` asks for all segments at once
    forest_scale = 1.0  # rules that see all of a forest want a sharper distribution than those that see a list
    worth_trying: ClassVar[Mapping[str, Sequence[Any]]] = {}  # values of settings, for those who want to tune them

    @property
    def name(self) -> str:
        """The registered name."""
        raise NotImplementedError

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the translation of a one-segment forest for scores of its edges, which have been scaled."""
        raise NotImplementedError

    def forest_texts(self, forest: Forest, scores: Scores) -> ForestTexts:
        """Return what a rule that asks for pairs compares in a forest."""
        raise NotImplementedError

    def decide_together(self, found: Sequence[ForestTexts], shown: ShownTexts) -> list[Decision]:
        """Return the translation of each segment, in the calling thread."""
        raise NotImplementedError

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return what each text of a segment is worth; −inf for one that must not be chosen."""
        raise NotImplementedError

    def metric_for_texts(self) -> Metric | None:
        """Return the metric that the values are those of, if there is one."""
        return None

    def choose(
        self,
        samples: Sequence[Any],
        references: Sequence[Any] | None = None,
        *,
        source: str | None = None,
        logprobs: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        scale: float = 1.0,
    ) -> Choice:
        """Choose one of several texts for one segment."""
        from toledo.consensus.choosing import SampleWeights, choose_each

        evidence = SampleWeights(logprobs=logprobs, weights=weights, scale=scale)
        return next(choose_each(self, [samples], None if references is None else [references], [source], [evidence]))


def check_scale(scale: float) -> None:
    """Refuse scales that make no distribution of scores, or turn it round."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        limits = f"a positive number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
        raise InputError(f"scale is {scale:g}, expected {limits}", argument="scale")
