"""Maximise xBLEU on lattices for the shares of systems and the weights of features (Rosti et al. 2011).

Paths have the posteriors p ∝ e^{γ s}. The scale γ is set so that the mean entropy of a segment meets a target, and held
while weights are found. Penalties pull the shares towards equal ones and the weights towards those at the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.combination.scores import CombinationWeights, VotedForest, softmax
from toledo.forest.inside_outside import distribution
from toledo.objectives import XBLEU, MatchedForest, Objective
from toledo.tuning.lbfgs import dot
from toledo.tuning.maximum import Limits, Maximum, maximise

Vector = NDArray[np.float64]
SMALLEST_SCALE, LARGEST_SCALE, CLOSE = 1e-3, 1e3, 0.01


@dataclass(frozen=True)
class Ascent:
    """How to look for the maximum: the target `entropy` in nats, penalties, steps of L-BFGS, and times to set γ anew.

    In each round xBLEU is first maximised with a `gentle` penalty for short texts (see `toledo.tuning.gradient`).
    """

    entropy: float = 3.0
    l2: float = 1e-4
    steps: int = 50
    rounds: int = 2
    gentle: float = 30.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Lattices beside references, and the weights to begin with; a point is θ and then the weights by `names`."""

    voted: VotedForest
    matched: MatchedForest
    start: CombinationWeights
    threads: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The features whose weights are sought."""
        forest = self.voted.forest
        own = dict.fromkeys((*forest.feature_names, *(forest.sparse.names if forest.sparse else ())))
        return tuple(name for name in own if name not in self.start.features.frozen)

    @property
    def first(self) -> Vector:
        """The point of the weights to begin with."""
        free = np.log(np.maximum(self.start.sigma, 1e-9))
        return np.concatenate([free - free.mean(), self._weights_of(self.names)])

    def weights(self, point: Vector) -> CombinationWeights:
        """The weights at a point."""
        size = len(self.start.shares)
        shares = dict(zip(self.start.shares, softmax(point[:size]).tolist(), strict=True))
        return CombinationWeights(shares, self.start.features.updated(self.names, point[size:]))

    def value_and_gradient(self, objective: Objective, scale: float, l2: float, point: Vector) -> tuple[float, Vector]:
        """The objective minus penalties at a point, and its derivatives."""
        weights = self.weights(point)
        scores = self.voted.scores(weights, self.threads)
        value, advantage = objective.value_and_advantage(self.matched, scale * scores, self.threads)
        free, named = self.voted.gradient(weights, scale * advantage, self.threads)
        slopes = np.concatenate([free, [named.get(name, 0.0) for name in self.names]])
        away = point - np.concatenate([np.zeros(free.size), self._weights_of(self.names)])
        return value - 0.5 * l2 * dot(away, away), slopes - l2 * away

    def _weights_of(self, names: Sequence[str]) -> Vector:
        return np.array([self.start.features.get(name, 0.0) for name in names], np.float64)


def scale_for_entropy(
    voted: VotedForest, weights: CombinationWeights, target: float, threads: int | None = None
) -> float:
    """The γ at which the mean entropy of a segment is the target, or comes closest to it."""
    scores = voted.scores(weights, threads)
    low, high = math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)
    while high - low > CLOSE:
        middle = 0.5 * (low + high)
        entropy = distribution(voted.forest.shape, math.exp(middle) * scores, threads).entropy().mean()
        low, high = (middle, high) if entropy > target else (low, middle)
    return math.exp(0.5 * (low + high))


def ascend(problem: Problem, order: int, how: Ascent) -> tuple[CombinationWeights, float, Maximum]:
    """The weights with the highest xBLEU found, the scale for them, and the way there."""
    found = Maximum(problem.first, -np.inf, 0)
    limits = Limits(np.full(found.point.size, -np.inf), np.full(found.point.size, np.inf))
    scale = 1.0
    for _ in range(how.rounds):
        scale = scale_for_entropy(problem.voted, problem.weights(found.point), how.entropy, problem.threads)
        for objective in (XBLEU(order, how.gentle), XBLEU(order)):
            better = maximise(
                lambda point, own=objective, scale=scale: problem.value_and_gradient(own, scale, how.l2, point),  # type: ignore[misc]
                found.point,
                limits,
                "lbfgs",
                how.steps,
            )
            found = found.then(better)
    return problem.weights(found.point), scale, found
