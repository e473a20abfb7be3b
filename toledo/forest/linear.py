"""Edge scores from dense and sparse features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import InputError
from toledo.weights import Weights

EDGES_AT_ONCE = 65_536

Gradient = tuple[NDArray[np.float64], NDArray[np.float64]]  # by dense and by sparse weights


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

    def weights(self, weights: Weights) -> NDArray[np.float64]:
        """A dense array for `names`; a name without a weight weighs 0."""
        return np.array([weights.get(name, 0.0) for name in self.names])

    def check(self, edges: int) -> None:
        """Refuse arrays that kernels could not read safely."""
        offsets, ids, values = self.arrays
        rising = offsets.size == edges + 1 and offsets[0] == 0 and not np.any(offsets[1:] < offsets[:-1])
        whole = all(array.ndim == 1 and array.dtype.kind == "i" for array in (offsets, ids))
        if not (rising and whole and offsets[-1] == ids.size):
            raise InputError("offsets of sparse features do not fit the edges", remedy="make the forest again")
        if ids.size != values.size or not np.isfinite(values).all():
            raise InputError("values of sparse features are missing or not finite", remedy="make the forest again")
        if ids.size and (ids.min() < 0 or ids.max() >= len(self.names)):
            raise InputError("a sparse feature has no name", remedy="make the forest again")


class LinearScores(NamedTuple):
    """Edge scores as kernels compute them: base scores (none, or one per edge) plus features times weights."""

    base: NDArray[np.float64]
    features: NDArray[np.float32]
    weights: NDArray[np.float64]
    sparse: SparseArrays
    sparse_weights: NDArray[np.float64]


def linear_scores(
    base: NDArray[np.float64] | None,
    features: NDArray[np.float32],
    names: tuple[str, ...],
    sparse: SparseFeatures | None,
    weights: Weights,
) -> LinearScores:
    """The arrays of a forest beside those of named weights."""
    none = np.empty(0)
    arrays = sparse.arrays if sparse else SparseArrays(np.empty(0, np.int32), np.empty(0, np.int32), none.astype("f4"))
    return LinearScores(
        none if base is None else base,
        features,
        weights.array(names),
        arrays,
        sparse.weights(weights) if sparse else none,
    )


def edge_scores(linear: LinearScores, threads: int | None = None) -> NDArray[np.float64]:
    """The scores of all edges in double precision, without a copy of the features."""
    scores = np.empty(linear.features.shape[0])
    map_chunks(
        lambda begin, end: score_edges(linear, begin, end, scores[begin:end]),
        scores.size,
        chunk=EDGES_AT_ONCE,
        threads=threads,
    )
    return scores


@kernel
def score_edges(linear: LinearScores, begin: int, end: int, scores: NDArray[np.float64]) -> None:
    """Write the scores of the edges `begin:end`."""
    base, features, weights, sparse, sparse_weights = linear
    for h in range(begin, end):
        total = base[h] if base.size else 0.0
        for k in range(weights.size):
            total += features[h, k] * weights[k]
        scores[h - begin] = total
    if sparse_weights.size:
        for h in range(begin, end):
            for i in range(sparse.offsets[h], sparse.offsets[h + 1]):
                scores[h - begin] += sparse.values[i] * sparse_weights[sparse.ids[i]]


def weight_gradient(linear: LinearScores, edges: NDArray[np.float64], threads: int | None = None) -> Gradient:
    """The chain rule from edges to weights: features transposed times the derivatives by edge scores."""
    parts = map_chunks(
        lambda begin, end: gradient_of_edges(linear, begin, end, edges[begin:end]),
        edges.size,
        chunk=EDGES_AT_ONCE,
        threads=threads,
    )
    return sum_gradients(linear, parts)


def sum_gradients(linear: LinearScores, parts: Sequence[Gradient]) -> Gradient:
    """The gradient from those of pieces, added in their order."""
    dense, sparse = np.zeros(linear.weights.size), np.zeros(linear.sparse_weights.size)
    for part, sparse_part in parts:
        dense += part
        sparse += sparse_part
    return dense, sparse


@kernel
def gradient_of_edges(linear: LinearScores, begin: int, end: int, edges: NDArray[np.float64]) -> Gradient:
    """What the edges `begin:end` add to the gradient; `edges` are the derivatives by their scores."""
    _, features, weights, sparse, sparse_weights = linear
    dense, sparse_gradient = np.zeros(weights.size), np.zeros(sparse_weights.size)
    for h in range(begin, end):
        for k in range(weights.size):
            dense[k] += features[h, k] * edges[h - begin]
    if sparse_weights.size:
        for h in range(begin, end):
            for i in range(sparse.offsets[h], sparse.offsets[h + 1]):
                sparse_gradient[sparse.ids[i]] += sparse.values[i] * edges[h - begin]
    return dense, sparse_gradient
