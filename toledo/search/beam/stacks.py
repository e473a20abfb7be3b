"""Stack decoding with cube pruning (Koehn 2004; Huang and Chiang 2007; Hoang et al. 2016).

A hypothesis has translated some words of the source. Stack k holds those with k words. Hypotheses of a stack with the
same words translated and the same last position form a group, best first; a group and a span that may come next form a
*cube*: hypotheses times options. The best cells of all cubes that lead to a stack are taken in order of their score, up
to the pop limit. Hypotheses that no future word can tell apart are one node, and every way to reach it stays as an
edge: the result is a lattice.

A cell waits in the queue with what it can be expected to score, from the estimates of its option; the language model is
asked only when the cell comes up, and the cell waits again if it then scores less than the next one.

Words translated are kept as the first gap and a mask of the 63 positions after it. The distortion rule is that of
Moses: no jump is longer than the limit, and from the end of a span the first gap can be reached within one jump.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined, kernel
from toledo.language_model.automaton import Automaton, advance, begin_state
from toledo.search.beam.options import LN10, SentenceOptions
from toledo.vocabulary import END

NONE = -1
WINDOW = 63
ONE = np.uint64(1)
MIX = np.uint64(0x9E37_79B9_7F4A_7C15)
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2


class Limits(NamedTuple):
    """Pops per stack, and the longest jump."""

    pops: int
    distortion: int


class Scoring(NamedTuple):
    """What else a step scores: jumps, language models, and reordering by pair if there is a reordering model.

    `reordering[pair, 3 * side + orientation]` is weighted; side 0 looks at the previous phrase, 1 at the following one.
    """

    models: tuple[Automaton, ...]
    model_weights: NDArray[np.float64]
    distortion_weight: float
    reordering: NDArray[np.float32]


class Nodes(NamedTuple):
    """Hypotheses. `gap` and `mask`: words translated; `begin`, `end`: the last span; `option`: the last option."""

    gap: NDArray[np.int32]
    mask: NDArray[np.uint64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    option: NDArray[np.int32]
    states: NDArray[np.int32]
    score: NDArray[np.float64]
    best_edge: NDArray[np.int32]


class EdgeArrays(NamedTuple):
    """Steps from `tails` to `heads` by an option; `model_scores` are natural logs of each language model."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    options: NDArray[np.int32]
    model_scores: NDArray[np.float32]


class Cubes(NamedTuple):
    """A group (hypotheses `ranked[first:stop]`), a span's options, what each cell adds, the next cube of the stack."""

    first: NDArray[np.int32]
    stop: NDArray[np.int32]
    option_first: NDArray[np.int32]
    option_stop: NDArray[np.int32]
    orientation: NDArray[np.int32]
    added: NDArray[np.float64]
    future: NDArray[np.float64]
    following: NDArray[np.int32]


class Cells(NamedTuple):
    """Entries of the queue: a hypothesis and an option of a cube, with the score and what the models say."""

    cube: NDArray[np.int32]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    score: NDArray[np.float64]
    model_scores: NDArray[np.float32]
    states: NDArray[np.int32]


class Lattice(NamedTuple):
    """The result: edges in the order of their making; the last node is the goal, its edges end the sentence."""

    nodes: int
    edges: EdgeArrays
    best_edge: NDArray[np.int32]
    node_end: NDArray[np.int32]
    node_begin: NDArray[np.int32]
    node_option: NDArray[np.int32]
    score: float


@kernel
def _grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """The array with room for `needed` entries."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def search_sentence(options: SentenceOptions, future: NDArray[np.float64], scoring: Scoring, limits: Limits) -> Lattice:
    """Fill the stacks one after the other."""
    length = options.first.shape[0]
    models = len(scoring.models)
    room = 2 + min(limits.pops, 256) * max(length, 1)
    nodes = Nodes(
        np.empty(room, np.int32), np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(room, np.int32), np.empty((room, models), np.int32), np.empty(room), np.empty(room, np.int32),
    )  # fmt: skip
    edges = EdgeArrays(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty((room, models), np.float32),
    )
    ranked = np.empty(room, np.int32)
    cubes = _room_for_cubes(256)
    first_cube, cube_count = np.full(length + 1, NONE, np.int32), 0
    slots = np.full(_power_of_two(4 * limits.pops + 4), NONE, np.int32)
    nodes.gap[0], nodes.mask[0], nodes.begin[0], nodes.end[0], nodes.option[0] = 0, np.uint64(0), 0, 0, NONE
    nodes.score[0], nodes.best_edge[0] = 0.0, NONE
    for m in range(models):
        nodes.states[0, m] = begin_state(scoring.models[m])
    node_count, edge_count, begin = 1, 0, 0
    for k in range(length + 1):
        if k:
            begin = node_count
            nodes, edges = (
                _nodes_with_room(nodes, node_count + limits.pops),
                _edges_with_room(edges, edge_count + limits.pops),
            )
            ranked = _grown(ranked, node_count + limits.pops)
            slots[:] = NONE
            node_count, edge_count = _fill_stack(
                options,
                scoring,
                limits,
                cubes,
                first_cube[k],
                nodes,
                edges,
                ranked,
                node_count,
                edge_count,
                slots,
            )
        if k < length:
            cubes, cube_count = _make_cubes(
                options, future, scoring, limits, nodes, ranked, begin, node_count, cubes, cube_count, first_cube, k
            )
    return _finish(nodes, edges, scoring, begin, node_count, edge_count)


@kernel
def _power_of_two(least: int) -> int:
    size = 1
    while size < least:
        size *= 2
    return size


@kernel
def _room_for_cubes(size: int) -> Cubes:
    return Cubes(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty(size, np.int32), np.empty(size), np.empty(size), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def _cubes_with_room(cubes: Cubes, needed: int) -> Cubes:
    if needed <= cubes.first.size:
        return cubes
    return Cubes(
        _grown(cubes.first, needed), _grown(cubes.stop, needed), _grown(cubes.option_first, needed),
        _grown(cubes.option_stop, needed), _grown(cubes.orientation, needed), _grown(cubes.added, needed),
        _grown(cubes.future, needed), _grown(cubes.following, needed),
    )  # fmt: skip


@kernel
def _nodes_with_room(nodes: Nodes, needed: int) -> Nodes:
    if needed <= nodes.gap.size:
        return nodes
    return Nodes(
        _grown(nodes.gap, needed), _grown(nodes.mask, needed), _grown(nodes.begin, needed), _grown(nodes.end, needed),
        _grown(nodes.option, needed), _grown(nodes.states, needed), _grown(nodes.score, needed),
        _grown(nodes.best_edge, needed),
    )  # fmt: skip


@kernel
def _edges_with_room(edges: EdgeArrays, needed: int) -> EdgeArrays:
    if needed <= edges.heads.size:
        return edges
    return EdgeArrays(
        _grown(edges.heads, needed), _grown(edges.tails, needed), _grown(edges.options, needed),
        _grown(edges.model_scores, needed),
    )  # fmt: skip


@inlined
def _same_group(nodes: Nodes, i: int, j: int, reordering: bool) -> bool:
    return bool(
        nodes.end[i] == nodes.end[j]
        and nodes.mask[i] == nodes.mask[j]
        and nodes.gap[i] == nodes.gap[j]
        and (not reordering or nodes.begin[i] == nodes.begin[j])
    )


@kernel
def _make_cubes(
    options: SentenceOptions,
    future: NDArray[np.float64],
    scoring: Scoring,
    limits: Limits,
    nodes: Nodes,
    ranked: NDArray[np.int32],
    begin: int,
    end: int,
    cubes: Cubes,
    count: int,
    first_cube: NDArray[np.int32],
    stack: int,
) -> tuple[Cubes, int]:
    """Group the hypotheses of a stack and pair each group with the spans that may come next."""
    reordering = scoring.reordering.shape[0] > 0
    length, longest = options.first.shape
    _rank_by_group(nodes, ranked, begin, end, reordering)
    first = begin
    while first < end:
        stop = first + 1
        leader = ranked[first]
        while stop < end and _same_group(nodes, leader, ranked[stop], reordering):
            stop += 1
        gap, mask, last = nodes.gap[leader], nodes.mask[leader], nodes.end[leader]
        for b in range(max(gap, last - limits.distortion), min(length, last + limits.distortion + 1, gap + WINDOW)):
            if (mask >> np.uint64(b - gap)) & ONE:
                continue
            for e in range(b + 1, min(b + longest, length, gap + WINDOW) + 1):
                if (mask >> np.uint64(e - 1 - gap)) & ONE:
                    break
                if b > gap and e - gap > limits.distortion:
                    break
                if options.stop[b, e - b - 1] == options.first[b, e - b - 1]:
                    continue
                cubes = _cubes_with_room(cubes, count + 1)
                cubes.first[count], cubes.stop[count] = first, stop
                cubes.option_first[count], cubes.option_stop[count] = (
                    options.first[b, e - b - 1],
                    options.stop[b, e - b - 1],
                )
                orientation = DISCONTINUOUS
                if b == last:
                    orientation = MONOTONE
                elif e == nodes.begin[leader]:
                    orientation = SWAP
                cubes.orientation[count] = orientation
                cubes.added[count] = -scoring.distortion_weight * abs(b - last)
                cubes.future[count] = _future_after(future, gap, mask, b, e, length)
                cubes.following[count] = first_cube[stack + e - b]
                first_cube[stack + e - b] = count
                count += 1
        first = stop
    return cubes, count


@kernel
def _rank_by_group(nodes: Nodes, ranked: NDArray[np.int32], begin: int, end: int, reordering: bool) -> None:
    """Nodes of one group side by side, best first; they come nearly in order, so insertion is quick."""
    size = _power_of_two(2 * (end - begin) + 2)
    table, counts = np.full(size, NONE, np.int32), np.zeros(end - begin + 1, np.int32)
    group = np.empty(end - begin, np.int32)
    leaders, groups = np.empty(end - begin, np.int32), 0
    for v in range(begin, end):
        mixed = (
            nodes.mask[v] ^ (np.uint64(nodes.gap[v]) << np.uint64(40)) ^ (np.uint64(nodes.end[v]) << np.uint64(52))
        ) * MIX
        slot = np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))
        while table[slot] != NONE and not _same_group(nodes, leaders[table[slot]], v, reordering):
            slot = (slot + 1) & (size - 1)
        if table[slot] == NONE:
            table[slot] = groups
            leaders[groups] = v
            groups += 1
        group[v - begin] = table[slot]
        counts[table[slot] + 1] += 1
    for g in range(groups):
        counts[g + 1] += counts[g]
    starts = counts.copy()
    for v in range(begin, end):
        g = group[v - begin]
        place = begin + counts[g]
        counts[g] += 1
        while place > begin + starts[g] and nodes.score[ranked[place - 1]] < nodes.score[v]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = v


@kernel
def _future_after(future: NDArray[np.float64], gap: int, mask: np.uint64, b: int, e: int, length: int) -> float:
    """What the words still to translate can score once the span from b up to e is done."""
    mask |= ((ONE << np.uint64(e - b)) - ONE) << np.uint64(b - gap)
    total, position = 0.0, gap
    while mask:
        zeros = 0
        while not (mask & ONE):
            mask >>= ONE
            zeros += 1
        if zeros:
            total += future[position, position + zeros]
            position += zeros
        while mask & ONE:
            mask >>= ONE
            position += 1
    return total + (future[position, length] if position < length else 0.0)


@kernel
def _fill_stack(
    options: SentenceOptions,
    scoring: Scoring,
    limits: Limits,
    cubes: Cubes,
    first_cube: int,
    nodes: Nodes,
    edges: EdgeArrays,
    ranked: NDArray[np.int32],
    node_count: int,
    edge_count: int,
    slots: NDArray[np.int32],
) -> tuple[int, int]:
    """Take the best cells of all cubes that lead to a stack."""
    number, cube = 0, first_cube
    while cube != NONE:
        number += 1
        cube = cubes.following[cube]
    models = len(scoring.models)
    room = number + 2 * limits.pops + 2
    cells = Cells(
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room),
        np.empty((room, models), np.float32), np.empty((room, models), np.int32),
    )  # fmt: skip
    known = np.zeros(room, np.bool_)
    keys, heap, size = np.empty(room), np.empty(room, np.int32), 0
    cell, cube = 0, first_cube
    while cube != NONE:
        size = _offer(options, cubes, nodes, ranked, cells, cell, cube, 0, 0, keys, heap, size)
        cell += 1
        cube = cubes.following[cube]
    taken = 0
    while size and taken < limits.pops:
        best = heap[0]
        size = _pop(keys, heap, size)
        if not known[best]:
            _evaluate(options, scoring, cubes, nodes, ranked, cells, best)
            known[best] = True
            value = cells.score[best] + cubes.future[cells.cube[best]]
            if size and value < keys[0]:
                size = _push(keys, heap, size, value, best)
                continue
        taken += 1
        cube, row, column = cells.cube[best], cells.row[best], cells.column[best]
        node_count = _add_step(
            options, scoring, cubes, nodes, edges, ranked, cells, best, node_count, edge_count, slots
        )
        edge_count += 1
        if cubes.option_first[cube] + column + 1 < cubes.option_stop[cube]:
            size = _offer(
                options,
                cubes,
                nodes,
                ranked,
                cells,
                cell,
                cube,
                row,
                column + 1,
                keys,
                heap,
                size,
            )
            cell += 1
        if column == 0 and cubes.first[cube] + row + 1 < cubes.stop[cube]:
            size = _offer(options, cubes, nodes, ranked, cells, cell, cube, row + 1, 0, keys, heap, size)
            cell += 1
    return node_count, edge_count


@inlined
def _offer(
    options: SentenceOptions,
    cubes: Cubes,
    nodes: Nodes,
    ranked: NDArray[np.int32],
    cells: Cells,
    cell: int,
    cube: int,
    row: int,
    column: int,
    keys: NDArray[np.float64],
    heap: NDArray[np.int32],
    size: int,
) -> int:
    """Put a cell into the queue by what it can be expected to score."""
    cells.cube[cell], cells.row[cell], cells.column[cell] = cube, row, column
    node, option = ranked[cubes.first[cube] + row], cubes.option_first[cube] + column
    value = nodes.score[node] + options.estimate[option] + cubes.added[cube] + cubes.future[cube]
    return _push(keys, heap, size, value, cell)


@inlined
def _evaluate(
    options: SentenceOptions,
    scoring: Scoring,
    cubes: Cubes,
    nodes: Nodes,
    ranked: NDArray[np.int32],
    cells: Cells,
    cell: int,
) -> None:
    """Score a cell in full."""
    cube = cells.cube[cell]
    node, option = ranked[cubes.first[cube] + cells.row[cell]], cubes.option_first[cube] + cells.column[cell]
    score = nodes.score[node] + options.static[option] + cubes.added[cube]
    begin = options.word_begin[option]
    for m in range(len(scoring.models)):
        state, total = int(nodes.states[node, m]), 0.0
        for i in range(begin, begin + options.lengths[option]):
            step, state = advance(scoring.models[m], state, options.words[i])
            total += step
        cells.model_scores[cell, m], cells.states[cell, m] = total * LN10, state
        score += scoring.model_weights[m] * total * LN10
    if scoring.reordering.shape[0]:
        orientation = cubes.orientation[cube]
        if options.pairs[option] >= 0:
            score += scoring.reordering[options.pairs[option], orientation]
        if nodes.option[node] != NONE and options.pairs[nodes.option[node]] >= 0:
            score += scoring.reordering[options.pairs[nodes.option[node]], 3 + orientation]
    cells.score[cell] = score


@inlined
def _add_step(
    options: SentenceOptions,
    scoring: Scoring,
    cubes: Cubes,
    nodes: Nodes,
    edges: EdgeArrays,
    ranked: NDArray[np.int32],
    cells: Cells,
    cell: int,
    node_count: int,
    edge: int,
    slots: NDArray[np.int32],
) -> int:
    """Record a step, and its hypothesis unless an equal one is there; gives the number of hypotheses."""
    cube = cells.cube[cell]
    tail, option = ranked[cubes.first[cube] + cells.row[cell]], cubes.option_first[cube] + cells.column[cell]
    b, e, gap = options.begin[option], options.end[option], nodes.gap[tail]
    mask = nodes.mask[tail] | (((ONE << np.uint64(e - b)) - ONE) << np.uint64(b - gap))
    while mask & ONE:
        mask >>= ONE
        gap += 1
    new = node_count  # written as a new node; counted only if no equal one is found
    nodes.gap[new], nodes.mask[new], nodes.begin[new], nodes.end[new], nodes.option[new] = gap, mask, b, e, option
    for m in range(nodes.states.shape[1]):
        nodes.states[new, m] = cells.states[cell, m]
    slot = _slot_of(nodes, new, slots, scoring.reordering.shape[0] > 0)
    head = slots[slot]
    if head == NONE:
        head = new
        slots[slot] = head
        nodes.score[head], nodes.best_edge[head] = cells.score[cell], edge
        node_count += 1
    elif cells.score[cell] > nodes.score[head]:
        nodes.score[head], nodes.best_edge[head] = cells.score[cell], edge
    edges.heads[edge], edges.tails[edge], edges.options[edge] = head, tail, option
    for m in range(nodes.states.shape[1]):
        edges.model_scores[edge, m] = cells.model_scores[cell, m]
    return node_count


@inlined
def _slot_of(nodes: Nodes, v: int, slots: NDArray[np.int32], reordering: bool) -> int:
    """The slot of the node equal to v, or the empty one where v goes."""
    mixed = nodes.mask[v] ^ (np.uint64(nodes.gap[v]) << np.uint64(40)) ^ (np.uint64(nodes.end[v]) << np.uint64(52))
    for m in range(nodes.states.shape[1]):
        mixed = (mixed ^ np.uint64(nodes.states[v, m])) * MIX
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64((mixed * MIX) >> np.uint64(32)) & (slots.size - 1)
    while slots[slot] != NONE and not _equal(nodes, slots[slot], v, reordering):
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)


@inlined
def _equal(nodes: Nodes, i: int, j: int, reordering: bool) -> bool:
    """Whether no future step can tell two hypotheses apart."""
    for m in range(nodes.states.shape[1]):
        if nodes.states[i, m] != nodes.states[j, m]:
            return False
    return _same_group(nodes, i, j, reordering) and (not reordering or nodes.option[i] == nodes.option[j])


@kernel
def _finish(nodes: Nodes, edges: EdgeArrays, scoring: Scoring, begin: int, node_count: int, edge_count: int) -> Lattice:
    """End every complete hypothesis."""
    edges = _edges_with_room(edges, edge_count + node_count - begin)
    nodes = _nodes_with_room(nodes, node_count + 1)
    goal = node_count
    nodes.score[goal], nodes.best_edge[goal], nodes.option[goal] = -math.inf, NONE, NONE
    nodes.begin[goal], nodes.end[goal] = 0, 0
    for v in range(begin, node_count):
        score = nodes.score[v]
        for m in range(len(scoring.models)):
            step = advance(scoring.models[m], int(nodes.states[v, m]), END)[0] * LN10
            edges.model_scores[edge_count, m] = step
            score += scoring.model_weights[m] * step
        edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = goal, v, NONE
        if score > nodes.score[goal]:
            nodes.score[goal], nodes.best_edge[goal] = score, edge_count
        edge_count += 1
    kept = EdgeArrays(
        edges.heads[:edge_count], edges.tails[:edge_count], edges.options[:edge_count], edges.model_scores[:edge_count]
    )
    return Lattice(
        goal + 1, kept, nodes.best_edge[: goal + 1], nodes.end[: goal + 1], nodes.begin[: goal + 1],
        nodes.option[: goal + 1], nodes.score[goal],
    )  # fmt: skip


@inlined
def _push(keys: NDArray[np.float64], heap: NDArray[np.int32], size: int, key: float, cell: int) -> int:
    """Add to a heap, best first; there must be room."""
    place = size
    while place > 0 and keys[(place - 1) // 2] < key:
        keys[place], heap[place] = keys[(place - 1) // 2], heap[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], heap[place] = key, cell
    return size + 1


@inlined
def _pop(keys: NDArray[np.float64], heap: NDArray[np.int32], size: int) -> int:
    """Remove the first entry; gives the new size."""
    size -= 1
    key, cell = keys[size], heap[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[place], heap[place] = keys[child], heap[child]
        place = child
    keys[place], heap[place] = key, cell
    return size
