"""Edge scores from dense and sparse features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.kernels import kernel, map_chunks
from toledo.weights import Weights

EDGES_AT_ONCE = 65_536


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


def dense_scores(
    features: NDArray[np.float32], weights: NDArray[np.float64], threads: int | None = None
) -> NDArray[np.float64]:
    """Features times weights in double precision, without a copy of the features."""
    scores = np.empty(features.shape[0])
    map_chunks(
        lambda begin, end: _dense_scores(features, weights, begin, end, scores),
        scores.size,
        chunk=EDGES_AT_ONCE,
        threads=threads,
    )
    return scores


@kernel
def _dense_scores(
    features: NDArray[np.float32], weights: NDArray[np.float64], begin: int, end: int, scores: NDArray[np.float64]
) -> None:
    for h in range(begin, end):
        total = 0.0
        for k in range(weights.size):
            total += features[h, k] * weights[k]
        scores[h] = total


@kernel
def sparse_scores(sparse: SparseArrays, weights: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """Add sparse features times weights to the scores of edges."""
    for h in range(scores.size):
        for i in range(sparse.offsets[h], sparse.offsets[h + 1]):
            scores[h] += sparse.values[i] * weights[sparse.ids[i]]


def dense_gradient(
    features: NDArray[np.float32], advantage: NDArray[np.float64], threads: int | None = None
) -> NDArray[np.float64]:
    """The chain rule from edges to weights: features transposed times advantage."""
    parts = map_chunks(
        lambda begin, end: _dense_gradient(features, advantage, begin, end),
        advantage.size,
        chunk=EDGES_AT_ONCE,
        threads=threads,
    )
    return sum(parts, start=np.zeros(features.shape[1]))


@kernel
def _dense_gradient(
    features: NDArray[np.float32], advantage: NDArray[np.float64], begin: int, end: int
) -> NDArray[np.float64]:
    gradient = np.zeros(features.shape[1])
    for h in range(begin, end):
        for k in range(gradient.size):
            gradient[k] += features[h, k] * advantage[h]
    return gradient


@kernel
def sparse_gradient(sparse: SparseArrays, advantage: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The chain rule from edges to the weights of sparse features."""
    gradient = np.zeros(size)
    for h in range(advantage.size):
        for i in range(sparse.offsets[h], sparse.offsets[h + 1]):
            gradient[sparse.ids[i]] += sparse.values[i] * advantage[h]
    return gradient
