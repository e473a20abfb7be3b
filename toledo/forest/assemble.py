"""Forests from edges in any order, from some edges of a forest (pruning), and from several forests in a row.

Searches and files give edges in any order. A tuning corpus is a row of forests, which can be split again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import gather_rows, offsets_of
from toledo.errors import InputError
from toledo.forest.derivations import best_above, best_below, best_lengths, on_best
from toledo.forest.forest import Forest, Scores, Shape, Yields, check_offsets, check_scores
from toledo.forest.inside_outside import distribution
from toledo.forest.linear import SparseArrays, SparseFeatures, sparse_rows
from toledo.text.vocabulary import BEGIN, END, Vocabulary


def join(forests: Sequence[Forest]) -> Forest:
    """Put several forests in a row: a tuning corpus. They must share feature names and vocabulary."""
    if not forests:
        raise ValueError("nothing to join")
    first = forests[0]
    for index, forest in enumerate(forests):
        if forest.feature_names != first.feature_names:
            raise InputError(f"forest {index} has other features than forest 0", remedy="make them with one model")
        if forest.vocabulary is not first.vocabulary:
            raise InputError(f"forest {index} has its own vocabulary", remedy="pass one Vocabulary to all constructors")
    shapes, sizes = [forest.shape for forest in forests], [forest.edges for forest in forests]
    nodes = offsets_of(forest.nodes for forest in forests)
    return Forest.from_checked(
        shape=Shape(
            join_offsets([shape.sentences for shape in shapes]),
            join_offsets([shape.head_edges for shape in shapes]),
            join_offsets([shape.tail_offsets for shape in shapes]),
            np.concatenate([shape.tails + nodes[i] for i, shape in enumerate(shapes)]).astype(np.int32),
        ),
        yields=Yields(
            join_offsets([forest.yields.offsets for forest in forests]),
            np.concatenate([forest.yields.words for forest in forests]),
        ),
        features=np.concatenate([forest.features for forest in forests]),
        feature_names=first.feature_names,
        vocabulary=first.vocabulary,
        base=_join_optional([forest.base for forest in forests], sizes, 0.0),
        sparse=_join_sparse(forests),
        provenance=_join_optional([forest.provenance for forest in forests], sizes, -1),
    )


def split(forest: Forest) -> list[tuple[Forest, int, int]]:
    """Return each segment's forest, with the range of its edges in the whole."""
    parts = []
    shape = forest.shape
    for begin_node, end_node in zip(shape.sentences[:-1].tolist(), shape.sentences[1:].tolist(), strict=True):
        begin, end = int(shape.head_edges[begin_node]), int(shape.head_edges[end_node])
        parts.append((_part(forest, begin_node, end_node, begin, end), begin, end))
    return parts


def _part(forest: Forest, begin_node: int, end_node: int, begin: int, end: int) -> Forest:
    def rows(offsets: NDArray[Any], *data: NDArray[Any]) -> list[NDArray[Any]]:
        first, last = offsets[begin], offsets[end]
        return [offsets[begin : end + 1] - first, *(array[first:last] for array in data)]

    shape, sparse = forest.shape, forest.sparse
    tail_offsets, tails = rows(shape.tail_offsets, shape.tails)
    return Forest.from_checked(
        shape=Shape(
            np.array([0, end_node - begin_node]),
            shape.head_edges[begin_node : end_node + 1] - shape.head_edges[begin_node],
            tail_offsets,
            tails - np.int32(begin_node),
        ),
        yields=Yields(*rows(*forest.yields)),
        features=forest.features[begin:end],
        feature_names=forest.feature_names,
        vocabulary=forest.vocabulary,
        base=None if forest.base is None else forest.base[begin:end],
        sparse=None if sparse is None else SparseFeatures(sparse.names, SparseArrays(*rows(*sparse.arrays))),
        provenance=None if forest.provenance is None else forest.provenance[begin:end],
    )


def join_offsets(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the offsets of all rows of several arrays that are put end to end."""
    ends, dtype = offsets_of(int(part[-1]) for part in parts), parts[0].dtype
    if ends[-1] > np.iinfo(dtype).max:
        raise InputError("the forests together are too large", remedy="join fewer, or prune them first")
    shifted = [part[1:] + end.astype(dtype) for part, end in zip(parts, ends[:-1], strict=True)]
    return np.concatenate([np.zeros(1, dtype), *shifted])


def _join_optional(parts: Sequence[NDArray[Any] | None], sizes: Sequence[int], default: float) -> NDArray[Any] | None:
    if all(part is None for part in parts):
        return None
    dtype = next(part.dtype for part in parts if part is not None)
    filled = [np.full(size, default, dtype) if part is None else part for part, size in zip(parts, sizes, strict=True)]
    return np.concatenate(filled)


def _join_sparse(forests: Sequence[Forest]) -> SparseFeatures | None:
    """Number the sparse features of all forests together; each forest has its own numbers."""
    if all(forest.sparse is None for forest in forests):
        return None
    names: dict[str, int] = {}
    last: tuple[str, ...] = ()
    numbers = np.empty(0, np.int32)
    offsets, ids, values = [], [], []
    for forest in forests:
        if forest.sparse is None:
            offsets.append(np.zeros(forest.edges + 1, np.int32))
            continue
        if forest.sparse.names is not last:  # parts of one forest share their names, and there may be very many
            last = forest.sparse.names
            numbers = np.array([names.setdefault(name, len(names)) for name in last], np.int32)
        arrays = forest.sparse.arrays
        offsets.append(arrays.offsets)
        ids.append(numbers[arrays.ids] if arrays.ids.size else arrays.ids)
        values.append(arrays.values)
    return SparseFeatures(
        tuple(names), SparseArrays(join_offsets(offsets), np.concatenate(ids), np.concatenate(values))
    )


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

    def select(self, chosen: NDArray[Any]) -> Edges:
        """Return some of the edges, in the order given."""
        tail_offsets, tails = gather_rows(self.tail_offsets, self.tails, chosen)
        return Edges(
            self.heads[chosen],
            tail_offsets,
            tails,
            Yields(*gather_rows(*self.yields, chosen)),
            self.features[chosen],
            None if self.base is None else self.base[chosen],
            None if self.sparse is None else sparse_rows(self.sparse, chosen),
            None if self.provenance is None else self.provenance[chosen],
        )


def edges_of(forest: Forest) -> Edges:
    """Return the edges of a forest, with the nodes that they lead to."""
    shape, sparse = forest.shape, forest.sparse
    return Edges(
        np.repeat(np.arange(forest.nodes, dtype=np.int32), np.diff(shape.head_edges)),
        shape.tail_offsets,
        shape.tails,
        forest.yields,
        forest.features,
        forest.base,
        sparse.arrays if sparse else None,
        forest.provenance,
    )


def list_edges(yields: Yields, features: NDArray[np.float32], sparse: SparseArrays | None = None) -> Edges:
    """Return the edges of a list: all lead to node 0, and none has tails."""
    none = np.zeros(features.shape[0] + 1, np.int32)
    return Edges(none[1:], none, none[:0], yields, features, sparse=sparse)


def from_edges(
    edges: Edges, goal: int, feature_names: Sequence[str], vocabulary: Vocabulary, sparse_names: Sequence[str] = ()
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
    edges, order = edges.select(chosen[useful]), order[reached]
    if not order.size:
        order = np.array([goal], np.int32)  # an empty forest is its goal alone
    number = np.full(nodes, -1, np.int32)
    number[order] = np.arange(order.size, dtype=np.int32)
    head_edges = np.searchsorted(number[edges.heads], np.arange(order.size + 1)).astype(np.int32)
    return Forest(
        shape=Shape(np.array([0, order.size]), head_edges, edges.tail_offsets, number[edges.tails]),
        yields=edges.yields,
        features=edges.features,
        feature_names=tuple(feature_names),
        vocabulary=vocabulary,
        base=edges.base,
        sparse=None if edges.sparse is None else SparseFeatures(tuple(sparse_names), edges.sparse),
        provenance=edges.provenance,
    )


def with_edges(forest: Forest, edges: Edges, goal: int) -> Forest:
    """Return a forest of other edges with the names and the vocabulary of a given forest."""
    names = forest.sparse.names if forest.sparse else ()
    return from_edges(edges, goal, forest.feature_names, forest.vocabulary, names)


def refuse_boundaries(forest: Forest) -> None:
    """Refuse texts that have `<s>` or `</s>` already."""
    if np.isin(forest.yields.words, (BEGIN, END)).any():
        raise InputError("a text contains <s> or </s>", remedy="take them off: they are put around each text")


def with_boundaries(forest: Forest) -> Forest:
    """Put `<s>` and `</s>` around all texts of one segment, by one more edge without features or provenance."""
    refuse_boundaries(forest)
    edges, goal = edges_of(forest), forest.nodes
    yields = Yields(
        np.append(forest.yields.offsets, forest.yields.offsets[-1] + np.int32(3)),
        np.append(forest.yields.words, np.array([BEGIN, -1, END], np.int32)),
    )
    sparse = edges.sparse
    longer = Edges(
        heads=np.append(edges.heads, np.int32(goal)),
        tail_offsets=np.append(edges.tail_offsets, edges.tail_offsets[-1] + np.int32(1)),
        tails=np.append(edges.tails, np.int32(goal - 1)),
        yields=yields,
        features=np.vstack([edges.features, np.zeros((1, edges.features.shape[1]), np.float32)]),
        base=None if edges.base is None else np.append(edges.base, 0.0),
        sparse=None if sparse is None else sparse._replace(offsets=np.append(sparse.offsets, sparse.offsets[-1])),
        provenance=None if edges.provenance is None else np.append(edges.provenance, -1),
    )
    return with_edges(forest, longer, goal)


def keep_edges(forest: Forest, keep: NDArray[np.bool_]) -> Forest:
    """Drop all other edges, and nodes left without a derivation. Every segment keeps its place."""
    if keep.shape != (forest.edges,):
        raise ValueError(f"{keep.shape} decisions for {forest.edges} edges")
    if len(forest) != 1:
        return join([keep_edges(part, keep[begin:end]) for part, begin, end in split(forest)])
    chosen = np.flatnonzero(keep).astype(np.int32)
    return with_edges(forest, edges_of(forest).select(chosen), forest.nodes - 1)


def prune_by_score(forest: Forest, scores: Scores, margin: float) -> Forest:
    """Keep edges on some derivation at most `margin` below the best of its segment (max-marginals)."""
    if not margin >= 0:
        raise ValueError("the margin must not be negative")
    check_scores(forest.shape, scores)
    best = best_below(forest.shape, scores)
    through = best_above(forest.shape, scores, best)
    top = np.repeat(
        best.scores[forest.shape.sentences[1:] - 1], np.diff(forest.shape.head_edges[forest.shape.sentences])
    )
    good = (through >= top - margin - _slack(top)) & np.isfinite(through)
    return keep_edges(forest, good | on_best(forest.shape, best))


def prune_by_posterior(forest: Forest, scores: Scores, threshold: float) -> Forest:
    """Keep edges used at least `threshold` times in expectation, and those of the best derivation."""
    likely = distribution(forest.shape, scores).posteriors >= threshold
    best = on_best(forest.shape, best_below(forest.shape, scores))
    return keep_edges(forest, (likely | best) & (scores > -np.inf))


def prune_to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    """Keep at most `density` edges for each word of the best translation, the best ones by max-marginal."""
    check_scores(forest.shape, scores)
    return join([_to_density(part, scores[begin:end], density) for part, begin, end in split(forest)])


def _to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    best = best_below(forest.shape, scores)
    needed = on_best(forest.shape, best)
    words = best_lengths(forest.shape, forest.yields, best)[-1]
    room = int(min(max(density * max(words, 1.0), np.count_nonzero(needed)), forest.edges))
    through = best_above(forest.shape, scores, best)
    if np.count_nonzero(through > -np.inf) <= room:
        return keep_edges(forest, through > -np.inf)
    # All edges of a derivation are at least as good as it is, so a threshold never cuts through one that it keeps.
    through[needed] = np.inf
    ranked = np.sort(through)[::-1]
    keep = through >= ranked[room - 1]
    if np.count_nonzero(keep) > room:  # among equals, none: more than asked would stay
        keep = through > ranked[room - 1]
    return keep_edges(forest, keep | needed)


def _slack(top: Scores) -> Scores:
    """Sums in another order differ in the last digits; the best derivation must not fall to that."""
    return np.asarray(1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(top), top, 0.0))))


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
