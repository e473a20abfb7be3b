"""Lattices beside references, and the weights to find, as one row of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.combination.scores import CombinationWeights, VotedForest, softmax
from toledo.objectives import MatchedForest, Objective
from toledo.tuning.lbfgs import dot

Vector = NDArray[np.float64]
References = Sequence[Sequence[Sequence[str]]]  # words of each reference of each segment
LEAST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """A point is θ, whose softmax are the shares, and then the weights that are not frozen, by `names`."""

    voted: VotedForest
    matched: MatchedForest
    start: CombinationWeights
    threads: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features whose weights are sought."""
        forest = self.voted.forest
        own = dict.fromkeys((*forest.feature_names, *(forest.sparse.names if forest.sparse else ())))
        return tuple(name for name in own if name not in self.start.features.frozen)

    @cached_property
    def first(self) -> Vector:
        """The point of the weights to begin with."""
        free = np.log(np.maximum(self.start.sigma, LEAST_SHARE))
        return np.concatenate([free - free.mean(), [self.start.features.get(name, 0.0) for name in self.names]])

    def weights(self, point: Vector) -> CombinationWeights:
        """The weights at a point."""
        size = len(self.start.shares)
        shares = dict(zip(self.start.shares, softmax(point[:size]).tolist(), strict=True))
        return CombinationWeights(shares, self.start.features.updated(self.names, point[size:]))

    def value_and_gradient(self, objective: Objective, scale: float, l2: float, point: Vector) -> tuple[float, Vector]:
        """The objective minus penalties at a point, and its derivatives.

        The shares are pulled towards equal ones, the weights towards those at the start.
        """
        weights = self.weights(point)
        scores = self.voted.scores(weights, self.threads)
        value, advantage = objective.value_and_advantage(self.matched, scale * scores, self.threads)
        free, named = self.voted.gradient(weights, scale * advantage, self.threads)
        slopes = np.concatenate([free, [named.get(name, 0.0) for name in self.names]])
        away = point - np.concatenate([np.zeros(free.size), self.first[free.size :]])
        return value - 0.5 * l2 * dot(away, away), slopes - l2 * away
