"""What to maximize, and its gradient: expectations give a reward to each edge, rewards give advantages.

Let J be a differentiable function of expected counts E[c_g]. Edge h gets the reward r_h = Σ_g ∂J/∂E[c_g] · c_g(h); the
derivative of J by the score of an edge is then its *advantage* (`toledo.forest.inside_outside`), and the chain rule
leads from there to the weights. Whatever the objective, this takes one scalar sweep up and one down.

To add an objective, write a class with a method `rewards`; for a function of expected n-gram counts derive from
`ExpectedCounts` and write `value_and_derivatives`. `toledo.objectives.gleu` is a complete example; a line in
`toledo.objectives.registry` gives the objective a name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import Distribution, advantage, distribution
from toledo.forest.linear import EDGES_AT_ONCE, Vector, row_scores, weighted_sum
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, find_ngram
from toledo.forest.ngrams import NGramForest
from toledo.metrics.references import References
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.objectives.lists import HypothesisLists


@dataclass(frozen=True, eq=False)
class MatchedForest:
    """A forest with, for each of its n-grams, how often the references have it (the most of any one reference).

    `reference_lengths[i, j]` is the length of reference j of segment i; `sentence_of[g]` the segment of n-gram g.
    """

    ngrams: NGramForest
    reference_counts: NDArray[np.float64]
    reference_lengths: NDArray[np.float64]
    sentence_of: NDArray[np.int32]

    def require_order(self, order: int) -> None:
        """Refuse a forest that does not know all n-grams up to an order."""
        if self.ngrams.order < order:
            raise ValueError(f"order {order} needs a forest split for it, not for {self.ngrams.order}")

    def lengths(self, expected: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the expected length of all segments together, and the closest reference length of each."""
        single = self.ngrams.orders == 1
        counts = expected[single].astype(np.float64)
        each = np.bincount(self.sentence_of[single], counts, len(self.ngrams.forest)).astype(np.float64)
        return float(each.sum()), closest_lengths(self.reference_lengths, each)


def match(ngrams: NGramForest, references: Sequence[References]) -> MatchedForest:
    """Put the references of each segment (all segments must have the same number of them) beside a forest."""
    segments = len(ngrams.forest)
    if len(references) != segments:
        raise InputError(
            f"references for {len(references)} segments, but {segments} forests", remedy="give one set each"
        )
    if len({len(some) for some in references}) != 1 or not references[0]:
        raise InputError(
            "segments differ in their number of references", remedy="give each the same number, at least 1"
        )
    vocabulary = ngrams.forest.vocabulary
    counts = np.zeros(ngrams.orders.size)
    for i, some in enumerate(references):
        own = counts[ngrams.sentences[i] : ngrams.sentences[i + 1]]
        for reference in some:
            found = np.zeros(own.size)
            _count(ngrams.indexes[i], _ids(reference, vocabulary), ngrams.order, found)
            np.maximum(own, found, out=own)
    lengths = np.array([[len(reference) for reference in some] for some in references], np.float64)
    sentence_of = np.repeat(np.arange(segments, dtype=np.int32), np.diff(ngrams.sentences))
    return MatchedForest(ngrams, counts, lengths, sentence_of)


def without_ngrams(forest: Forest) -> MatchedForest:
    """Return a forest for objectives that look at whole hypotheses and not at n-grams."""
    offsets, none = np.zeros(forest.edges + 1, np.int64), np.empty(0, np.int32)
    bounds = np.zeros(len(forest) + 1, np.int64)
    ngrams = NGramForest(forest, 0, offsets, none, bounds, np.empty(0, np.uint8), ())
    return MatchedForest(ngrams, np.empty(0), np.empty((len(forest), 0)), none)


def closest_lengths(lengths: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the reference length closest to each expected length, the shorter one of two equally close."""
    distance = np.abs(lengths - expected[:, None])
    nearest = distance.min(axis=1, keepdims=True)
    return np.asarray(np.where(distance == nearest, lengths, np.inf).min(axis=1))


def _ids(words: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return word ids; a word that the vocabulary lacks matches nothing, not even another such word."""
    return np.array([vocabulary.id(word) if word in vocabulary else -1 for word in words], np.int32)


@kernel
def _count(index: NGramIndex, words: NDArray[np.int32], order: int, counts: NDArray[np.float64]) -> None:
    for first in range(words.size):
        ngram = NO_NGRAM
        for last in range(first, min(first + order, words.size)):
            if words[last] < 0:
                break
            ngram = find_ngram(index, ngram, words[last])
            if ngram == NO_NGRAM:
                break
            counts[ngram] += 1.0


@dataclass(frozen=True)
class Situation:
    """Where an objective is evaluated: forests with references, edge scores, and the distribution that they give."""

    matched: MatchedForest
    scores: Scores
    distribution: Distribution
    threads: int | None = None


class Objective(ABC):
    """A number to maximize.

    `order` is that of the n-grams whose counts it needs, 0 if it looks at whole hypotheses. `works_on` names the search
    spaces that it can tune on, the usual one first; `only_metric` the metric that it stands for, None for any.
    """

    name: ClassVar[str] = "objective"
    works_on: ClassVar[tuple[Literal["lists", "forests"], ...]] = ("lists", "forests")
    only_metric: ClassVar[str | None] = None
    order: int = 0

    def fitted(self, matched: MatchedForest, start: Weights, lists: Callable[[], HypothesisLists]) -> Objective:
        """Return the objective for these forests, on a scale on which a point of BLEU is about 0.01."""
        return self

    def gentle(self, steepness: float) -> Objective | None:
        """Return the objective with a less steep penalty for short texts; None if it has no such penalty."""
        return None

    @abstractmethod
    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Return the value, and rewards of edges whose expected total has the same gradient."""

    def value_and_advantage(
        self, matched: MatchedForest, scores: Scores, threads: int | None = None
    ) -> tuple[float, Scores]:
        """Return the value and its derivative by the score of each edge."""
        given = distribution(matched.ngrams.forest.shape, scores, threads)
        value, rewards = self.rewards(Situation(matched, scores, given, threads))
        return value, advantage(given, rewards, threads)

    def value_and_gradient(
        self, matched: MatchedForest, weights: Weights | Mapping[str, float], threads: int | None = None
    ) -> tuple[float, dict[str, float]]:
        """Return the value and its derivative by each named weight; scores of edges are features times weights."""
        forest = matched.ngrams.forest
        value, slopes = self.value_and_slopes(matched, forest.vector(weights), threads)
        return value, dict(zip(forest.columns, slopes.tolist(), strict=True))

    def value_and_slopes(
        self, matched: MatchedForest, weights: Vector, threads: int | None = None
    ) -> tuple[float, Vector]:
        """Return the value and its derivative by each weight of a vector in the order of the forest's columns."""
        rows = matched.ngrams.forest.rows
        value, edges = self.value_and_advantage(matched, row_scores(rows, weights, threads), threads)
        return value, weighted_sum(rows, edges, weights.size, threads, EDGES_AT_ONCE)


@dataclass(frozen=True)
class WeightedSum(Objective):
    """Several objectives at once, each with a factor."""

    parts: Sequence[tuple[float, Objective]]

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Values and rewards add up."""
        total, rewards = 0.0, np.zeros(situation.scores.size)
        for factor, objective in self.parts:
            value, own = objective.rewards(situation)
            total += factor * value
            rewards += factor * own
        return total, rewards


@dataclass(frozen=True)
class Regularized:
    """An objective minus l2 / 2 · Σ (w − c)² + l1 · Σ |w − c|, with a center c that is 0 where none is given.

    Where w = c, the derivative by w is the smallest of those that the kink of L1 allows: 0, if the penalty holds the
    weight there.
    """

    objective: Objective
    l2: float = 0.0
    l1: float = 0.0
    center: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.l2 < 0.0 or self.l1 < 0.0:
            raise ValueError("penalties must not be negative")

    def value_and_gradient(
        self, matched: MatchedForest, weights: Weights | Mapping[str, float], threads: int | None = None
    ) -> tuple[float, dict[str, float]]:
        """Return the value and its derivative by each weight."""
        value, gradient = self.objective.value_and_gradient(matched, weights, threads)
        for name, slope in gradient.items():
            distance = weights.get(name, 0.0) - self.center.get(name, 0.0)
            value -= 0.5 * self.l2 * distance**2 + self.l1 * abs(distance)
            gradient[name] = self._slope(slope - self.l2 * distance, distance)
        return value, gradient

    def _slope(self, slope: float, distance: float) -> float:
        if distance != 0.0:
            return slope - math.copysign(self.l1, distance)
        return math.copysign(max(abs(slope) - self.l1, 0.0), slope)
