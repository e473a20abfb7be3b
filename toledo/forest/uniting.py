"""The union of forests of one segment: all that several searches found, each derivation once.

Lists are merged hypothesis by hypothesis: those with the same text and features are one. For lattices and forests of
one search at different weights, two facts make a union without duplicates possible. Which state a search is in (what it
has covered, the words that a language model still sees, …) follows from the partial derivation alone; and a node is
such a state. So nodes of two forests that share one derivation are the same state, and are merged; nodes that share
none have no derivation twice. From the leaves on, two nodes share a derivation if they have an edge in common: one with
the same words, features and provenance, and with merged tails. A third forest may show that nodes of two others are
one, so this is repeated until nothing more is found. A merged node also joins what one search found below it with what
another found above it: these are derivations of the model like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import hash_row, same_rows
from toledo.compiled.heap import power_of_two
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.errors import InputError
from toledo.forest.assemble import edges_of, join, with_edges
from toledo.forest.forest import Forest, Scores, Shape, Yields
from toledo.forest.linear import SparseArrays

NONE = -1
MOST = 64  # forests: each is a bit


class Content(NamedTuple):
    """What makes edges equal, besides their tails. Base scores and provenance may be empty."""

    yields: Yields
    features: NDArray[np.int32]  # the bits of the numbers
    base: Scores
    sparse: SparseArrays
    provenance: NDArray[np.int64]


class Merged(NamedTuple):
    """For each edge whether it is new, its head and its tails in the union, whose goal is `goal`."""

    new: NDArray[np.bool_]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    goal: int


def unite(forests: Sequence[Forest], *, distinct: bool = True) -> Forest:
    """Unite the derivations of some one-segment forests in one forest; see above.

    Forests that are no lists must come from one search with one model, as nothing else tells what a node stands for.
    With `distinct=False` they may be any, nothing is merged but the goals, and what several have is there several
    times, which distorts probabilities.
    """
    if any(len(forest) != 1 for forest in forests):
        raise InputError("forests of several segments cannot be united", remedy="unite those of each segment")
    if len(forests) > MOST:
        return unite([unite(forests[:MOST], distinct=distinct), *forests[MOST:]], distinct=distinct)
    if len(forests) == 1 and forests[0].shape.tails.size:
        return forests[0]
    joined = join(forests)
    if joined.edges == 0:
        return forests[0]
    merged = _merge(joined.shape, _content(joined), distinct)
    chosen = np.flatnonzero(merged.new).astype(np.int32)
    edges = edges_of(joined)._replace(heads=merged.heads, tails=merged.tails).select(chosen)
    return with_edges(joined, edges, merged.goal)


def _content(forest: Forest) -> Content:
    none = np.empty(0, np.int32)
    is_list = not forest.shape.tails.size  # where a hypothesis came from does not make it another
    return Content(
        forest.yields,
        np.ascontiguousarray(forest.features + np.float32(0.0)).view(np.int32),  # −0 is 0
        np.empty(0) if forest.base is None else forest.base,
        forest.sparse.arrays if forest.sparse else SparseArrays(none, none, np.empty(0, np.float32)),
        np.empty(0, np.int64) if forest.provenance is None or is_list else forest.provenance,
    )


@kernel
def _merge(shape: Shape, content: Content, distinct: bool) -> Merged:
    """Find the nodes that are one state, then which edges are new among those of each state."""
    sentences, head_edges, tail_offsets, old_tails = shape
    edges, tails = tail_offsets.size - 1, np.empty_like(old_tails)
    heads, parents = np.empty(edges, np.int32), np.arange(head_edges.size - 1).astype(np.int32)
    forests = np.zeros(parents.size, np.uint64)  # those with a node of this state, a bit for each
    goal = sentences[1] - 1
    for forest in range(sentences.size - 1):
        for v in range(sentences[forest], sentences[forest + 1]):
            forests[v] = np.uint64(1) << np.uint64(forest)
            heads[head_edges[v] : head_edges[v + 1]] = v
        parents[sentences[forest + 1] - 1] = goal
    table = np.full(power_of_two(2 * edges), NONE, np.int32)
    while distinct and _merge_states(content, tail_offsets, old_tails, tails, heads, parents, forests, goal, table):
        pass
    for t in range(tails.size):
        tails[t] = _root(parents, old_tails[t])
    new = np.ones(edges, np.bool_)
    table[:] = NONE
    for h in range(edges):
        heads[h] = _root(parents, heads[h])
        if distinct:
            slot = _find(content, tail_offsets, tails, heads, table, h, heads[h])
            new[h] = table[slot] == NONE
            table[slot] = h if new[h] else table[slot]
    return Merged(new, heads, tails, goal)


@inner_kernel
def _merge_states(
    content: Content,
    tail_offsets: NDArray[np.int32],
    old_tails: NDArray[np.int32],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    parents: NDArray[np.int32],
    forests: NDArray[np.uint64],
    goal: int,
    table: NDArray[np.int32],
) -> bool:
    """Nodes with an edge in common are one; whether any were found. What is merged below shows more above."""
    merged = False
    table[:] = NONE
    for h in range(heads.size):
        head = _root(parents, heads[h])
        if head == goal:
            continue
        for t in range(tail_offsets[h], tail_offsets[h + 1]):
            tails[t] = _root(parents, old_tails[t])
        slot = _find(content, tail_offsets, tails, heads, table, h, NONE)
        if table[slot] == NONE:
            table[slot] = h
            continue
        other = _root(parents, heads[table[slot]])
        if other != head and not forests[head] & forests[other]:  # two nodes of one search are two states
            parents[head] = other
            forests[other] |= forests[head]
            merged = True
    return merged


@inlined
def _root(parents: NDArray[np.int32], node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return int(node)


@inner_kernel
def _find(
    content: Content,
    tail_offsets: NDArray[np.int32],
    tails: NDArray[np.int32],
    heads: NDArray[np.int32],
    table: NDArray[np.int32],
    edge: int,
    head: int,
) -> int:
    """Return the slot of an edge equal to this one, with this head (or any); else an empty slot."""
    mask = table.size - 1
    slot = np.int64(_hash(content, tail_offsets, tails, edge) & np.uint64(mask))
    while table[slot] != NONE:
        other = table[slot]
        if (head == NONE or head == heads[other]) and _same(content, tail_offsets, tails, edge, other):
            break
        slot = (slot + 1) & mask
    return int(slot)


@inner_kernel
def _hash(content: Content, tail_offsets: NDArray[np.int32], tails: NDArray[np.int32], edge: int) -> np.uint64:
    """Hash tails, words, dense features and provenance; edges that differ only in the rest are compared."""
    offsets, words = content.yields
    key = hash_row(tails, tail_offsets[edge], tail_offsets[edge + 1])
    key = hash_row(words, offsets[edge], offsets[edge + 1], key)
    key = hash_row(content.features[edge], 0, content.features.shape[1], key)
    if content.provenance.size:
        key = hash_row(content.provenance, edge, edge + 1, key)
    return key


@inner_kernel
def _same(content: Content, tail_offsets: NDArray[np.int32], tails: NDArray[np.int32], one: int, other: int) -> bool:
    if not same_rows(content.features[one], 0, content.features[other], 0, content.features.shape[1]):
        return False
    if content.base.size and content.base[one] != content.base[other]:
        return False
    if content.provenance.size and content.provenance[one] != content.provenance[other]:
        return False
    offsets, ids, values = content.sparse
    if offsets.size and not (_same_row(offsets, ids, one, other) and _same_row(offsets, values, one, other)):
        return False
    return _same_row(tail_offsets, tails, one, other) and _same_row(
        content.yields.offsets, content.yields.words, one, other
    )


@inner_kernel
def _same_row(offsets: NDArray[np.int32], data: NDArray[Any], one: int, other: int) -> bool:
    size = offsets[one + 1] - offsets[one]
    return offsets[other + 1] - offsets[other] == size and same_rows(data, offsets[one], data, offsets[other], size)
