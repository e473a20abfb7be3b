"""Groups of hypotheses and the spans that may come next: the cubes of a stack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.search.beam.arrays import (
    MIX,
    NONE,
    Cubes,
    Limits,
    Nodes,
    Scoring,
    cubes_with_room,
    power_of_two,
    same_group,
)
from toledo.search.beam.options import SentenceOptions

WINDOW = 63
ONE = np.uint64(1)
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2


@kernel
def make_cubes(
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
        while stop < end and same_group(nodes, leader, ranked[stop], reordering):
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
                cubes = cubes_with_room(cubes, count + 1)
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
    size = power_of_two(2 * (end - begin) + 2)
    table, counts = np.full(size, NONE, np.int32), np.zeros(end - begin + 1, np.int32)
    group = np.empty(end - begin, np.int32)
    leaders, groups = np.empty(end - begin, np.int32), 0
    for v in range(begin, end):
        mixed = (
            nodes.mask[v] ^ (np.uint64(nodes.gap[v]) << np.uint64(40)) ^ (np.uint64(nodes.end[v]) << np.uint64(52))
        ) * MIX
        slot = np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))
        while table[slot] != NONE and not same_group(nodes, leaders[table[slot]], v, reordering):
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
