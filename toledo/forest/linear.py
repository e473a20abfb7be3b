"""Scores of edges and their gradients, as functions of one vector of weights.

    score(h) = base(h) + Σ_k w_k · x_k(h)

The vector has the dense features first, then the sparse ones; a name that is both has one place. Names and bounds stay
outside: `Forest.vector` leads from named weights to vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel, map_chunks
from toledo.compiled.ragged import are_offsets, gather_rows
from toledo.errors import InputError

EDGES_AT_ONCE, ROWS_AT_ONCE = 65_536, 16_384

Vector = NDArray[np.float64]


class SparseArrays(NamedTuple):
    """Sparse features as kernels see them: edge h has `ids[offsets[h]:offsets[h + 1]]` with `values`."""

    offsets: NDArray[np.int32]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class SparseFeatures:
    """Features of which an edge has few, numbered by `names`."""

    names: tuple[str, ...]
    arrays: SparseArrays

    def check(self, edges: int) -> None:
        """Refuse arrays that kernels could not read safely."""
        offsets, ids, values = self.arrays
        whole = all(array.ndim == 1 and array.dtype.kind == "i" for array in (offsets, ids))
        if not (whole and offsets.size == edges + 1 and are_offsets(offsets, ids.size)):
            raise InputError("offsets of sparse features do not fit the edges", remedy="make the forest again")
        if ids.size != values.size or not np.isfinite(values).all():
            raise InputError("values of sparse features are missing or not finite", remedy="make the forest again")
        if ids.size and (ids.min() < 0 or ids.max() >= len(self.names)):
            raise InputError("a sparse feature has no name", remedy="make the forest again")


class Rows(NamedTuple):
    """Row h has all dense features and the sparse ones `columns[offsets[h]:offsets[h + 1]]` with `values`.

    `offsets` is empty without sparse features, `base` (scores that no weight changes) if there are none.
    """

    base: Vector
    dense: NDArray[np.float32]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]


def dense_rows(dense: NDArray[np.float32], base: Vector | None = None) -> Rows:
    """Return rows without sparse features."""
    none = np.empty(0)
    return Rows(none if base is None else base, dense, none.astype("i8"), none.astype("i4"), none.astype("f4"))


def rows_of_edges(
    dense: NDArray[np.float32], base: Vector | None, sparse: SparseFeatures | None, names: Sequence[str]
) -> Rows:
    """Return the features of edges as rows over a vector in the order of `names`."""
    rows = dense_rows(np.ascontiguousarray(dense), base)
    if sparse is None:
        return rows
    places = {name: place for place, name in enumerate(names)}
    columns = np.array([places[name] for name in sparse.names], np.int32)
    offsets, ids, values = sparse.arrays
    return Rows(rows.base, rows.dense, offsets.astype(np.int64), columns[ids], values)


def select_rows(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Return some of the rows."""
    base = rows.base[chosen] if rows.base.size else rows.base
    if not rows.offsets.size:
        return rows._replace(base=base, dense=rows.dense[chosen])
    offsets, columns = gather_rows(rows.offsets, rows.columns, chosen)
    values = gather_rows(rows.offsets, rows.values, chosen)[1]
    return Rows(base, rows.dense[chosen], offsets, columns, values)


def sparse_rows(sparse: SparseArrays, rows: NDArray[np.int32]) -> SparseArrays:
    """Return the sparse features of some edges, in the order given."""
    offsets, ids = gather_rows(sparse.offsets, sparse.ids, rows)
    return SparseArrays(offsets, ids, gather_rows(sparse.offsets, sparse.values, rows)[1])


def row_scores(rows: Rows, weights: Vector, threads: int | None = None) -> Vector:
    """Return base scores plus features times weights, in double precision and without a copy of the features."""
    scores = np.empty(rows.dense.shape[0])
    map_chunks(
        lambda begin, end: score_rows(rows, weights, begin, end, scores[begin:end]),
        scores.size,
        chunk=ROWS_AT_ONCE,
        threads=threads,
    )
    return scores


def weighted_sum(
    rows: Rows, factors: Vector, columns: int, threads: int | None = None, chunk: int = ROWS_AT_ONCE
) -> Vector:
    """Return the sum of all rows, each times its factor: the chain rule from scores to weights.

    `chunk` is the number of rows that are added up together, on which the last bits of the sum depend.
    """
    parts = map_chunks(
        lambda begin, end: add_rows(rows, factors[begin:end], begin, end, np.zeros(columns)),
        factors.size,
        chunk=chunk,
        threads=threads,
    )
    return sum_in_order(parts, columns)


def sum_in_order(parts: Sequence[Vector], columns: int) -> Vector:
    """Return the sum of the gradients of pieces, added in their order."""
    return sum(parts, start=np.zeros(columns))


def spread(rows: Rows, offsets: NDArray[np.int64], columns: int) -> Vector:
    """Return for each column the sum of squared distances from the mean of its group (sparse ones: from 0)."""
    squares = np.zeros(columns)
    _add_spread(rows, offsets, np.zeros(columns), squares)
    return squares


@inner_kernel
def score_rows(rows: Rows, weights: Vector, begin: int, end: int, out_scores: Vector) -> None:
    """Write the scores of the rows `begin:end`."""
    base, dense, offsets, columns, values = rows
    for h in range(begin, end):
        score = base[h] if base.size else 0.0
        for k in range(dense.shape[1]):
            score += dense[h, k] * weights[k]
        if offsets.size:
            for i in range(offsets[h], offsets[h + 1]):
                score += values[i] * weights[columns[i]]
        out_scores[h - begin] = score


@kernel
def add_rows(rows: Rows, factors: Vector, begin: int, end: int, total: Vector) -> Vector:
    """Add the rows `begin:end`, each times its factor; `factors` begin with that of the first of them."""
    _, dense, offsets, columns, values = rows
    for h in range(begin, end):
        factor = factors[h - begin]
        if factor == 0.0:
            continue
        for k in range(dense.shape[1]):
            total[k] += factor * dense[h, k]
        if offsets.size:
            for i in range(offsets[h], offsets[h + 1]):
                total[columns[i]] += factor * values[i]
    return total


@inner_kernel
def _add_spread(rows: Rows, groups: NDArray[np.int64], mean: Vector, out_squares: Vector) -> None:
    _, dense, _, columns, values = rows
    for group in range(groups.size - 1):
        begin, end = groups[group], groups[group + 1]
        for k in range(dense.shape[1]):
            mean[k] = 0.0
            for h in range(begin, end):
                mean[k] += dense[h, k] / (end - begin)
            for h in range(begin, end):
                out_squares[k] += (dense[h, k] - mean[k]) ** 2
    for i in range(columns.size):
        out_squares[columns[i]] += values[i] ** 2.0
