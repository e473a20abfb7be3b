"""What weights are worth: the score of the translations that a search finds with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toledo.consensus.rule import Viterbi, decide
from toledo.forest.structure import Forest
from toledo.metrics.metric import Metric
from toledo.tuning.examples import References
from toledo.weights import Weights

Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class OneBest:
    """The score of the best translations, and how many are empty though no reference is."""

    score: float
    empty: int
    segments: int

    @property
    def mostly_empty(self) -> bool:
        """Whether there is nothing to see."""
        return 2 * self.empty > self.segments


def one_best(
    forests: Sequence[Forest],
    weights: Weights,
    references: Sequence[References],
    metric: Metric,
    threads: int | None = None,
) -> OneBest:
    """Score the best derivation of each segment."""
    decisions = decide(Viterbi(), forests, weights, threads=threads)
    texts = [
        forest.vocabulary.words(decision.words.tolist()) for forest, decision in zip(forests, decisions, strict=True)
    ]
    expected = [all(some) and bool(some) for some in references]
    empty = sum(wanted and not text for wanted, text in zip(expected, texts, strict=True))
    return OneBest(score_texts(metric, texts, references, threads), empty, sum(expected))


def score_texts(metric: Metric, texts: Texts, references: Sequence[References], threads: int | None = None) -> float:
    """The score of some translations; chrF reads characters, the others words."""
    if metric.name.startswith("chrF"):
        lines = [" ".join(words) for words in texts]
        groups = [[" ".join(words) for words in group] for group in references]
        return metric.score(metric.corpus_statistics(lines, groups, threads).sum(axis=0))
    return metric.score(metric.corpus_statistics(texts, references, threads).sum(axis=0))
