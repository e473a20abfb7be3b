"""Forests from edges in any order, as searches and files leave them, and from a part of the edges of a forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.joining import join, split
from toledo.forest.scoring import SparseArrays, SparseFeatures
from toledo.forest.structure import Forest, Scores, Shape, Yields, check_offsets
from toledo.kernels import kernel
from toledo.vocabulary import Vocabulary


class Edges(NamedTuple):
    """Edges in any order over nodes in any numbering, as a search leaves them; see `Forest` for the fields."""

    heads: NDArray[np.int32]
    tail_offsets: NDArray[np.int32]
    tails: NDArray[np.int32]
    yields: Yields
    features: NDArray[np.float32]
    base: Scores | None = None
    sparse: SparseArrays | None = None
    provenance: NDArray[np.int64] | None = None


def from_edges(
    edges: Edges,
    goal: int,
    feature_names: Sequence[str],
    vocabulary: Vocabulary,
    sparse_names: Sequence[str] = (),
) -> Forest:
    """Order nodes and edges, and drop what is on no derivation of the goal."""
    _check_edges(edges, goal)
    nodes = int(max(goal, edges.heads.max(initial=0), edges.tails.max(initial=0))) + 1
    order, by_head, offsets = _topological_order(edges.heads, edges.tail_offsets, edges.tails, nodes, goal)
    if order.size and order[0] < 0:
        raise InputError("the graph has a cycle", remedy="a forest must be acyclic: expand or remove the cycle")
    if order.size and order[-1] != goal:  # parts have derivations, the goal has none
        order = order[:0]
    chosen, useful, reached = _useful_edges(order, by_head, offsets, edges.tail_offsets, edges.tails)
    chosen, order = chosen[useful], order[reached]
    if not order.size:
        order = np.array([goal], np.int32)  # an empty forest is its goal alone
    number = np.full(nodes, -1, np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    heads = number[edges.heads[chosen]]
    tail_offsets, tails = gather_rows(edges.tail_offsets, edges.tails, chosen)
    head_edges = np.searchsorted(heads, np.arange(order.size + 1)).astype(np.int32)
    shape = Shape(np.array([0, order.size]), head_edges, tail_offsets, number[tails])
    sparse = None if edges.sparse is None else SparseFeatures(tuple(sparse_names), sparse_rows(edges.sparse, chosen))
    return Forest(
        shape=shape,
        yields=Yields(*gather_rows(edges.yields.offsets, edges.yields.words, chosen)),
        features=edges.features[chosen],
        feature_names=tuple(feature_names),
        vocabulary=vocabulary,
        base=None if edges.base is None else edges.base[chosen],
        sparse=sparse,
        provenance=None if edges.provenance is None else edges.provenance[chosen],
    )


def keep_edges(forest: Forest, keep: NDArray[np.bool_]) -> Forest:
    """The forest without the other edges, and without what thereby has no derivation. Every segment keeps its place."""
    if keep.shape != (forest.edges,):
        raise ValueError(f"{keep.shape} decisions for {forest.edges} edges")
    if len(forest) != 1:
        return join([keep_edges(part, keep[begin:end]) for part, begin, end in split(forest)])
    chosen = np.flatnonzero(keep).astype(np.int32)
    heads = np.repeat(np.arange(forest.nodes, dtype=np.int32), np.diff(forest.shape.head_edges))
    tail_offsets, tails = gather_rows(forest.shape.tail_offsets, forest.shape.tails, chosen)
    edges = Edges(
        heads=heads[chosen],
        tail_offsets=tail_offsets,
        tails=tails,
        yields=Yields(*gather_rows(forest.yields.offsets, forest.yields.words, chosen)),
        features=forest.features[chosen],
        base=None if forest.base is None else forest.base[chosen],
        sparse=None if forest.sparse is None else sparse_rows(forest.sparse.arrays, chosen),
        provenance=None if forest.provenance is None else forest.provenance[chosen],
    )
    names = forest.sparse.names if forest.sparse else ()
    return from_edges(edges, forest.nodes - 1, forest.feature_names, forest.vocabulary, names)


def _check_edges(edges: Edges, goal: int) -> None:
    if goal < 0 or edges.heads.min(initial=0) < 0 or edges.tails.min(initial=0) < 0:
        raise InputError("a node has a negative number", remedy="number nodes from 0")
    rows: list[tuple[str, NDArray[Any], NDArray[Any]]]
    rows = [("tails", edges.tail_offsets, edges.tails), ("words", edges.yields.offsets, edges.yields.words)]
    if edges.sparse is not None:
        rows += [("sparse features", edges.sparse.offsets, edges.sparse.ids)]
        rows += [("values of sparse features", edges.sparse.offsets, edges.sparse.values)]
    for name, offsets, content in rows:
        if offsets.size != edges.heads.size + 1:
            raise InputError(
                f"offsets of {name} do not fit the edges", remedy=f"give the start of each edge's {name}, and the end"
            )
        check_offsets(f"offsets of {name}", offsets, content.size)


@kernel
def _topological_order(
    heads: NDArray[np.int32], tail_offsets: NDArray[np.int32], tails: NDArray[np.int32], nodes: int, goal: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Useful nodes, children first (depth first from the goal, so the goal is last); [-1] if there is a cycle.

    Also the edges by head: those of node v are `by_head[offsets[v]:offsets[v + 1]]`.
    """
    by_head, offsets = np.empty(heads.size, np.int32), np.zeros(nodes + 2, np.int32)
    for head in heads:
        offsets[head + 2] += 1
    for v in range(nodes):
        offsets[v + 2] += offsets[v + 1]
    for h in range(heads.size):
        by_head[offsets[heads[h] + 1]] = h
        offsets[heads[h] + 1] += 1
    # A node is NEW, OPEN (on the stack: meeting it again is a cycle), then DONE or, if it derives nothing, DEAD.
    new, opened, done, dead = 0, 1, 2, 3
    state = np.zeros(nodes, np.uint8)
    next_edge, next_tail = offsets[:nodes].copy(), np.zeros(nodes, np.int32)
    productive = np.zeros(nodes, np.bool_)
    order, found = np.empty(nodes, np.int32), 0
    stack, depth = np.empty(nodes, np.int32), 1
    stack[0] = goal
    state[goal] = opened
    while depth:
        v = stack[depth - 1]
        if next_edge[v] == offsets[v + 1]:
            depth -= 1
            state[v] = done if productive[v] else dead
            if productive[v]:
                order[found] = v
                found += 1
            continue
        h = by_head[next_edge[v]]
        place = tail_offsets[h] + next_tail[v]
        if place == tail_offsets[h + 1]:
            productive[v] = True
            next_edge[v] += 1
            next_tail[v] = 0
            continue
        tail = tails[place]
        if state[tail] == opened:
            return np.full(1, -1, np.int32), by_head, offsets
        if state[tail] == dead:
            next_edge[v] += 1
            next_tail[v] = 0
        elif state[tail] == done:
            next_tail[v] += 1
        elif state[tail] == new:
            state[tail] = opened
            stack[depth] = tail
            depth += 1
    return order[:found], by_head, offsets


@kernel
def _useful_edges(
    order: NDArray[np.int32],
    by_head: NDArray[np.int32],
    offsets: NDArray[np.int32],
    tail_offsets: NDArray[np.int32],
    tails: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Of nodes that all derive something, children first: their edges in that order, which of them are on a derivation
    of the last node, and which nodes are.
    """
    productive, reached = np.zeros(offsets.size, np.bool_), np.zeros(offsets.size, np.bool_)
    size = 0
    for v in order:
        productive[v] = True
        size += offsets[v + 1] - offsets[v]
    edges, useful = np.empty(size, np.int32), np.zeros(size, np.bool_)
    reached[order[-1:]] = True
    place = size
    for v in order[::-1]:
        for i in range(offsets[v + 1] - 1, offsets[v] - 1, -1):
            h = by_head[i]
            place -= 1
            edges[place] = h
            useful[place] = reached[v]
            for t in range(tail_offsets[h], tail_offsets[h + 1]):
                useful[place] &= productive[tails[t]]
            if useful[place]:
                for t in range(tail_offsets[h], tail_offsets[h + 1]):
                    reached[tails[t]] = True
    return edges, useful, reached[order]


@kernel
def gather_rows(offsets: NDArray[Any], data: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Some rows of sparse data, in the order given."""
    new_offsets = np.zeros(rows.size + 1, offsets.dtype)
    for i in range(rows.size):
        new_offsets[i + 1] = new_offsets[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    new_data = np.empty(new_offsets[-1], data.dtype)
    for i in range(rows.size):
        start = offsets[rows[i]]
        for j in range(offsets[rows[i] + 1] - start):
            new_data[new_offsets[i] + j] = data[start + j]
    return new_offsets, new_data


def sparse_rows(sparse: SparseArrays, rows: NDArray[np.int32]) -> SparseArrays:
    """The sparse features of some edges, in the order given."""
    offsets, ids = gather_rows(sparse.offsets, sparse.ids, rows)
    return SparseArrays(offsets, ids, gather_rows(sparse.offsets, sparse.values, rows)[1])
