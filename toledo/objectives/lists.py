"""Objectives of whole translations, exact on n-best lists and samples (Smith and Eisner 2006; Arun et al. 2010).

The expected gain of sentences is J = Σ_i Σ_e P_i(e) · gain(e). The score of expected statistics is corpus BLEU, TER or
chrF of lists,

    J = score(Σ_i Σ_e P_i(e) · s(e)),    ∂J/∂P_i(e) = ∇score · s(e)

with the statistics s(e) of hypothesis e. For BLEU the matches are clipped hypothesis by hypothesis before the
expectation is taken, in CoBLEU after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import row_products, sum_of_products
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.objectives.objective import MatchedForest, Objective, ScoredLists, Situation
from toledo.weights import Weights

SENTENCE_BLEU = BLEU(smooth_method="add-k", smooth_value=1.0)


@dataclass(frozen=True, eq=False)
class ExpectedGain(Objective):
    """Σ_i Σ_e P(e) · gain(e): `gains` has one number per edge of the matched forest.

    `sentence_bleu_gains` gives them for sentence BLEU.
    """

    gains: Scores

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each hypothesis by its gain."""
        forest = situation.matched.ngrams.forest
        _require_lists(forest)
        if self.gains.shape != (forest.edges,):
            raise InputError(f"{self.gains.size} gains for {forest.edges} hypotheses", remedy="give one each")
        return float(sum_of_products(self.gains, situation.distribution.posteriors)), self.gains


def sentence_bleu_gains(
    forest: Forest,
    references: Sequence[Sequence[Sequence[str]]],
    metric: BLEU = SENTENCE_BLEU,
    threads: int | None = None,
) -> Scores:
    """Return the sentence BLEU (0 to 100) of each hypothesis of some n-best lists or samples."""
    _require_lists(forest)
    if len(references) != len(forest):
        raise InputError(
            f"references for {len(references)} segments, but {len(forest)} lists", remedy="give one set each"
        )
    segments = np.repeat(np.arange(len(forest)), np.diff(edges_of_sentences(forest.shape)))
    prepared = metric.prepare(references, forest.vocabulary)
    return metric.scores(
        prepared.statistics(forest.yields.words, forest.yields.offsets.astype(np.int64), segments, threads)
    )


@dataclass(frozen=True)
class Entropy(Objective):
    """The entropy of the distributions, summed over segments: H = log Z − E[Σ s_h], so an edge's reward is −s_h."""

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each edge by minus its score; an impossible edge has no reward, as nothing uses it."""
        value = float(situation.distribution.entropy().sum())
        return value, np.where(np.isfinite(situation.scores), -situation.scores, 0.0)


def _require_lists(forest: Forest) -> None:
    if forest.shape.tails.size:
        raise InputError(
            "gains of whole translations need n-best lists or samples, not a lattice or forest",
            remedy="use CoBLEU or xBLEU there, or take k-best lists",
        )


@dataclass(frozen=True, eq=False)
class ExpectedStatistics(Objective):
    """A metric of expected statistics, 0 to 1 as a rule and more is better: error rates have a minus sign.

    `statistics` has one row per edge of the matched forest.
    """

    statistics: NDArray[np.float64]
    metric: Metric

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each hypothesis by what its statistics add."""
        forest = situation.matched.ngrams.forest
        if forest.shape.tails.size or self.statistics.shape != (forest.edges, self.metric.size):
            raise InputError(
                f"statistics of shape {self.statistics.shape} for {forest.edges} edges",
                remedy="give a row of the metric's statistics for each hypothesis of n-best lists",
            )
        factor = (1.0 if self.metric.higher_is_better else -1.0) / 100.0
        expected = sum_of_products(situation.distribution.posteriors, self.statistics)
        slopes = factor * self.metric.gradient(expected)
        return factor * self.metric.score(expected), row_products(self.statistics, slopes)


@dataclass(frozen=True)
class ExpectedBLEU(Objective):
    """The expected sentence BLEU, or sentence score of another metric, of lists: a mean over segments."""

    name = "expected-bleu"
    works_on = ("lists",)

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], ScoredLists]) -> Objective:
        """Return the expected gain of the hypotheses of some lists."""
        given = lists()
        return ExpectedGain(given.gains / len(given))

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Refuse to be used before it is fitted."""
        raise TypeError("call `fitted` first")


@dataclass(frozen=True)
class Expected(ExpectedBLEU):
    """The expected value of any metric of sentences."""

    name = "expected"


@dataclass(frozen=True)
class CorpusExpectedBLEU(ExpectedBLEU):
    """Corpus BLEU, or another metric, of the expected statistics of lists."""

    name = "corpus-expected-bleu"

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], ScoredLists]) -> Objective:
        """Return the metric of the expected statistics of some lists."""
        given = lists()
        return ExpectedStatistics(given.statistics, given.metric)
