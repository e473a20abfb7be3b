"""Stochastic gradient ascent with a gain of its own for each weight (Schraudolph 1999, Arun et al. 2010).

With the derivative g of a weight w in this step and the running means m of g and v of g² over earlier ones,

    v ← λ v + (1 − λ) g²
    η ← η · max(ρ, 1 + μ · g · m / v)         the gain grows while derivatives agree, and shrinks when they turn
    w ← w + η · g                             then into its bounds
    m ← λ m + (1 − λ) g

max(ρ, 1 + x) stands for eˣ: it costs less and bounds the fall of one step. Dividing by v makes μ a number without a
unit. The first step has v = g² and m = 0.

Features have very different spreads, and objectives very different slopes. So gains begin at step / (σ² · r), with the
variance σ² of a feature within a segment and the root mean square r of all g / σ in the first batch. Then w · h of a
feature moves by `step` standard deviations at first, on average over features, whatever the unit of either. A gain
stays within a factor of 100 of its first value, and no step moves w · h by more than half a standard deviation: BLEU
near 0 has small derivatives, which become large once there are matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

FARTHEST = 100.0  # from the first gain, as a factor
LONGEST = 0.5  # standard deviations of w · h
LEAST_VARIANCE = 0.1  # of features that hardly vary, as rare sparse ones


@dataclass(frozen=True)
class GainAdaptation:
    """`step` for the first gains; μ is `rate`, ρ is `least`, λ is `memory`."""

    step: float = 0.1
    rate: float = 0.1
    least: float = 0.5
    memory: float = 0.9

    def __post_init__(self) -> None:
        if not (self.step > 0.0 and self.rate >= 0.0 and 0.0 < self.least <= 1.0 and 0.0 <= self.memory < 1.0):
            raise ValueError("gain adaptation needs step > 0, rate ≥ 0, 0 < least ≤ 1 and 0 ≤ memory < 1")

    def move(self, gains: Gains, gradient: Vector, variances: Vector) -> tuple[Vector, Gains]:
        """How far each weight goes, and the gains after that; weights without a derivative keep theirs."""
        gains = self._begun(gains, gradient, variances)
        seen = gradient != 0.0
        squares = self.memory * gains.squares + (1.0 - self.memory) * gradient**2
        agreement = np.divide(gradient * gains.means, squares, out=np.zeros(gradient.size), where=seen)
        factors = np.maximum(self.least, 1.0 + self.rate * agreement)
        values = np.clip(gains.values * factors, gains.first / FARTHEST, gains.first * FARTHEST)
        means = self.memory * gains.means + (1.0 - self.memory) * gradient
        longest = LONGEST / np.sqrt(np.maximum(variances, LEAST_VARIANCE))
        moved = Gains(
            gains.first,
            np.where(seen, values, gains.values),
            np.where(seen, means, gains.means),
            np.where(seen, squares, gains.squares),
            gains.steepness,
        )
        return np.clip(moved.values * gradient, -longest, longest), moved

    def _begun(self, gains: Gains, gradient: Vector, variances: Vector) -> Gains:
        """First gains for features that have not been seen before."""
        new = (gains.first == 0.0) & (gradient != 0.0)
        if not new.any():
            return gains
        squares = gradient[gradient != 0.0] ** 2 / np.maximum(variances[gradient != 0.0], LEAST_VARIANCE)
        steepness = gains.steepness or float(np.sqrt(squares.mean()))
        first = np.where(new, self.step / (np.maximum(variances, LEAST_VARIANCE) * steepness), gains.first)
        return Gains(
            first,
            np.where(new, first, gains.values),
            gains.means,
            np.where(new, gradient**2, gains.squares),
            steepness,
        )


@dataclass(frozen=True, eq=False)
class Gains:
    """For each weight its first gain (0: not seen yet), the gain, and the running means of g and g²; r for all."""

    first: Vector
    values: Vector
    means: Vector
    squares: Vector
    steepness: float = 0.0

    @classmethod
    def none(cls, size: int) -> Gains:
        """Before the first step."""
        return cls(np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))

    def mapped(self, change: Callable[[Vector], Vector]) -> Gains:
        """The same change of each array."""
        return Gains(change(self.first), change(self.values), change(self.means), change(self.squares), self.steepness)
