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

from toledo.forest.inside_outside import Distribution, advantage, distribution
from toledo.forest.scoring import edge_scores, weight_gradient
from toledo.forest.structure import Scores
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
        linear = forest.linear_scores(weights)
        value, edges = self.value_and_advantage(matched, edge_scores(linear, threads), threads)
        return value, forest.named_gradient(weight_gradient(linear, edges, threads))


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
