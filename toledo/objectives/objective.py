"""What to maximise, and its gradient: expectations give a reward to each edge, rewards give advantages.

Let J be a differentiable function of expected counts E[c_g]. Edge h gets the reward r_h = Σ_g ∂J/∂E[c_g] · c_g(h); the
derivative of J by the score of an edge is then its *advantage* (`toledo.forest.inside_outside`), and the chain rule
leads from there to the weights. Whatever the objective, this takes one scalar sweep up and one down.

To add an objective, write a class with a method `rewards`; for a function of expected n-gram counts derive from
`ExpectedCounts` and write `value_and_derivatives`. `toledo.objectives.gleu` is a complete example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.forest.inside_outside import Distribution, advantage, distribution
from toledo.forest.scoring import dense_gradient, sparse_gradient
from toledo.forest.structure import Forest, Scores
from toledo.objectives.matching import MatchedForest
from toledo.weights import Weights


@dataclass(frozen=True)
class Situation:
    """Where an objective is evaluated: forests with references, edge scores, and the distribution that they give."""

    matched: MatchedForest
    scores: Scores
    distribution: Distribution
    threads: int | None = None


class Objective(ABC):
    """A number to maximise."""

    @abstractmethod
    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """The value, and a reward for each edge so that the value's gradient is that of the expected total reward."""

    def value_and_advantage(
        self, matched: MatchedForest, scores: Scores, threads: int | None = None
    ) -> tuple[float, Scores]:
        """The value and its derivative by the score of each edge."""
        given = distribution(matched.ngrams.forest.shape, scores, threads)
        value, rewards = self.rewards(Situation(matched, scores, given, threads))
        return value, advantage(given, rewards, threads)

    def value_and_gradient(
        self, matched: MatchedForest, weights: Weights | Mapping[str, float], threads: int | None = None
    ) -> tuple[float, dict[str, float]]:
        """The value and its derivative by each weight, for a model whose edge scores are features times weights."""
        forest = matched.ngrams.forest
        value, edges = self.value_and_advantage(matched, forest.scores(weights, threads), threads)
        return value, weight_gradient(forest, edges, threads)


class ExpectedCounts(Objective):
    """An objective that is a function of the expected counts of n-grams."""

    @abstractmethod
    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """The value, and its derivative by the expected count of each n-gram."""

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Each n-gram pays its derivative to the edges that complete it."""
        ngrams = situation.matched.ngrams
        expected = ngrams.expected_counts(situation.distribution, situation.threads)
        value, derivatives = self.value_and_derivatives(situation.matched, expected, situation.threads)
        return value, ngrams.edge_sums(derivatives, situation.threads)


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


def weight_gradient(forest: Forest, edges: Scores, threads: int | None = None) -> dict[str, float]:
    """The chain rule from edge scores to named weights."""
    dense = dense_gradient(forest.features, edges, threads)
    gradient = dict(zip(forest.feature_names, dense.tolist(), strict=True))
    if forest.sparse is not None:
        sparse = sparse_gradient(forest.sparse.arrays, edges, len(forest.sparse.names))
        for name, slope in zip(forest.sparse.names, sparse.tolist(), strict=True):
            gradient[name] = gradient.get(name, 0.0) + slope
    return gradient
