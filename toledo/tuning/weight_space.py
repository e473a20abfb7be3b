"""What gradient tuners maximise, as a function of free numbers: an objective minus penalties on the free weights.

    f(x) = J(w(x)) − l2 / 2 · Σ w² − l1 · Σ |w|

Without L1, x are the free weights. With L1 they are two halves, w = u − v with u, v ≥ 0, and the penalty is
l1 · Σ (u + v): smooth, so that weights come to be exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.objectives import MatchedForest
from toledo.objectives.objective import Objective
from toledo.tuning.lbfgs import dot
from toledo.tuning.maximum import Limits, Vector
from toledo.tuning.rows import Parameters
from toledo.weights import Weights


@dataclass(frozen=True)
class Penalties:
    """On the free weights."""

    l2: float = 0.0
    l1: float = 0.0

    def __post_init__(self) -> None:
        if self.l2 < 0.0 or self.l1 < 0.0:
            raise ValueError("penalties must not be negative")


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The free weights of some matched forests, and any objective as a function of them."""

    matched: MatchedForest
    parameters: Parameters
    start: Weights
    penalties: Penalties
    threads: int | None = None

    @property
    def first(self) -> Vector:
        """The point of the starting weights."""
        weights = self.parameters.start[self.parameters.free]
        return np.concatenate([np.maximum(weights, 0.0), np.maximum(-weights, 0.0)]) if self.penalties.l1 else weights

    @property
    def limits(self) -> Limits:
        """Between which a point must stay."""
        low, high = self.parameters.low[self.parameters.free], self.parameters.high[self.parameters.free]
        if not self.penalties.l1:
            return Limits(low, high)
        return Limits(
            np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)]),
            np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)]),
        )

    def free_weights(self, point: Vector) -> Vector:
        """The free weights at a point."""
        if not self.penalties.l1:
            return point
        half = point.size // 2
        return point[:half] - point[half:]

    def weights(self, point: Vector) -> Weights:
        """All weights at a point: frozen ones as at the start, and those of features that no forest has."""
        values = self.parameters.start.copy()
        values[self.parameters.free] = self.free_weights(point)
        return self.start.updated(self.parameters.names, values)

    def value_and_gradient(self, objective: Objective, point: Vector) -> tuple[float, Vector]:
        """The objective minus penalties at a point, and its derivatives."""
        value, named = objective.value_and_gradient(self.matched, self.weights(point), self.threads)
        slopes = np.array([named.get(name, 0.0) for name in self.parameters.names])[self.parameters.free]
        free, (l2, l1) = self.free_weights(point), (self.penalties.l2, self.penalties.l1)
        value -= 0.5 * l2 * dot(free, free)
        slopes = slopes - l2 * free
        if not l1:
            return value, slopes
        return value - l1 * float(point.sum()), np.concatenate([slopes - l1, -slopes - l1])
