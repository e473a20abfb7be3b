"""Split the nodes of a forest by their boundary words, exactly or with a cube-pruned beam (Huang and Chiang 2007).

After the split every n-gram up to the order is completed at one edge, whatever derivation the edge is part of.
Language models of any order can score the edges in the same pass: they then see `<s>` and `</s>` around the text, which
are in no n-gram.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import hash_row, same_rows
from toledo.compiled.heap import ENTRY, add_entry, doubled, remove_first
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.forest.boundary_words import Buffer, EdgeTask, completed, fill, left_estimate, model_score, write_state
from toledo.forest.forest import Scores
from toledo.forest.ngram_index import NGramIndex, with_room

NO_NODE = -1
COUNTS = np.dtype(
    [("edges", np.int64), ("nodes", np.int64), ("waiting", np.int64), ("queue", np.int64), ("taken", np.int64)]
)


class NewNodes(NamedTuple):
    """Split nodes: their states, best scores, and a table to find them by (old node, state).

    Those of old node v are `begins[v]:begins[v + 1]`, best first in `ranked`.
    """

    states: NDArray[np.int32]
    best: Scores
    estimates: Scores
    old: NDArray[np.int32]
    slots: NDArray[np.int32]
    begins: NDArray[np.int64]
    ranked: NDArray[np.int32]


class NewEdges(NamedTuple):
    """Edges in the order of their making."""

    heads: NDArray[np.int32]
    origins: NDArray[np.int32]
    model_scores: NDArray[np.float32]
    tail_offsets: NDArray[np.int32]
    tails: NDArray[np.int32]
    ngram_offsets: NDArray[np.int64]
    ngram_ids: NDArray[np.int32]


class SplitCandidates(NamedTuple):
    """Combinations of an edge with a split node for each tail, given by rank, and the last tail that was varied."""

    edges: NDArray[np.int32]
    ranks: NDArray[np.int32]
    turns: NDArray[np.int32]
    model_scores: Scores  # by candidate and language model
    estimates: Scores  # weighted: what the first words will add
    queue: NDArray[Any]  # ENTRY


class SplitWork(NamedTuple):
    """All that grows, and room for one edge."""

    counts: NDArray[Any]  # COUNTS
    nodes: NewNodes
    edges: NewEdges
    candidates: SplitCandidates
    ngrams: NGramIndex
    buffer: Buffer
    state: NDArray[np.int32]
    chosen: NDArray[np.int32]


class Split(NamedTuple):
    """The result: edges by old node. `origins` are the old edges, `ids` the n-grams that each new edge completes."""

    nodes: int
    heads: NDArray[np.int32]
    tail_offsets: NDArray[np.int32]
    tails: NDArray[np.int32]
    origins: NDArray[np.int32]
    model_scores: NDArray[np.float32]
    ngram_offsets: NDArray[np.int64]
    ngram_ids: NDArray[np.int32]
    ngrams: NGramIndex
    goal: int


@kernel
def split_nodes(task: EdgeTask, buffer: Buffer, index: NGramIndex) -> Split:
    """From children to parents: for each old node the best combinations of its edges with split tails."""
    old_nodes = task.shape.head_edges.size - 1
    work = _begin(task, buffer, index)
    for v in range(old_nodes):
        work = _with_room_for_edges_of(task, work, v)
        _offer_edges(task, work, v)
        while not _take(task, work, v):
            work = _grown(work)
        _rank(work, v)
    counts, edges = work.counts[0], work.edges
    count = counts["edges"]
    begins = work.nodes.begins
    goal = counts["nodes"] - 1 if begins[old_nodes] > begins[old_nodes - 1] else NO_NODE
    return Split(
        counts["nodes"], edges.heads[:count], edges.tail_offsets[: count + 1], edges.tails[: edges.tail_offsets[count]],
        edges.origins[:count], edges.model_scores[:count], edges.ngram_offsets[: count + 1],
        edges.ngram_ids[: edges.ngram_offsets[count]], work.ngrams, goal,
    )  # fmt: skip


@kernel
def _begin(task: EdgeTask, buffer: Buffer, index: NGramIndex) -> SplitWork:
    shape, width, room = task.shape, 2 * task.context + 1, 256
    most_tails = 0
    for h in range(shape.tail_offsets.size - 1):
        most_tails = max(most_tails, shape.tail_offsets[h + 1] - shape.tail_offsets[h])
    nodes = NewNodes(
        np.empty((room, width), np.int32), np.empty(room), np.empty(room), np.empty(room, np.int32),
        np.full(4 * room, NO_NODE, np.int32), np.zeros(shape.head_edges.size, np.int64), np.empty(room, np.int32),
    )  # fmt: skip
    edges = NewEdges(
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty((room, task.weights.size), np.float32),
        np.zeros(room + 1, np.int32),
        np.empty(room + most_tails, np.int32), np.zeros(room + 1, np.int64),
        np.empty(room + buffer.words.size * task.order, np.int32),
    )  # fmt: skip
    candidates = SplitCandidates(
        np.empty(room, np.int32), np.empty((room, most_tails), np.int32), np.empty(room, np.int32),
        np.empty((room, task.weights.size)), np.empty(room), np.empty(room, ENTRY),
    )  # fmt: skip
    return SplitWork(
        np.zeros(1, COUNTS), nodes, edges, candidates, with_room(index, buffer.words.size * task.order), buffer,
        np.empty(width, np.int32), np.empty(most_tails, np.int32),
    )  # fmt: skip


@kernel
def _with_room_for_edges_of(task: EdgeTask, work: SplitWork, v: int) -> SplitWork:
    while work.candidates.edges.size < task.shape.head_edges[v + 1] - task.shape.head_edges[v]:
        work = _with_candidates(work, _doubled_candidates(work.candidates))
    return work


@inner_kernel
def _offer_edges(task: EdgeTask, work: SplitWork, v: int) -> None:
    """Offer the first combination of each edge of an old node."""
    counts, candidates = work.counts[0], work.candidates
    counts["waiting"], counts["queue"], counts["taken"] = 0, 0, 0
    for h in range(task.shape.head_edges[v], task.shape.head_edges[v + 1]):
        number = counts["waiting"]
        candidates.edges[number], candidates.turns[number] = h, 0
        candidates.ranks[number, :] = 0
        _offer(task, work, v)


@inner_kernel
def _take(task: EdgeTask, work: SplitWork, v: int) -> bool:
    """Make edges of the best combinations, until there are no more or enough (True), or no more room (False)."""
    shape, counts, candidates, edges, nodes = task.shape, work.counts[0], work.candidates, work.edges, work.nodes
    while counts["queue"] and counts["taken"] < task.beam:
        if not _has_room(task, work):
            return False
        number = candidates.queue[0]["cell"]
        counts["queue"] = remove_first(candidates.queue, counts["queue"])
        counts["taken"] += 1
        h, edge = candidates.edges[number], counts["edges"]
        _choose(task, nodes, candidates, number, work.chosen)
        size = fill(task, work.buffer, nodes.states, h, v, work.chosen)
        score = _combined(task, nodes, h, work.chosen)
        for m in range(task.weights.size):
            edges.model_scores[edge, m] = candidates.model_scores[number, m]
            score += task.weights[m] * candidates.model_scores[number, m]
        write_state(work.buffer, size, task.context, task.needs.left[v], task.needs.right[v], work.state)
        edges.heads[edge] = _find_node(counts, nodes, v, work.state, score, candidates.estimates[number])
        edges.origins[edge] = h
        arity, end = shape.tail_offsets[h + 1] - shape.tail_offsets[h], edges.tail_offsets[edge]
        for i in range(arity):
            edges.tails[end + i] = work.chosen[i]
        edges.tail_offsets[edge + 1] = end + arity
        edges.ngram_offsets[edge + 1] = completed(
            task, work.buffer, size, work.ngrams, edges.ngram_ids, edges.ngram_offsets[edge]
        )
        counts["edges"] += 1
        for i in range(candidates.turns[number], arity):
            following = counts["waiting"]
            candidates.edges[following], candidates.turns[following] = h, i
            for j in range(arity):
                candidates.ranks[following, j] = candidates.ranks[number, j]
            candidates.ranks[following, i] += 1
            _offer(task, work, v)
    return True


@inlined
def _has_room(task: EdgeTask, work: SplitWork) -> bool:
    """For one more edge and the combinations that follow it."""
    counts, edges = work.counts[0], work.edges
    tails, ngrams = work.chosen.size, work.buffer.words.size * task.order
    return bool(
        counts["edges"] < edges.heads.size
        and edges.tail_offsets[counts["edges"]] + tails <= edges.tails.size
        and edges.ngram_offsets[counts["edges"]] + ngrams <= edges.ngram_ids.size
        and counts["waiting"] + tails <= work.candidates.edges.size
        and counts["nodes"] < work.nodes.best.size
        and work.ngrams.used[0] + ngrams <= work.ngrams.words.size
    )


@inlined
def _offer(task: EdgeTask, work: SplitWork, v: int) -> None:
    """Put the candidate number `waiting` into the queue if there is such a combination."""
    counts, candidates, nodes = work.counts[0], work.candidates, work.nodes
    number = counts["waiting"]
    if _choose(task, nodes, candidates, number, work.chosen):
        h = candidates.edges[number]
        score = _combined(task, nodes, h, work.chosen)
        if score > -math.inf:
            key, candidates.estimates[number] = score, 0.0
            size = fill(task, work.buffer, nodes.states, h, v, work.chosen) if task.scored else 0
            for m in range(task.weights.size):
                said = model_score(task, m, work.buffer, size)
                expected = left_estimate(task, m, work.buffer, size, v)
                candidates.model_scores[number, m] = said
                candidates.estimates[number] += task.weights[m] * expected
                key += task.weights[m] * (said + expected)
            counts["queue"] = add_entry(candidates.queue, counts["queue"], key, number)
            counts["waiting"] += 1


@inlined
def _choose(
    task: EdgeTask, nodes: NewNodes, candidates: SplitCandidates, number: int, chosen: NDArray[np.int32]
) -> bool:
    """Look up the split tails of a candidate; False if a rank is beyond the last."""
    h = candidates.edges[number]
    first, found = task.shape.tail_offsets[h], True
    for i in range(task.shape.tail_offsets[h + 1] - first):
        tail = task.shape.tails[first + i]
        place = nodes.begins[tail] + candidates.ranks[number, i]
        if place >= nodes.begins[tail + 1]:
            found = False
            break
        chosen[i] = nodes.ranked[place]
    return found


@inlined
def _combined(task: EdgeTask, nodes: NewNodes, h: int, chosen: NDArray[np.int32]) -> float:
    score = task.scores[h]
    for i in range(task.shape.tail_offsets[h + 1] - task.shape.tail_offsets[h]):
        score += nodes.best[chosen[i]]
    return float(score)


@inlined
def _find_node(counts: Any, nodes: NewNodes, old: int, state: NDArray[np.int32], score: float, estimate: float) -> int:
    """Return the split node with this state, a new one if need be; keep the best score."""
    slot = _slot_of(nodes, old, state)
    node = nodes.slots[slot]
    if node == NO_NODE:
        node = counts["nodes"]
        counts["nodes"] += 1
        nodes.slots[slot] = node
        for i in range(state.size):
            nodes.states[node, i] = state[i]
        nodes.old[node], nodes.best[node], nodes.estimates[node] = old, score, estimate
    nodes.best[node] = max(nodes.best[node], score)
    return int(node)


@inner_kernel
def _slot_of(nodes: NewNodes, old: int, state: NDArray[np.int32]) -> int:
    """Return the slot of the node with this state, or the empty slot where it goes."""
    slot = np.int64(hash_row(state, 0, state.size, np.uint64(old)) & np.uint64(nodes.slots.size - 1))
    while nodes.slots[slot] != NO_NODE:
        node = nodes.slots[slot]
        if nodes.old[node] == old and same_rows(nodes.states[node], 0, state, 0, state.size):
            break
        slot = (slot + 1) & (nodes.slots.size - 1)
    return int(slot)


@kernel
def _rank(work: SplitWork, v: int) -> None:
    """Rank the complete split nodes of an old node, the best first."""
    nodes = work.nodes
    begin, end = nodes.begins[v], work.counts[0]["nodes"]
    nodes.begins[v + 1] = end
    found = np.argsort(-(nodes.best[begin:end] + nodes.estimates[begin:end]), kind="mergesort")
    for i in range(found.size):
        nodes.ranked[begin + i] = begin + found[i]


@kernel
def _grown(work: SplitWork) -> SplitWork:
    """Twice the room for all."""
    nodes, counts = work.nodes, work.counts[0]
    larger = NewNodes(
        doubled(nodes.states), doubled(nodes.best), doubled(nodes.estimates), doubled(nodes.old),
        np.full(2 * nodes.slots.size, NO_NODE, np.int32), nodes.begins, doubled(nodes.ranked),
    )  # fmt: skip
    for node in range(counts["nodes"]):
        larger.slots[_slot_of(larger, nodes.old[node], nodes.states[node])] = node
    return SplitWork(
        work.counts, larger, _doubled_edges(work.edges), _doubled_candidates(work.candidates),
        with_room(work.ngrams, work.ngrams.words.size), work.buffer, work.state, work.chosen,
    )  # fmt: skip


@kernel
def _doubled_edges(edges: NewEdges) -> NewEdges:
    return NewEdges(
        doubled(edges.heads), doubled(edges.origins), doubled(edges.model_scores), doubled(edges.tail_offsets),
        doubled(edges.tails), doubled(edges.ngram_offsets), doubled(edges.ngram_ids),
    )  # fmt: skip


@kernel
def _doubled_candidates(candidates: SplitCandidates) -> SplitCandidates:
    return SplitCandidates(
        doubled(candidates.edges), doubled(candidates.ranks), doubled(candidates.turns),
        doubled(candidates.model_scores), doubled(candidates.estimates), doubled(candidates.queue),
    )  # fmt: skip


@kernel
def _with_candidates(work: SplitWork, candidates: SplitCandidates) -> SplitWork:
    return SplitWork(work.counts, work.nodes, work.edges, candidates, work.ngrams, work.buffer, work.state, work.chosen)
