"""Features as rows over one array of weights: what learners of linear models work on.

Dense features come first, then sparse ones; a name that is both has one place. Frozen weights are in the array too, so
that scores are those of the model, but learners must leave their places alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel, map_chunks
from toledo.errors import InputError
from toledo.forest.assemble import gather_rows
from toledo.forest.forest import Forest
from toledo.weights import Weights

ROWS_AT_ONCE = 16_384

Vector = NDArray[np.float64]


class Rows(NamedTuple):
    """Row h has all dense features and the sparse ones `columns[offsets[h]:offsets[h + 1]]` with `values`.

    `offsets` is empty without sparse features, `base` (scores that no weight changes) if there are none.
    """

    base: Vector
    dense: NDArray[np.float32]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Parameters:
    """The weights to find, in the order of the columns of rows: where to begin, which are free, and their limits."""

    names: tuple[str, ...]
    start: Vector
    free: NDArray[np.bool_]
    low: Vector
    high: Vector
    dense: int

    def without_sparse(self) -> Parameters:
        """The same with the weights of sparse features frozen."""
        return replace(self, free=self.free & (np.arange(self.free.size) < self.dense))

    def clipped(self, values: Vector) -> Vector:
        """Within the limits, and frozen weights as they were."""
        return np.where(self.free, np.clip(values, self.low, self.high), self.start)

    def at_norm_of_start(self, values: Vector) -> Vector:
        """The free weights times a factor, so that the dense ones have the L1 norm of those they began with (or 1)."""
        counted = self.free & (np.arange(self.free.size) < (self.dense or self.free.size))
        found, wanted = np.abs(values[counted]).sum(), np.abs(self.start[counted]).sum() or 1.0
        return self.clipped(values * (wanted / found)) if found > 0.0 else values

    def prefer_norm_of_start(self, values: Vector, score: Callable[[Vector], float]) -> tuple[Vector, float]:
        """Free weights at the norm of the start if that costs nothing, and the score there.

        The best hypotheses do not depend on the scale of all weights. But if frozen weights, base scores or limits have
        a say, they do depend on that of the free ones.
        """
        plain, scaled = self.clipped(values), self.at_norm_of_start(values)
        plain_score, scaled_score = score(plain), score(scaled)
        return (scaled, scaled_score) if scaled_score >= plain_score - 1e-9 else (plain, plain_score)


def parameters(forest: Forest, start: Weights) -> Parameters:
    """The weights of all features of a forest; a sparse feature without a weight begins with 0."""
    dense = start.array(forest.feature_names)
    known = set(forest.feature_names)
    sparse = [name for name in (forest.sparse.names if forest.sparse else ()) if name not in known]
    names = (*forest.feature_names, *sparse)
    limits = [start.bounds.get(name, (-math.inf, math.inf)) for name in names]
    return Parameters(
        names,
        np.concatenate([dense, np.array([start.get(name, 0.0) for name in sparse])]),
        np.array([name not in start.frozen for name in names], np.bool_),
        np.array([low for low, _ in limits]),
        np.array([high for _, high in limits]),
        dense.size,
    )


def rows_of(forest: Forest, names: tuple[str, ...]) -> Rows:
    """The features of all edges, `names` being those of `parameters`."""
    if forest.base is not None and not np.isfinite(forest.base).all():
        raise InputError("a hypothesis or edge is impossible (−inf)", remedy="prune the forest first")
    base = np.empty(0) if forest.base is None else forest.base
    dense = np.ascontiguousarray(forest.features)
    if forest.sparse is None:
        return Rows(base, dense, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    places = {name: place for place, name in enumerate(names)}
    columns = np.array([places[name] for name in forest.sparse.names], np.int32)
    arrays = forest.sparse.arrays
    return Rows(base, dense, arrays.offsets.astype(np.int64), columns[arrays.ids], arrays.values)


def select_rows(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Some of the rows."""
    base = rows.base[chosen] if rows.base.size else rows.base
    if not rows.offsets.size:
        return rows._replace(base=base, dense=rows.dense[chosen])
    offsets, columns = gather_rows(rows.offsets, rows.columns, chosen)
    values = gather_rows(rows.offsets, rows.values, chosen)[1]
    return Rows(base, rows.dense[chosen], offsets.astype(np.int64), columns, values)


def row_scores(rows: Rows, weights: Vector, threads: int | None = None) -> Vector:
    """Base scores plus features times weights."""
    scores = np.empty(rows.dense.shape[0])
    map_chunks(
        lambda begin, end: score_rows(rows, weights, begin, end, scores[begin:end]),
        scores.size,
        chunk=ROWS_AT_ONCE,
        threads=threads,
    )
    return scores


def weighted_sum(rows: Rows, factors: Vector, columns: int, threads: int | None = None) -> Vector:
    """The sum of all rows, each times its factor: the chain rule from scores to weights."""
    parts = map_chunks(
        lambda begin, end: _add_rows(rows, factors, begin, end, np.zeros(columns)),
        factors.size,
        chunk=ROWS_AT_ONCE,
        threads=threads,
    )
    return np.sum(parts, axis=0) if parts else np.zeros(columns)


def spread(rows: Rows, offsets: NDArray[np.int64], columns: int) -> Vector:
    """For each column the sum over groups of rows of squared distances from the group's mean (sparse ones: from 0)."""
    squares = np.zeros(columns)
    _add_spread(rows, offsets, np.zeros(columns), squares)
    return squares


@inner_kernel
def score_rows(rows: Rows, weights: Vector, begin: int, end: int, scores: Vector) -> None:
    """Write the scores of the rows `begin:end`."""
    base, dense, offsets, columns, values = rows
    for h in range(begin, end):
        score = base[h] if base.size else 0.0
        for k in range(dense.shape[1]):
            score += dense[h, k] * weights[k]
        if offsets.size:
            for i in range(offsets[h], offsets[h + 1]):
                score += values[i] * weights[columns[i]]
        scores[h - begin] = score


@kernel
def _add_rows(rows: Rows, factors: Vector, begin: int, end: int, total: Vector) -> Vector:
    _, dense, offsets, columns, values = rows
    for h in range(begin, end):
        factor = factors[h]
        if factor == 0.0:
            continue
        for k in range(dense.shape[1]):
            total[k] += factor * dense[h, k]
        if offsets.size:
            for i in range(offsets[h], offsets[h + 1]):
                total[columns[i]] += factor * values[i]
    return total


@inner_kernel
def _add_spread(rows: Rows, groups: NDArray[np.int64], mean: Vector, squares: Vector) -> None:
    _, dense, _, columns, values = rows
    for group in range(groups.size - 1):
        begin, end = groups[group], groups[group + 1]
        for k in range(dense.shape[1]):
            mean[k] = 0.0
            for h in range(begin, end):
                mean[k] += dense[h, k] / (end - begin)
            for h in range(begin, end):
                squares[k] += (dense[h, k] - mean[k]) ** 2
    for i in range(columns.size):
        squares[columns[i]] += values[i] ** 2.0
