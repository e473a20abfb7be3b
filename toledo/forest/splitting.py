"""Split the nodes of a forest by their boundary words, exactly or with a cube-pruned beam (Huang and Chiang 2007).

After the split every n-gram up to the order is completed at one edge, whatever derivation the edge is part of. A
language model of any order can score the edges in the same pass: it then sees `<s>` and `</s>` around the text, which
are in no n-gram.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.context import (
    GAP,
    OWN,
    Buffer,
    Needs,
    append_tail,
    crosses,
    write_state,
)
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, add_ngram, with_room
from toledo.forest.structure import Scores, Shape, Yields
from toledo.heap import Heap, new_heap, pop, push
from toledo.kernels import kernel
from toledo.language_model.automaton import Automaton, advance, begin_state
from toledo.vocabulary import BEGIN, END

NO_NODE = -1
FNV, FNV_PRIME = np.uint64(0xCBF2_9CE4_8422_2325), np.uint64(0x0000_0100_0000_01B3)
LN10 = math.log(10.0)


class Task(NamedTuple):
    """What to split and how: n-grams up to `order`, `context` boundary words, at most `beam` edges for an old node.

    `model_order` is 0 without a language model; `weight` is what a natural log of its probability counts.
    """

    shape: Shape
    yields: Yields
    needs: Needs
    scores: Scores
    order: int
    context: int
    beam: int
    model: Automaton
    model_order: int
    weight: float


class NewNodes(NamedTuple):
    """Split nodes: their states, best scores, and a table to find them by (old node, state)."""

    used: NDArray[np.int64]
    states: NDArray[np.int32]
    best: Scores
    old: NDArray[np.int32]
    slots: NDArray[np.int32]


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


class Candidates(NamedTuple):
    """Combinations of an edge with a split node for each tail, given by rank, and the last tail that was varied."""

    edges: NDArray[np.int32]
    ranks: NDArray[np.int32]
    turns: NDArray[np.int32]


@kernel
def split_nodes(task: Task, buffer: Buffer, index: NGramIndex) -> Split:
    """From children to parents: for each old node the best combinations of its edges with split tails."""
    shape, width = task.shape, 2 * task.context + 1
    old_nodes = shape.head_edges.size - 1
    most_tails = 0
    for h in range(shape.tail_offsets.size - 1):
        most_tails = max(most_tails, shape.tail_offsets[h + 1] - shape.tail_offsets[h])
    nodes = NewNodes(
        np.zeros(1, np.int64), np.empty((64, width), np.int32), np.empty(64), np.empty(64, np.int32),
        np.full(256, NO_NODE, np.int32),
    )  # fmt: skip
    begins = np.zeros(old_nodes + 1, np.int64)
    ranked = np.empty(64, np.int32)
    candidates = Candidates(np.empty(64, np.int32), np.empty((64, most_tails), np.int32), np.empty(64, np.int32))
    heads, origins, model_scores = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.float32)
    tails, tail_offsets = np.empty(64, np.int32), np.zeros(65, np.int32)
    ids, ngram_offsets = np.empty(256, np.int32), np.zeros(65, np.int64)
    state, chosen = np.empty(width, np.int32), np.empty(most_tails, np.int32)
    edges = 0
    for v in range(old_nodes):
        heap, waiting = new_heap(64), 0
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            candidates = _candidates_with_room(candidates, waiting + 1)
            candidates.edges[waiting], candidates.turns[waiting] = h, 0
            candidates.ranks[waiting, :] = 0
            heap, waiting = _offer(task, buffer, nodes, begins, ranked, candidates, waiting, chosen, heap)
        taken = 0
        while heap.size[0] and taken < task.beam:
            number = pop(heap)
            taken += 1
            h = candidates.edges[number]
            arity = shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            _choose(task, begins, ranked, candidates, number, chosen)
            size = _fill(task, buffer, nodes, h, v, chosen)
            model_score = _model_score(task, buffer, nodes, size, h, chosen)
            score = _combined(task, nodes, h, chosen) + task.weight * model_score
            write_state(buffer, size, task.context, task.needs.left[v], task.needs.right[v], state)
            nodes, head = _find_node(nodes, v, state, score)
            heads, origins = _grown(heads, edges), _grown(origins, edges)
            model_scores = _grown(model_scores, edges)
            tail_offsets, ngram_offsets = _grown(tail_offsets, edges + 1), _grown(ngram_offsets, edges + 1)
            heads[edges], origins[edges], model_scores[edges] = head, h, model_score
            tails = _grown(tails, tail_offsets[edges] + arity)
            tails[tail_offsets[edges] : tail_offsets[edges] + arity] = chosen[:arity]
            tail_offsets[edges + 1] = tail_offsets[edges] + arity
            ids = _grown(ids, ngram_offsets[edges] + size * task.order)
            index = with_room(index, size * task.order)
            ngram_offsets[edges + 1] = _completed(task, buffer, size, index, ids, ngram_offsets[edges])
            edges += 1
            for i in range(candidates.turns[number], arity):
                candidates = _candidates_with_room(candidates, waiting + 1)
                candidates.edges[waiting], candidates.turns[waiting] = h, i
                candidates.ranks[waiting, :] = candidates.ranks[number, :]
                candidates.ranks[waiting, i] += 1
                heap, waiting = _offer(task, buffer, nodes, begins, ranked, candidates, waiting, chosen, heap)
        begins[v + 1] = nodes.used[0]
        ranked = _grown(ranked, nodes.used[0])
        found = np.argsort(-nodes.best[begins[v] : begins[v + 1]], kind="mergesort")
        for i in range(found.size):
            ranked[begins[v] + i] = begins[v] + found[i]
    goal = nodes.used[0] - 1 if begins[old_nodes] > begins[old_nodes - 1] else NO_NODE
    return Split(
        nodes.used[0], heads[:edges], tail_offsets[: edges + 1], tails[: tail_offsets[edges]], origins[:edges],
        model_scores[:edges], ngram_offsets[: edges + 1], ids[: ngram_offsets[edges]], index, goal,
    )  # fmt: skip


@kernel
def _grown(array: NDArray[Any], last: int) -> NDArray[Any]:
    """The array with room for an entry number `last`."""
    while last >= array.size:
        array = np.concatenate((array, np.empty_like(array)))
    return array


@kernel
def _candidates_with_room(candidates: Candidates, needed: int) -> Candidates:
    if needed <= candidates.edges.size:
        return candidates
    return Candidates(
        np.concatenate((candidates.edges, np.empty_like(candidates.edges))),
        np.concatenate((candidates.ranks, np.empty_like(candidates.ranks))),
        np.concatenate((candidates.turns, np.empty_like(candidates.turns))),
    )


@kernel
def _offer(
    task: Task,
    buffer: Buffer,
    nodes: NewNodes,
    begins: NDArray[np.int64],
    ranked: NDArray[np.int32],
    candidates: Candidates,
    number: int,
    chosen: NDArray[np.int32],
    heap: Heap,
) -> tuple[Heap, int]:
    """Put a candidate into the queue if there is such a combination; gives the number of the next candidate."""
    if not _choose(task, begins, ranked, candidates, number, chosen):
        return heap, number
    h = candidates.edges[number]
    score = _combined(task, nodes, h, chosen)
    if score == -math.inf:
        return heap, number
    if task.model_order:
        size = _fill(task, buffer, nodes, h, _head_of(task, h), chosen)
        score += task.weight * _model_score(task, buffer, nodes, size, h, chosen)
    return push(heap, score, number), number + 1


@kernel
def _head_of(task: Task, h: int) -> int:
    return int(np.searchsorted(task.shape.head_edges, h, side="right")) - 1


@kernel
def _choose(
    task: Task,
    begins: NDArray[np.int64],
    ranked: NDArray[np.int32],
    candidates: Candidates,
    number: int,
    chosen: NDArray[np.int32],
) -> bool:
    """Look up the split tails of a candidate; False if a rank is beyond the last."""
    h = candidates.edges[number]
    for i in range(task.shape.tail_offsets[h + 1] - task.shape.tail_offsets[h]):
        tail = task.shape.tails[task.shape.tail_offsets[h] + i]
        place = begins[tail] + candidates.ranks[number, i]
        if place >= begins[tail + 1]:
            return False
        chosen[i] = ranked[place]
    return True


@kernel
def _combined(task: Task, nodes: NewNodes, h: int, chosen: NDArray[np.int32]) -> float:
    score = task.scores[h]
    for i in range(task.shape.tail_offsets[h + 1] - task.shape.tail_offsets[h]):
        score += nodes.best[chosen[i]]
    return float(score)


@kernel
def _fill(task: Task, buffer: Buffer, nodes: NewNodes, h: int, head: int, chosen: NDArray[np.int32]) -> int:
    """Write the text of an edge into the buffer, with `<s>` and `</s>` if a language model is there to see them."""
    shape, yields, needs = task.shape, task.yields, task.needs
    begin, end = yields.offsets[h], yields.offsets[h + 1]
    size = 0
    if task.model_order and not needs.left[head]:
        first = yields.words[begin] if begin < end else 0
        if first >= 0 or needs.left[shape.tails[shape.tail_offsets[h] - 1 - first]]:
            buffer.words[size], buffer.parts[size] = BEGIN, OWN
            size += 1
    for place in range(begin, end):
        word = yields.words[place]
        if word >= 0:
            buffer.words[size], buffer.parts[size] = word, OWN
            size += 1
        else:
            tail = shape.tails[shape.tail_offsets[h] - 1 - word]
            state = nodes.states[chosen[-1 - word]]
            size = append_tail(buffer, size, state, task.context, -1 - word, needs.left[tail], needs.right[tail])
    if task.model_order and not needs.right[head]:
        last = yields.words[end - 1] if begin < end else 0
        if last >= 0 or needs.right[shape.tails[shape.tail_offsets[h] - 1 - last]]:
            buffer.words[size], buffer.parts[size] = END, OWN
            size += 1
    return size


@kernel
def _model_score(task: Task, buffer: Buffer, nodes: NewNodes, size: int, h: int, chosen: NDArray[np.int32]) -> float:
    """The natural log probability of the words that have their full context first at this edge."""
    if not task.model_order:
        return 0.0
    needed = task.model_order - 1
    total, run, part_start = 0.0, 0, 0
    for i in range(size):
        word, part = buffer.words[i], buffer.parts[i]
        if word == GAP:
            run = i + 1
            continue
        if i == 0 or buffer.parts[i - 1] != part or part == OWN:
            part_start = i
        if word == BEGIN:
            continue
        if part != OWN and (i - part_start >= needed or _after_gap(buffer, i, part)):
            continue  # had its context within the tail
        if i - run >= needed or buffer.words[run] == BEGIN:
            total += _log_probability(task.model, buffer, max(run, i - needed), i)
    return total * LN10


@kernel
def _after_gap(buffer: Buffer, i: int, part: int) -> bool:
    """Whether word i of a tail is one of its last words, which have been scored within it."""
    i -= 1
    while i >= 0 and buffer.parts[i] == part:
        if buffer.words[i] == GAP:
            return True
        i -= 1
    return False


@kernel
def _log_probability(model: Automaton, buffer: Buffer, first: int, last: int) -> float:
    """The log10 probability of word `last` after the words from `first` on."""
    state = 0
    if buffer.words[first] == BEGIN:
        state = begin_state(model)
        first += 1
    for i in range(first, last):
        state = advance(model, state, buffer.words[i])[1]
    return advance(model, state, buffer.words[last])[0]


@kernel
def _completed(task: Task, buffer: Buffer, size: int, index: NGramIndex, ids: NDArray[np.int32], place: int) -> int:
    """Append the numbers of the n-grams that an edge completes; gives the end."""
    for first in range(size):
        prefix = NO_NGRAM
        for last in range(first, min(first + task.order, size)):
            word = buffer.words[last]
            if word == GAP or (task.model_order and word in (BEGIN, END)):
                break
            prefix = add_ngram(index, prefix, word)
            if crosses(buffer, first, last):
                ids[place] = prefix
                place += 1
    return place


@kernel
def _find_node(nodes: NewNodes, old: int, state: NDArray[np.int32], score: float) -> tuple[NewNodes, int]:
    """The split node of an old one with this state, a new one if need be; keeps the best score."""
    nodes = _nodes_with_room(nodes)
    slot = _slot_of(nodes, old, state)
    node = nodes.slots[slot]
    if node == NO_NODE:
        node = nodes.used[0]
        nodes.used[0] += 1
        nodes.slots[slot] = node
        nodes.states[node, :] = state
        nodes.old[node], nodes.best[node] = old, score
    nodes.best[node] = max(nodes.best[node], score)
    return nodes, node


@kernel
def _slot_of(nodes: NewNodes, old: int, state: NDArray[np.int32]) -> int:
    mixed = (FNV ^ np.uint64(old)) * FNV_PRIME
    for value in state:
        mixed = (mixed ^ np.uint64(value + 2)) * FNV_PRIME
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(nodes.slots.size - 1))
    while nodes.slots[slot] != NO_NODE:
        node = nodes.slots[slot]
        if nodes.old[node] == old and np.array_equal(nodes.states[node], state):
            break
        slot = (slot + 1) & (nodes.slots.size - 1)
    return int(slot)


@kernel
def _nodes_with_room(nodes: NewNodes) -> NewNodes:
    if nodes.used[0] < nodes.old.size:
        return nodes
    larger = NewNodes(
        nodes.used,
        np.concatenate((nodes.states, np.empty_like(nodes.states))),
        np.concatenate((nodes.best, np.empty_like(nodes.best))),
        np.concatenate((nodes.old, np.empty_like(nodes.old))),
        np.full(2 * nodes.slots.size, NO_NODE, np.int32),
    )
    for node in range(nodes.used[0]):
        larger.slots[_slot_of(larger, nodes.old[node], nodes.states[node])] = node
    return larger
