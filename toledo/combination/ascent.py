"""Maximise xBLEU on lattices for the shares of systems and the weights of features (Rosti et al. 2011).

Paths have the posteriors p ∝ e^{γ s}. The scale γ is set so that the mean entropy of a segment meets a target, and held
while weights are found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from toledo.combination.problem import Problem, Vector
from toledo.combination.scores import CombinationWeights, VotedForest
from toledo.combination.stages import Stage
from toledo.forest.inside_outside import distribution
from toledo.objectives import XBLEU, Objective
from toledo.tuning.maximum import Limits, Maximum, maximise

SMALLEST_SCALE, LARGEST_SCALE, CLOSE = 1e-3, 1e3, 0.01
REACHABLE = 0.8  # of the entropy of equal chances: beyond it weights have hardly a say


@dataclass(frozen=True)
class Ascent:
    """How to look for the maximum: the target `entropy` in nats, a penalty, steps of L-BFGS, times to set γ anew.

    In each round xBLEU is first maximised with a `gentle` penalty for short texts (see `toledo.tuning.gradient`).
    """

    entropy: float = 3.0
    l2: float = 1e-4
    steps: int = 25
    rounds: int = 1
    gentle: float = 30.0

    def __post_init__(self) -> None:
        if not (self.entropy > 0.0 and self.l2 >= 0.0 and self.steps > 0 and self.rounds > 0 and self.gentle > 0.0):
            raise ValueError("ascent: entropy, steps, rounds and steepness are positive, the penalty is not negative")

    def tune(self, problem: Problem, order: int) -> Stage:
        """The weights with the highest xBLEU found."""
        return self.follow(problem, [XBLEU(order, self.gentle), XBLEU(order)], problem.first)

    def follow(self, problem: Problem, objectives: Sequence[Objective], point: Vector) -> Stage:
        """From a point to the maximum of the last objective, by way of the others, γ being set anew in each round."""
        found = Maximum(point, -np.inf, 0)
        limits = Limits(np.full(found.point.size, -np.inf), np.full(found.point.size, np.inf))
        scale = 1.0
        for _ in range(self.rounds):
            scale = self.scale(problem, found.point)
            for objective in objectives:
                function = partial(problem.value_and_gradient, objective, scale, self.l2)
                found = found.then(maximise(function, found.point, limits, "lbfgs", self.steps))
        weights = problem.weights(found.point)
        return Stage(weights, self.scale(problem, found.point), found.value, found.evaluations)

    def scale(self, problem: Problem, point: Vector) -> float:
        """The γ that a point wants."""
        return scale_for_entropy(problem.voted, problem.weights(point), self.entropy, problem.threads)


def scale_for_entropy(
    voted: VotedForest, weights: CombinationWeights, target: float, threads: int | None = None
) -> float:
    """The γ at which the mean entropy of a segment is the target.

    Where few systems, or systems that agree, leave too few paths for it, the target is a part of what there can be;
    where there is but one path for each segment, γ is 1.
    """
    scores = voted.scores(weights, threads)

    def entropy(scale: float) -> float:
        return float(distribution(voted.forest.shape, scale * scores, threads).entropy().mean())

    most = entropy(0.0)
    if most < CLOSE:
        return 1.0
    low, high = math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)
    while high - low > CLOSE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if entropy(math.exp(middle)) > min(target, REACHABLE * most) else (low, middle)
    return math.exp(0.5 * (low + high))
