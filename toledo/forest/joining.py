"""Several forests in a row, as one: a corpus for tuning; and the forests of its segments again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.scoring import SparseArrays, SparseFeatures
from toledo.forest.structure import Forest, Shape, Yields


def join(forests: Sequence[Forest]) -> Forest:
    """Several forests in a row: a tuning corpus. They must share feature names and vocabulary."""
    if not forests:
        raise ValueError("nothing to join")
    first = forests[0]
    for index, forest in enumerate(forests):
        if forest.feature_names != first.feature_names:
            raise InputError(f"forest {index} has other features than forest 0", remedy="make them with one model")
        if forest.vocabulary is not first.vocabulary:
            raise InputError(f"forest {index} has its own vocabulary", remedy="pass one Vocabulary to all constructors")
    nodes = np.cumsum([0] + [forest.nodes for forest in forests])
    tails = [forest.shape.tails + nodes[i] for i, forest in enumerate(forests)]
    sentences = [forest.shape.sentences[1:] + nodes[i] for i, forest in enumerate(forests)]
    return Forest(
        shape=Shape(
            np.concatenate([np.zeros(1, np.int64), *sentences]),
            _join_offsets([forest.shape.head_edges for forest in forests]),
            _join_offsets([forest.shape.tail_offsets for forest in forests]),
            np.concatenate(tails).astype(np.int32),
        ),
        yields=Yields(
            _join_offsets([forest.yields.offsets for forest in forests]),
            np.concatenate([forest.yields.words for forest in forests]),
        ),
        features=np.concatenate([forest.features for forest in forests]),
        feature_names=first.feature_names,
        vocabulary=first.vocabulary,
        base=_join_optional([forest.base for forest in forests], [forest.edges for forest in forests], 0.0),
        sparse=_join_sparse(forests),
        provenance=_join_optional([forest.provenance for forest in forests], [forest.edges for forest in forests], -1),
    )


def split(forest: Forest) -> list[tuple[Forest, int, int]]:
    """Each segment's forest, with the range of its edges in the whole."""
    parts = []
    shape = forest.shape
    for begin_node, end_node in zip(shape.sentences[:-1].tolist(), shape.sentences[1:].tolist(), strict=True):
        begin, end = int(shape.head_edges[begin_node]), int(shape.head_edges[end_node])
        parts.append((_part(forest, begin_node, end_node, begin, end), begin, end))
    return parts


def _part(forest: Forest, begin_node: int, end_node: int, begin: int, end: int) -> Forest:
    shape, sparse = forest.shape, forest.sparse
    tail_offsets, tails = _slice_rows(shape.tail_offsets, shape.tails, begin, end)
    return Forest(
        shape=Shape(
            np.array([0, end_node - begin_node]),
            shape.head_edges[begin_node : end_node + 1] - shape.head_edges[begin_node],
            tail_offsets,
            tails - np.int32(begin_node),
        ),
        yields=Yields(*_slice_rows(forest.yields.offsets, forest.yields.words, begin, end)),
        features=forest.features[begin:end],
        feature_names=forest.feature_names,
        vocabulary=forest.vocabulary,
        base=None if forest.base is None else forest.base[begin:end],
        sparse=None if sparse is None else SparseFeatures(sparse.names, _slice_sparse(sparse.arrays, begin, end)),
        provenance=None if forest.provenance is None else forest.provenance[begin:end],
    )


def _slice_rows(offsets: NDArray[Any], data: NDArray[Any], begin: int, end: int) -> tuple[NDArray[Any], NDArray[Any]]:
    return offsets[begin : end + 1] - offsets[begin], data[offsets[begin] : offsets[end]]


def _slice_sparse(sparse: SparseArrays, begin: int, end: int) -> SparseArrays:
    offsets, ids = _slice_rows(sparse.offsets, sparse.ids, begin, end)
    return SparseArrays(offsets, ids, _slice_rows(sparse.offsets, sparse.values, begin, end)[1])


def _join_offsets(parts: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    ends = np.cumsum([0] + [int(part[-1]) for part in parts])
    if ends[-1] >= 2**31:
        raise InputError("the forests together are too large", remedy="join fewer, or prune them first")
    shifted = [part[1:] + np.int32(end) for part, end in zip(parts, ends[:-1], strict=True)]
    return np.concatenate([np.zeros(1, np.int32), *shifted])


def _join_optional(parts: Sequence[NDArray[Any] | None], sizes: Sequence[int], default: float) -> NDArray[Any] | None:
    if all(part is None for part in parts):
        return None
    dtype = next(part.dtype for part in parts if part is not None)
    filled = [np.full(size, default, dtype) if part is None else part for part, size in zip(parts, sizes, strict=True)]
    return np.concatenate(filled)


def _join_sparse(forests: Sequence[Forest]) -> SparseFeatures | None:
    """Each forest numbers its sparse features on its own; the union numbers them anew."""
    if all(forest.sparse is None for forest in forests):
        return None
    names: dict[str, int] = {}
    own: tuple[str, ...] = ()
    numbers = np.empty(0, np.int32)
    offsets, ids, values = [], [], []
    for forest in forests:
        sparse = forest.sparse or _no_sparse(forest.edges)
        if sparse.names is not own:  # parts of one forest share their names, and there may be very many
            own = sparse.names
            numbers = np.array([names.setdefault(name, len(names)) for name in own], np.int32)
        offsets.append(sparse.arrays.offsets)
        ids.append(numbers[sparse.arrays.ids] if sparse.arrays.ids.size else sparse.arrays.ids)
        values.append(sparse.arrays.values)
    arrays = SparseArrays(_join_offsets(offsets), np.concatenate(ids), np.concatenate(values))
    return SparseFeatures(tuple(names), arrays)


def _no_sparse(edges: int) -> SparseFeatures:
    empty = SparseArrays(np.zeros(edges + 1, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
    return SparseFeatures((), empty)
