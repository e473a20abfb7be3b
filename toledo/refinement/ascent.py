"""Two ways to raise the objective: growth transforms, and L-BFGS on softmax parameters.

Growth transforms are new probabilities in closed form (He and Deng 2012, formulas 14 to 16). For each distribution i,
with γ and the exponent λ of its feature,

    p_ij = (γ_ij + U τ/λ · p⁰_ij + D_i p'_ij) / (Σ_j γ_ij + U τ/λ + D_i),
    D_i  = max( Σ_j Σ_n Σ_E max(0, −γ(E, n, i, j)),  max_j −γ_ij / p'_ij ).

The paper's D_i keeps probabilities positive (the second bound is taken a little larger here: without a prior it gives a
probability of 0), but it does not guarantee growth: the D_i that does is "far too large for practical use". So a step
that lowers the objective is taken back and tried again with D_i twice as large; as D grows, steps become small ones
uphill.

The gradient twin has shares p = softmax(ϑ) in each distribution. With g_j = ∂O/∂ log p_j, which is λ γ_j / U + τ p⁰_j
for KL,

    ∂O/∂ϑ_j = g_j − p_j Σ_k g_k.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toledo.compiled.kernels import kernel
from toledo.refinement.distributions import LOWEST_SHARE, Family, ShareGroups, Values, Vector
from toledo.refinement.objective import Evidence, RefinementObjective, RefinementPoint
from toledo.tuning.maximize import lbfgs

log = logging.getLogger(__name__)

MARGIN = 1.01  # of the bound that keeps probabilities positive
DOUBLINGS = 30


class RefinementStep(NamedTuple):
    """New parameters, O there, and the factor of all D_i that it took."""

    values: dict[str, Vector]
    point: RefinementPoint
    caution: float


@dataclass(frozen=True)
class Growth:
    """One growth transform after the other. `caution` multiplies all D_i of the first try.

    D_i as published need not be large enough for O to rise: where it falls, D is doubled, unless `published` is set.
    """

    caution: float = 1.0
    published: bool = False

    name = "growth"

    def step(self, objective: RefinementObjective, values: Values, point: RefinementPoint) -> RefinementStep:
        """Transform all families at once; O does not fall, unless D is as published."""
        if objective.distance != "kl":
            raise ValueError("growth transforms know no distance but KL")
        caution = self.caution
        for _ in range(DOUBLINGS):
            new = transform(objective, values, point, caution)
            found = objective.at(new)
            if self.published or found.value >= point.value:
                return RefinementStep(new, found, caution)
            log.debug("O would fall from %.9f to %.9f: D twice as large", point.value, found.value)
            caution *= 2.0
        return RefinementStep(dict(values), point, caution)  # at a maximum, as far as numbers can tell


def transform(
    objective: RefinementObjective, values: Values, point: RefinementPoint, caution: float = 1.0
) -> dict[str, Vector]:
    """Return the growth transform; families without a say in posteriors stay as they are."""
    new = dict(values)
    for name in objective.trainable:
        exponent = objective.exponents[name]
        evidence = objective.parameters.evidence(name, values, point.expectation, exponent)
        prior_weight = point.expectation.utility * objective.strength_of(name) / abs(exponent)
        new[name] = grown(objective.parameters.families[name], values[name], evidence, prior_weight, caution)
    return new


def grown(family: Family, shares: Vector, evidence: Evidence, prior_weight: float, caution: float = 1.0) -> Vector:
    """New shares of a family; `prior_weight` is U τ/λ."""
    return _grown(family.groups, family.prior, shares, *evidence, prior_weight, caution)


@kernel
def _grown(
    groups: ShareGroups,
    prior: Vector,
    shares: Vector,
    gains: Vector,
    losses: Vector,
    prior_weight: float,
    caution: float,
) -> Vector:
    smoothing, bound = np.zeros(groups.size), np.zeros(groups.size)  # D_i
    for j in range(shares.size):
        i = groups.of[j]
        smoothing[i] += losses[j]
        bound[i] = max(bound[i], -gains[j] / shares[j])
    for i in range(groups.size):
        smoothing[i] = caution * max(smoothing[i], MARGIN * bound[i])
    new, totals = np.empty(shares.size), np.zeros(groups.size)
    for j in range(shares.size):
        i = groups.of[j]
        new[j] = gains[j] + prior_weight * prior[j] + smoothing[i] * shares[j]
        totals[i] += new[j]
    for j in range(shares.size):
        total = totals[groups.of[j]]
        # A distribution without any evidence, and without a prior to go back to, stays as it is.
        new[j] = max(new[j] / total, LOWEST_SHARE) if total > 0.0 else shares[j]
    return new


FAR = 100.0  # no logarithm moves further: probabilities below that are as good as 0
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SoftmaxAscent:
    """Several steps of L-BFGS at once, from which it learns the curvature of the objective.

    The first step follows the slope until one logarithm has changed by 1: with many parameters, slopes are tiny.
    """

    steps: int = 20

    name = "lbfgs"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError("at least one step")

    def step(self, objective: RefinementObjective, values: Values, point: RefinementPoint) -> RefinementStep:
        """Take steps of L-BFGS; O does not fall, since L-BFGS only takes steps down, here of −O."""
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
    """Return shares of each group from any numbers."""
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
