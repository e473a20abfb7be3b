"""N-best lists with statistics, and objectives exact on lists and samples (Smith and Eisner 2006; Arun et al. 2010).

The expected gain of sentences is J = Σ_i Σ_e P_i(e) · gain(e). The score of expected statistics is corpus BLEU, TER or
chrF of lists,

    J = score(Σ_i Σ_e P_i(e) · s(e)),    ∂J/∂P_i(e) = ∇score · s(e)

with the statistics s(e) of hypothesis e. For BLEU the matches are clipped hypothesis by hypothesis before the
expectation is taken, in CoBLEU after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import row_products, sum_of_products
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.objectives.objective import MatchedForest, Objective, Situation
from toledo.weights import Weights

NONE = -1


class MetricRange(NamedTuple):
    """What counts as 0 and as one per cent of a metric, so that objectives do not depend on its scale."""

    zero: float = 0.0
    unit: float = 1.0

    def share(self, scores: Scores) -> Scores:
        """Return scores as parts of the range."""
        return (scores - self.zero) / (100.0 * self.unit)


@dataclass(frozen=True, eq=False)
class HypothesisLists:
    """N-best lists as arrays: segment i has the hypotheses `offsets[i]:offsets[i + 1]`.

    A hypothesis is an edge of `forest` (with dense and sparse features); `statistics` has a row of the metric for each.
    The range of a metric that has any scale is that of its scores in the lists.
    """

    forest: Forest
    statistics: NDArray[np.float64]
    offsets: NDArray[np.int64]
    metric: Metric
    range: MetricRange = MetricRange()  # noqa: RUF009 (immutable)

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.offsets.size - 1

    @property
    def gains(self) -> Scores:
        """Return how good each hypothesis is alone; see `sentence_gains`."""
        return sentence_gains(self)


def make_lists(
    forest: Forest, references: Sequence[References], metric: Metric, known: MetricRange | None = None
) -> HypothesisLists:
    """Put the statistics of a metric beside the hypotheses of some lists in a row; its range may be known."""
    if forest.shape.tails.size:
        raise InputError("a lattice where an n-best list is needed", remedy="take its k-best list first")
    if len(references) != len(forest):
        raise InputError(
            f"references for {len(references)} segments, but {len(forest)} lists", remedy="give one set each"
        )
    offsets = edges_of_sentences(forest.shape)
    segments = np.repeat(np.arange(len(forest)), np.diff(offsets))
    words, starts = forest.yields.words, forest.yields.offsets.astype(np.int64)
    statistics = metric.prepare(references, forest.vocabulary).statistics(words, starts, segments)
    return HypothesisLists(forest, statistics, offsets, metric, known or _range(metric, statistics))


def _range(metric: Metric, statistics: NDArray[np.float64]) -> MetricRange:
    if metric.in_per_cent or not statistics.size:
        return MetricRange()
    scores = metric.scores(statistics)
    worst = scores.min() if metric.higher_is_better else scores.max()
    return MetricRange(float(worst), float(np.ptp(scores)) / 100.0 or 1.0)


def corpus_score(lists: HypothesisLists, scores: NDArray[np.float64]) -> float:
    """Return the metric's score of the best hypotheses."""
    chosen = best_hypotheses(scores, lists.offsets)
    return lists.metric.score(lists.statistics[chosen[chosen != NONE]].sum(axis=0))


def sentence_gains(lists: HypothesisLists, extra_length: float = 0.0) -> NDArray[np.float64]:
    """Return how good each hypothesis is alone, from 0 to 1 as a rule: sentence BLEU+1 (Lin and Och 2004).

    BLEU+1 smooths precisions but not lengths, so it prefers shorter hypotheses than BLEU; `extra_length` is added to
    the length of references against that (1 in Nakov, Guzmán and Vogel 2012). Other metrics give their own score of
    the segment as a part of their range, error rates with a minus sign.
    """
    metric, statistics = lists.metric, lists.statistics
    if isinstance(metric, BLEU):
        statistics = statistics.copy()
        statistics[:, 1] += extra_length
    return sign(metric) * lists.range.share(smoothed(metric, 1.0).scores(statistics))


def smoothed(metric: Metric, value: float) -> Metric:
    """Return BLEU with a number added to counts of n-grams with n > 1; other metrics are as they are."""
    if not isinstance(metric, BLEU):
        return metric
    return BLEU(max_ngram_order=metric.max_ngram_order, smooth_method="add-k", smooth_value=value)


def sign(metric: Metric) -> float:
    """Return the factor that turns a score into a gain: −1 for error rates."""
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
class ExpectedGain(Objective):
    """Σ_i Σ_e P(e) · gain(e): `gains` has one number per edge of the matched forest, such as `sentence_gains`."""

    gains: Scores

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each hypothesis by its gain."""
        forest = situation.matched.ngrams.forest
        _require_lists(forest)
        if self.gains.shape != (forest.edges,):
            raise InputError(f"{self.gains.size} gains for {forest.edges} hypotheses", remedy="give one each")
        return float(sum_of_products(self.gains, situation.distribution.posteriors)), self.gains


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
    range: MetricRange = MetricRange()  # noqa: RUF009 (immutable)

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each hypothesis by what its statistics add."""
        forest = situation.matched.ngrams.forest
        if forest.shape.tails.size or self.statistics.shape != (forest.edges, self.metric.size):
            raise InputError(
                f"statistics of shape {self.statistics.shape} for {forest.edges} edges",
                remedy="give a row of the metric's statistics for each hypothesis of n-best lists",
            )
        expected = sum_of_products(situation.distribution.posteriors, self.statistics)
        value = float(self.range.share(self.metric.scores(expected[None]))[0])
        slopes = sign(self.metric) / (100.0 * self.range.unit) * self.metric.gradient(expected)
        return sign(self.metric) * value, row_products(self.statistics, slopes)


@dataclass(frozen=True)
class ExpectedBLEU(Objective):
    """The expected sentence BLEU, or sentence score of another metric, of lists: a mean over segments."""

    name = "expected-bleu"
    works_on = ("lists",)

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], HypothesisLists]) -> Objective:
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

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], HypothesisLists]) -> Objective:
        """Return the metric of the expected statistics of some lists."""
        given = lists()
        return ExpectedStatistics(given.statistics, given.metric, given.range)
