"""Arrays of beam search: hypotheses in groups, and the cubes of groups and spans that may come next."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import ENTRY, grown
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.search.options import NONE, ONE, WINDOW, Scoring, SentenceOptions, leaves_gap, orientation_of, span_mask

MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


class BeamLimits(NamedTuple):
    """Pops per stack, and the longest jump."""

    pops: int
    distortion: int


NODE = np.dtype(
    [
        ("mask", np.uint64),  # with `gap`: the words translated
        ("score", np.float64),
        ("rival", np.float64),  # the best score of its other edges
        ("gap", np.int32),
        ("begin", np.int32),  # of the last span
        ("end", np.int32),
        ("option", np.int32),  # the last one
        ("best_edge", np.int32),
    ],
    align=True,
)
CUBE = np.dtype(
    [
        ("added", np.float64),  # to each cell
        ("future", np.float64),
        ("first", np.int32),  # of its group, the hypotheses `ranked[first:stop]`
        ("stop", np.int32),
        ("option_first", np.int32),
        ("option_stop", np.int32),
        ("orientation", np.int32),
        ("following", np.int32),  # the next cube of the stack
    ],
    align=True,
)
CELL = np.dtype(
    [
        ("score", np.float64),
        ("cube", np.int32),
        ("row", np.int32),  # the hypothesis is `ranked[row]`
        ("option", np.int32),
        ("known", np.int32),  # whether its score and its model scores are computed
    ],
    align=True,
)


class Nodes(NamedTuple):
    """Hypotheses; what a step reads of one lies side by side."""

    records: NDArray[Any]  # NODE
    states: NDArray[np.int32]


class EdgeArrays(NamedTuple):
    """Steps from `tails` to `heads` by an option; `model_scores` are natural logs of each language model."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    options: NDArray[np.int32]
    model_scores: NDArray[np.float32]


class Queue(NamedTuple):
    """Cells that wait; `heap` gives the best first, by its score if that is known, else by its expected score."""

    cells: NDArray[Any]  # CELL
    model_scores: NDArray[np.float32]
    states: NDArray[np.int32]
    heap: NDArray[Any]  # ENTRY


class StackGroups(NamedTuple):
    """Room for sorting the hypotheses of a stack into groups."""

    table: NDArray[np.int32]
    counts: NDArray[np.int32]
    starts: NDArray[np.int32]
    group: NDArray[np.int32]
    leaders: NDArray[np.int32]


class SearchLattice(NamedTuple):
    """The result: edges in the order of their making; the last node is the goal, its edges end the sentence.

    `margin` is how much worse the second best derivation scores.
    """

    nodes: int
    edges: EdgeArrays
    best_edge: NDArray[np.int32]
    node_option: NDArray[np.int32]
    score: float
    margin: float


@kernel
def room_for_edges(size: int, models: int) -> EdgeArrays:
    """Return room for steps."""
    return EdgeArrays(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty((size, models), np.float32),
    )  # fmt: skip


@kernel
def room_for_queue(size: int, models: int) -> Queue:
    """Return a queue with room for `size` cells in all, including those taken."""
    model_scores, states = np.empty((size, models), np.float32), np.empty((size, models), np.int32)
    return Queue(np.empty(size, CELL), model_scores, states, np.empty(size, ENTRY))


@kernel
def nodes_with_room(nodes: Nodes, needed: int) -> Nodes:
    """Return the hypotheses with room for `needed` in all."""
    if needed <= nodes.records.size:
        return nodes
    return Nodes(grown(nodes.records, needed), grown(nodes.states, needed))


@kernel
def edges_with_room(edges: EdgeArrays, needed: int) -> EdgeArrays:
    """Return the steps with room for `needed` in all."""
    if needed <= edges.heads.size:
        return edges
    return EdgeArrays(
        grown(edges.heads, needed), grown(edges.tails, needed), grown(edges.options, needed),
        grown(edges.model_scores, needed),
    )  # fmt: skip


@inlined
def same_group(nodes: Nodes, i: int, j: int, reordering: bool) -> bool:
    """Return whether the same spans may follow two hypotheses, at the same cost."""
    return bool(
        nodes.records[i]["end"] == nodes.records[j]["end"]
        and nodes.records[i]["mask"] == nodes.records[j]["mask"]
        and nodes.records[i]["gap"] == nodes.records[j]["gap"]
        and (not reordering or nodes.records[i]["begin"] == nodes.records[j]["begin"])
    )


@inner_kernel
def make_cubes(
    options: SentenceOptions,
    future: NDArray[np.float64],
    scoring: Scoring,
    limits: BeamLimits,
    nodes: Nodes,
    ranked: NDArray[np.int32],
    first: int,
    end: int,
    cubes: NDArray[Any],
    count: int,
    first_cube: NDArray[np.int32],
    stack: int,
) -> tuple[int, int]:
    """Pair each group of a stack with the spans that may come next, while there is room for a group's cubes.

    Return the number of cubes, and the first hypothesis of the next group.
    """
    length, longest = options.first.shape
    reordering = scoring.reordering.shape[0] > 0
    while first < end and count + cubes_of_group(options) <= cubes.size:
        leader, stop = ranked[first], first + 1
        while stop < end and same_group(nodes, leader, ranked[stop], reordering):
            stop += 1
        gap, mask, last = nodes.records[leader]["gap"], nodes.records[leader]["mask"], nodes.records[leader]["end"]
        for b in range(max(gap, last - limits.distortion), min(length, last + limits.distortion + 1, gap + WINDOW)):
            if (mask >> np.uint64(b - gap)) & ONE:
                continue
            for e in range(b + 1, min(b + longest, length, gap + WINDOW) + 1):
                if (mask >> np.uint64(e - 1 - gap)) & ONE:
                    break
                if leaves_gap(gap, b, e, limits.distortion):
                    break
                if options.stop[b, e - b - 1] == options.first[b, e - b - 1]:
                    continue
                cubes[count]["first"], cubes[count]["stop"] = first, stop
                cubes[count]["option_first"] = options.first[b, e - b - 1]
                cubes[count]["option_stop"] = options.stop[b, e - b - 1]
                cubes[count]["orientation"] = orientation_of(b, e, nodes.records[leader]["begin"], last)
                cubes[count]["added"] = -scoring.distortion_weight * abs(b - last)
                cubes[count]["future"] = _future_after(future, gap, mask, b, e)
                cubes[count]["following"] = first_cube[stack + e - b]
                first_cube[stack + e - b] = count
                count += 1
        first = stop
    return int(count), first


@inner_kernel
def cubes_of_group(options: SentenceOptions) -> int:
    """Return the largest number of cubes of a group."""
    length, longest = options.first.shape
    return int(min(WINDOW, length) * longest)


@inner_kernel
def rank_by_group(
    nodes: Nodes, ranked: NDArray[np.int32], begin: int, end: int, groups: StackGroups, reordering: bool
) -> None:
    """Put nodes of a group side by side, best first; they are nearly in order, so insertion is quick."""
    table, counts, starts, group, leaders = groups
    table[:] = NONE
    counts[: end - begin + 1] = 0
    used = 0
    for v in range(begin, end):
        slot = _group_hash(nodes, v) & (table.size - 1)
        while table[slot] != NONE and not same_group(nodes, leaders[table[slot]], v, reordering):
            slot = (slot + 1) & (table.size - 1)
        if table[slot] == NONE:
            table[slot] = used
            leaders[used] = v
            used += 1
        group[v - begin] = table[slot]
        counts[table[slot] + 1] += 1
    for g in range(used):
        starts[g] = counts[g]
        counts[g + 1] += counts[g]
    for v in range(begin, end):
        g = group[v - begin]
        place = begin + counts[g]
        counts[g] += 1
        while place > begin + starts[g] and nodes.records[ranked[place - 1]]["score"] < nodes.records[v]["score"]:
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = v


@inlined
def _group_hash(nodes: Nodes, v: int) -> int:
    mixed = (
        nodes.records[v]["mask"]
        ^ (np.uint64(nodes.records[v]["gap"]) << np.uint64(40))
        ^ (np.uint64(nodes.records[v]["end"]) << np.uint64(52))
    )
    return int(np.int64((mixed * MIX) >> np.uint64(33)))


@inner_kernel
def _future_after(future: NDArray[np.float64], gap: int, mask: np.uint64, b: int, e: int) -> float:
    """Return an estimate for the words that remain after the span from b up to e."""
    mask |= span_mask(gap, b, e)
    total, position = 0.0, gap
    while mask:
        zeros = 0
        while not (mask & ONE):
            mask >>= ONE
            zeros += 1
        if zeros:
            total += future[position, zeros]
            position += zeros
        while mask & ONE:
            mask >>= ONE
            position += 1
    return float(total + future[position, future.shape[1] - 1])
