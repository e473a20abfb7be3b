"""What gradient tuners maximise, as a function of free numbers: an objective minus penalties on the free weights.

    f(x) = J(w(x)) − l2 / 2 · Σ w² − l1 · Σ |w|

Without L1, x are the free weights. With L1 they are two halves, w = u − v with u, v ≥ 0, and the penalty is
l1 · Σ (u + v): smooth, so that weights come to be exactly 0.

Stochastic gradient ascent: a step for each batch of segments, not one for all of them.

An epoch visits all batches in a random order. Each coordinate is divided by the root of the sum of its squared
derivatives so far (AdaGrad; Duchi et al. 2011), so that steps become smaller by themselves. The result is the mean of
the points of the second half (Polyak and Juditsky 1992), where the noise of single batches cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.objective import MatchedForest, Objective
from toledo.tuning.maximise import Function, Limits, Maximum, dot
from toledo.tuning.rows import Parameters, Vector
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


STEP = 0.1  # the first one, of every coordinate


def draw_batches(segments: int, size: int, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """All segments in batches of nearly equal sizes, at most `size`."""
    order = random.permutation(segments)
    return [np.sort(part) for part in np.array_split(order, -(-segments // size))]


def ascend_batches(
    batches: Sequence[Function], start: Vector, limits: Limits, epochs: int, random: np.random.Generator
) -> Maximum:
    """Where the steps lead on average; `path` has the mean value of the batches in each epoch."""
    point, squares, path = limits.clip(start), np.zeros(start.size), []
    mean, averaged, total = np.zeros(start.size), 0, epochs * len(batches)
    for epoch in range(epochs):
        values = []
        for step, number in enumerate(random.permutation(len(batches)), epoch * len(batches)):
            value, gradient = batches[number](point)
            squares += gradient**2
            point = limits.clip(point + STEP * gradient / np.sqrt(np.where(squares > 0.0, squares, 1.0)))
            if value > -np.inf:  # what has no words, such as empty lines alone, says nothing
                values.append(value)
            if 2 * step >= total - 2:
                averaged += 1
                mean += (point - mean) / averaged
        path.append(float(np.mean(values)) if values else -np.inf)
    return Maximum(mean, path[-1], total, tuple(path))
