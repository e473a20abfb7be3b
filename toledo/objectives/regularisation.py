"""Penalties on weights: L2 and L1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from toledo.objectives.matching import MatchedForest
from toledo.objectives.objective import Objective
from toledo.weights import Weights


@dataclass(frozen=True)
class Regularised:
    """An objective minus l2 / 2 · Σ (w − c)² + l1 · Σ |w − c|, with a centre c that is 0 where none is given.

    Where w = c, the derivative by w is the smallest of those that the kink of L1 allows: 0, if the penalty holds the
    weight there.
    """

    objective: Objective
    l2: float = 0.0
    l1: float = 0.0
    centre: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.l2 < 0.0 or self.l1 < 0.0:
            raise ValueError("penalties must not be negative")

    def value_and_gradient(
        self, matched: MatchedForest, weights: Weights | Mapping[str, float], threads: int | None = None
    ) -> tuple[float, dict[str, float]]:
        """The value and its derivative by each weight."""
        value, gradient = self.objective.value_and_gradient(matched, weights, threads)
        for name, slope in gradient.items():
            distance = weights.get(name, 0.0) - self.centre.get(name, 0.0)
            value -= 0.5 * self.l2 * distance**2 + self.l1 * abs(distance)
            gradient[name] = self._slope(slope - self.l2 * distance, distance)
        return value, gradient

    def _slope(self, slope: float, distance: float) -> float:
        if distance != 0.0:
            return slope - math.copysign(self.l1, distance)
        return math.copysign(max(abs(slope) - self.l1, 0.0), slope)
