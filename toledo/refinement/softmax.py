"""The gradient twin of growth transforms: shares as softmax parameters, climbed by L-BFGS.

With shares p = softmax(ϑ) in each distribution and g_j = ∂O/∂ log p_j, which is λ γ_j / U + τ p⁰_j with KL,

    ∂O/∂ϑ_j = g_j − p_j Σ_k g_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.compiled.kernels import kernel
from toledo.refinement.distributions import LOWEST_SHARE, ShareGroups, Values, Vector
from toledo.refinement.growth import RefinementStep
from toledo.refinement.objective import RefinementObjective, RefinementPoint
from toledo.tuning.maximize import lbfgs

FAR = 100.0  # no logarithm moves further: probabilities below that are as good as 0
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SoftmaxAscent:
    """Several steps of L-BFGS at once: it learns the curvature of the objective from them.

    The first step follows the slope until one logarithm has changed by 1: with many parameters, slopes are tiny.
    """

    steps: int = 20

    name = "lbfgs"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError("at least one step")

    def step(self, objective: RefinementObjective, values: Values, point: RefinementPoint) -> RefinementStep:
        """O does not fall: L-BFGS only takes steps down, here of −O."""
        names = list(objective.trainable)
        slopes = gradient(objective, values, point)
        begin = best = RefinementStep(dict(values), point, 1.0)
        total = sum(float(np.abs(one).sum()) for one in slopes.values())
        if not total:
            return best
        families = objective.parameters.families
        bounds = np.cumsum([len(families[name]) for name in names])[:-1]
        start = np.concatenate([np.log(values[name]) for name in names])
        unit = total / max(float(np.abs(one).max()) for one in slopes.values())

        def unpacked(vector: Vector) -> dict[str, Vector]:
            shares = zip(names, np.split(start + unit * vector, bounds), strict=True)
            return {**values, **{name: softmax(families[name].groups, logs) for name, logs in shares}}

        def function(vector: Vector) -> tuple[float, Vector]:
            nonlocal best
            here = begin
            if vector.any():
                new = unpacked(vector)
                here = RefinementStep(new, objective.at(new), 1.0)
            if here.point.value > best.point.value:
                best = here
            slopes = gradient(objective, here.values, here.point)
            return -here.point.value / total, -unit / total * np.concatenate([slopes[name] for name in names])

        limit = np.full(start.size, FAR / unit)
        lbfgs(function, np.zeros(start.size), -limit, limit, steps=self.steps, tolerance=TOLERANCE)
        return best


def gradient(objective: RefinementObjective, values: Values, point: RefinementPoint) -> dict[str, Vector]:
    """∂O/∂ϑ of each family that is trained."""
    families = objective.parameters.families
    return {
        name: _within_groups(families[name].groups, values[name], slopes)
        for name, slopes in objective.gradient(values, point).items()
    }


@kernel
def softmax(groups: ShareGroups, logs: Vector) -> Vector:
    """Shares of each group from any numbers."""
    highest, totals = np.full(groups.size, -np.inf), np.zeros(groups.size)
    for j in range(logs.size):
        highest[groups.of[j]] = max(highest[groups.of[j]], logs[j])
    shares = np.empty(logs.size)
    for j in range(logs.size):
        shares[j] = np.exp(logs[j] - highest[groups.of[j]])
        totals[groups.of[j]] += shares[j]
    for j in range(logs.size):
        shares[j] = max(shares[j] / totals[groups.of[j]], LOWEST_SHARE)
    return shares


@kernel
def _within_groups(groups: ShareGroups, shares: Vector, slopes: Vector) -> Vector:
    totals = np.zeros(groups.size)
    for j in range(slopes.size):
        totals[groups.of[j]] += slopes[j]
    result = np.empty(slopes.size)
    for j in range(slopes.size):
        result[j] = slopes[j] - shares[j] * totals[groups.of[j]]
    return result
