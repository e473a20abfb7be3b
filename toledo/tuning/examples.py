"""What a tuner sees: the search spaces of a tuning set beside their references.

Also what a model chooses from lists, how good hypotheses are one by one, and what weights are worth: the score of the
translations that a search finds with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.consensus.decide import decide
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.forest.assemble import join
from toledo.forest.forest import Forest, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.weights import Weights


@dataclass(frozen=True, eq=False)
class HypothesisLists:
    """N-best lists as arrays: segment i has the hypotheses `offsets[i]:offsets[i + 1]`.

    A hypothesis is an edge of `forest` (with dense and sparse features); `statistics` has a row of the metric for each.
    """

    forest: Forest
    statistics: NDArray[np.float64]
    offsets: NDArray[np.int64]
    metric: Metric

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.offsets.size - 1

    @property
    def gains(self) -> NDArray[np.float64]:
        """How good each hypothesis is alone; see `sentence_gains`."""
        return sentence_gains(self)


@dataclass(frozen=True, eq=False)
class Examples:
    """All that searches have found for each segment so far (one-segment forests), its references, and the metric."""

    forests: Sequence[Forest]
    references: Sequence[References]
    metric: Metric

    def __post_init__(self) -> None:
        if len(self.forests) != len(self.references) or not self.forests:
            raise InputError(
                f"{len(self.forests)} segments but references for {len(self.references)}", remedy="give one set each"
            )

    def only(self, segments: Sequence[int] | NDArray[np.int64]) -> Examples:
        """Return some of the segments."""
        return Examples(
            [self.forests[number] for number in segments], [self.references[number] for number in segments], self.metric
        )

    @cached_property
    def forest(self) -> Forest:
        """All segments in a row."""
        return join(list(self.forests))

    @cached_property
    def lists(self) -> HypothesisLists:
        """The same as lists with statistics; refuses lattices and forests."""
        return make_lists(self.forest, self.references, self.metric)


def make_lists(forest: Forest, references: Sequence[References], metric: Metric) -> HypothesisLists:
    """Put the statistics of a metric beside the hypotheses of some lists in a row."""
    if forest.shape.tails.size:
        raise InputError("a lattice where an n-best list is needed", remedy="take its k-best list first")
    offsets = edges_of_sentences(forest.shape)
    segments = np.repeat(np.arange(len(forest)), np.diff(offsets))
    return HypothesisLists(forest, _statistics(forest, references, metric, segments), offsets, metric)


def _statistics(
    forest: Forest, references: Sequence[References], metric: Metric, segments: NDArray[np.int64]
) -> NDArray[np.float64]:
    words, offsets = forest.yields.words, forest.yields.offsets.astype(np.int64)
    return metric.prepare(references, forest.vocabulary).statistics(words, offsets, segments)


NONE = -1


def corpus_score(lists: HypothesisLists, scores: NDArray[np.float64]) -> float:
    """Return the metric's score of the best hypotheses."""
    chosen = best_hypotheses(scores, lists.offsets)
    return lists.metric.score(lists.statistics[chosen[chosen != NONE]].sum(axis=0))


def sentence_gains(lists: HypothesisLists, extra_length: float = 0.0) -> NDArray[np.float64]:
    """Return how good each hypothesis is alone, from 0 to 1 as a rule: sentence BLEU+1 (Lin and Och 2004).

    BLEU+1 smooths precisions but not lengths, so it prefers shorter hypotheses than BLEU; `extra_length` is added to
    the length of references against that (1 in Nakov, Guzmán and Vogel 2012). Other metrics give their own score of
    the segment, error rates with a minus sign.
    """
    metric, statistics = lists.metric, lists.statistics
    if isinstance(metric, BLEU):
        statistics = statistics.copy()
        statistics[:, 1] += extra_length
        return (
            BLEU(max_ngram_order=metric.max_ngram_order, smooth_method="add-k", smooth_value=1.0).scores(statistics)
            / 100.0
        )
    return sign(metric) * metric.scores(statistics) / 100.0


def sign(metric: Metric) -> float:
    """Return what turns a score into something to maximize."""
    return 1.0 if metric.higher_is_better else -1.0


@kernel
def best_hypotheses(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the hypothesis with the highest score of each segment, the first among equals; NONE in an empty list."""
    best = np.full(offsets.size - 1, NONE, np.int64)
    for segment in range(best.size):
        for h in range(offsets[segment], offsets[segment + 1]):
            if best[segment] == NONE or scores[h] > scores[best[segment]]:
                best[segment] = h
    return best


@dataclass(frozen=True, eq=False)
class OneBest:
    """The score of the chosen translations, how many are empty that should not be, and the sum of their statistics."""

    score: float
    empty: int
    statistics: NDArray[np.float64]


def want_words(references: Sequence[References]) -> list[bool]:
    """Return which segments should not have an empty translation: those without an empty reference."""
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
    statistics = metric.corpus_statistics(texts, references, threads).sum(axis=0)
    return OneBest(metric.score(statistics), empty, statistics)
