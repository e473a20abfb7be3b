"""What weights are worth: the score of the translations that a search finds with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.rule import Rule, decide
from toledo.forest.structure import Forest
from toledo.metrics.metric import Metric
from toledo.tuning.text_statistics import References, text_statistics
from toledo.weights import Weights


@dataclass(frozen=True, eq=False)
class OneBest:
    """The score of the chosen translations, how many are empty that should not be, and the sum of their statistics."""

    score: float
    empty: int
    statistics: NDArray[np.float64]


def want_words(references: Sequence[References]) -> list[bool]:
    """Which segments should not have an empty translation: those without an empty reference."""
    return [bool(some) and all(some) for some in references]


def one_best(
    forests: Sequence[Forest],
    weights: Weights,
    references: Sequence[References],
    metric: Metric,
    rule: Rule,
    scale: float = 1.0,
    threads: int | None = None,
) -> OneBest:
    """Score what a decision rule chooses for each segment."""
    decisions = decide(rule, forests, weights, scale, threads)
    texts = [
        forest.vocabulary.words(decision.words.tolist()) for forest, decision in zip(forests, decisions, strict=True)
    ]
    empty = sum(wanted and not text for wanted, text in zip(want_words(references), texts, strict=True))
    statistics = text_statistics(metric, texts, references, threads).sum(axis=0)
    return OneBest(metric.score(statistics), empty, statistics)
