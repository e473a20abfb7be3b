"""The weights of a problem as one vector, and objectives as functions of the free ones among them.

    f(x) = J(w(x)) − l2 / 2 · Σ w² − l1 · Σ |w|

Without L1, x are the free weights. With L1 they are two halves, w = u − v with u, v ≥ 0, and the penalty is
l1 · Σ (u + v): smooth, so that weights can become exactly 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.forest.linear import Rows, Vector
from toledo.objectives.objective import MatchedForest, Objective
from toledo.tuning.maximize import Bounds, dot
from toledo.weights import Weights


@dataclass(frozen=True, eq=False)
class WeightSpace:
    """The weights of all features of a forest, in the order of its columns.

    `free` says which may change, `low` and `high` how far; the first `dense` ones belong to dense features. Frozen
    weights are in the vector too, so that scores are those of the model.
    """

    names: tuple[str, ...]
    start: Vector
    free: NDArray[np.bool_]
    low: Vector
    high: Vector
    dense: int

    def without_sparse(self) -> WeightSpace:
        """Return the same space with the weights of sparse features frozen."""
        return replace(self, free=self.free & (np.arange(self.free.size) < self.dense))

    def clipped(self, values: Vector) -> Vector:
        """Move free weights into their bounds, and set frozen ones to what they were."""
        return np.where(self.free, np.clip(values, self.low, self.high), self.start)

    def at_norm_of_start(self, values: Vector) -> Vector:
        """Scale the free weights so that the dense ones have the L1 norm of those at the start (or 1)."""
        counted = self.free & (np.arange(self.free.size) < (self.dense or self.free.size))
        norm, start_norm = np.abs(values[counted]).sum(), np.abs(self.start[counted]).sum() or 1.0
        return self.clipped(values * (start_norm / norm)) if norm > 0.0 else values

    def prefer_norm_of_start(self, values: Vector, score: Callable[[Vector], float]) -> tuple[Vector, float]:
        """Scale free weights to the norm of the start unless that lowers the score; return them with their score.

        The best hypotheses do not depend on the scale of all weights. But where frozen weights, base scores or bounds
        matter, they do depend on the scale of the free ones.
        """
        plain, scaled = self.clipped(values), self.at_norm_of_start(values)
        plain_score, scaled_score = score(plain), score(scaled)
        return (scaled, scaled_score) if scaled_score >= plain_score - 1e-9 else (plain, plain_score)


def weight_space(forest: Forest, start: Weights) -> WeightSpace:
    """Return the weights of all features of a forest; a sparse feature without a weight begins with 0."""
    names = forest.columns
    bounds = [start.bounds.get(name, (-math.inf, math.inf)) for name in names]
    return WeightSpace(
        names,
        forest.vector(start),
        np.array([name not in start.frozen for name in names], np.bool_),
        np.array([low for low, _ in bounds]),
        np.array([high for _, high in bounds]),
        len(forest.feature_names),
    )


def space_of(names: Sequence[str], weights: Weights) -> WeightSpace:
    """Return the weights of features that are all dense; one without a weight begins with 0."""
    bounds = [weights.bounds.get(name, (-math.inf, math.inf)) for name in names]
    return WeightSpace(
        tuple(names),
        np.array([weights.get(name, 0.0) for name in names]),
        np.array([name not in weights.frozen for name in names], np.bool_),
        np.array([low for low, _ in bounds]),
        np.array([high for _, high in bounds]),
        len(names),
    )


def finite_rows(forest: Forest) -> Rows:
    """Return the features of all edges; refuse impossible edges, which linear models cannot learn from."""
    if forest.base is not None and not np.isfinite(forest.base).all():
        raise InputError("a hypothesis or edge is impossible (−inf)", remedy="prune the forest first")
    return forest.rows


@dataclass(frozen=True, eq=False)
class PenalizedObjective:
    """An objective on matched forests as a function of the free weights of a space, minus penalties on them.

    The forests may be a part of those of the space, and lack some of its features.
    """

    objective: Objective
    matched: MatchedForest
    space: WeightSpace
    l2: float = 0.0
    l1: float = 0.0
    threads: int | None = None

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """Return where the space has the columns of the forests."""
        places = {name: place for place, name in enumerate(self.space.names)}
        return np.array([places[name] for name in self.matched.ngrams.forest.columns], np.int64)

    @property
    def first(self) -> Vector:
        """Return the point of the initial weights."""
        weights = self.space.start[self.space.free]
        return np.concatenate([np.maximum(weights, 0.0), np.maximum(-weights, 0.0)]) if self.l1 else weights

    @property
    def bounds(self) -> Bounds:
        """Return the bounds of points."""
        low, high = self.space.low[self.space.free], self.space.high[self.space.free]
        if not self.l1:
            return Bounds(low, high)
        return Bounds(
            np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)]),
            np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)]),
        )

    def free_weights(self, point: Vector) -> Vector:
        """Return the free weights at a point."""
        if not self.l1:
            return point
        half = point.size // 2
        return point[:half] - point[half:]

    def weights(self, point: Vector) -> Vector:
        """Return all weights at a point: frozen ones as at the start."""
        values = self.space.start.copy()
        values[self.space.free] = self.free_weights(point)
        return self.space.clipped(values)

    def __call__(self, point: Vector) -> tuple[float, Vector]:
        """Return the objective minus penalties at a point, and its derivatives."""
        value, own = self.objective.value_and_slopes(self.matched, self.weights(point)[self._places], self.threads)
        slopes = np.zeros(len(self.space.names))
        slopes[self._places] = own
        free = self.free_weights(point)
        value -= 0.5 * self.l2 * dot(free, free)
        slopes = slopes[self.space.free] - self.l2 * free
        if not self.l1:
            return value, slopes
        return value - self.l1 * float(point.sum()), np.concatenate([slopes - self.l1, -slopes - self.l1])
