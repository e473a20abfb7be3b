"""Groups of hypotheses and the spans that may come next: the cubes of a stack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined, inner_kernel
from toledo.search.beam.arrays import (
    MIX,
    NONE,
    Groups,
    Limits,
    Nodes,
    Scoring,
    same_group,
)
from toledo.search.beam.options import SentenceOptions
from toledo.search.distortion import ONE, WINDOW, leaves_gap, span_mask

MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2


@inner_kernel
def make_cubes(
    options: SentenceOptions,
    future: NDArray[np.float64],
    scoring: Scoring,
    limits: Limits,
    nodes: Nodes,
    ranked: NDArray[np.int32],
    first: int,
    end: int,
    cubes: NDArray[Any],
    count: int,
    first_cube: NDArray[np.int32],
    stack: int,
) -> tuple[int, int]:
    """Pair each group of a stack with the spans that may come next, as long as there is room for a group's cubes.

    Gives the number of cubes, and the first hypothesis of the next group.
    """
    reordering = scoring.reordering.shape[0] > 0
    while first < end and count + cubes_of_group(options) <= cubes.size:
        stop = first + 1
        while stop < end and same_group(nodes, ranked[first], ranked[stop], reordering):
            stop += 1
        count = _pair_with_spans(
            options, future, scoring, limits, nodes, ranked[first], first, stop, cubes, count, first_cube, stack
        )
        first = stop
    return count, first


@inner_kernel
def cubes_of_group(options: SentenceOptions) -> int:
    """No group has more cubes."""
    length, longest = options.first.shape
    return int(min(WINDOW, length) * longest)


@inlined
def _pair_with_spans(
    options: SentenceOptions,
    future: NDArray[np.float64],
    scoring: Scoring,
    limits: Limits,
    nodes: Nodes,
    leader: int,
    first: int,
    stop: int,
    cubes: NDArray[Any],
    count: int,
    first_cube: NDArray[np.int32],
    stack: int,
) -> int:
    length, longest = options.first.shape
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
            cubes[count]["orientation"] = (
                MONOTONE if b == last else SWAP if e == nodes.records[leader]["begin"] else DISCONTINUOUS
            )
            cubes[count]["added"] = -scoring.distortion_weight * abs(b - last)
            cubes[count]["future"] = _future_after(future, gap, mask, b, e)
            cubes[count]["following"] = first_cube[stack + e - b]
            first_cube[stack + e - b] = count
            count += 1
    return int(count)


@inner_kernel
def rank_by_group(
    nodes: Nodes, ranked: NDArray[np.int32], begin: int, end: int, groups: Groups, reordering: bool
) -> None:
    """Nodes of one group side by side, best first; they come nearly in order, so insertion is quick."""
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
    """What the words still to translate can score once the span from b up to e is done."""
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
