"""Growth transforms: new probabilities in closed form that raise the objective (He and Deng 2012, formulas 14 to 16).

For each distribution i, with γ and the exponent λ of its feature,

    p_ij = (γ_ij + U τ/λ · p⁰_ij + D_i p'_ij) / (Σ_j γ_ij + U τ/λ + D_i),
    D_i  = max( Σ_j Σ_n Σ_E max(0, −γ(E, n, i, j)),  max_j −γ_ij / p'_ij ).

The paper's D_i keeps probabilities positive (the second bound is taken a little larger here: without a prior it gives a
probability of 0), but it does not guarantee growth: the D_i that does is "far too large for practical use". So a step
that lowers the objective is taken back and tried again with D_i twice as large; as D grows, steps become small ones
uphill.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toledo.compiled.kernels import kernel
from toledo.refinement.distributions import LOWEST_SHARE, Family, ShareGroups, Values, Vector
from toledo.refinement.objective import Evidence, RefinementObjective, RefinementPoint

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
    """One growth transform after the other. `caution` multiplies all D_i of the first try."""

    caution: float = 1.0

    name = "growth"

    def step(self, objective: RefinementObjective, values: Values, point: RefinementPoint) -> RefinementStep:
        """One transform of all families at once; O does not fall."""
        if objective.distance != "kl":
            raise ValueError("growth transforms know no distance but KL")
        caution = self.caution
        for _ in range(DOUBLINGS):
            new = transform(objective, values, point, caution)
            found = objective.at(new)
            if found.value >= point.value:
                return RefinementStep(new, found, caution)
            log.debug("O would fall from %.9f to %.9f: D twice as large", point.value, found.value)
            caution *= 2.0
        return RefinementStep(dict(values), point, caution)  # at a maximum, as far as numbers can tell


def transform(
    objective: RefinementObjective, values: Values, point: RefinementPoint, caution: float = 1.0
) -> dict[str, Vector]:
    """The growth transform itself; families that have no say stay as they are."""
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
