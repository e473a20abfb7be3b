"""Envelopes as rows of pieces: sums of them, and the larger of two, in one walk along γ and without sorting.

An envelope is a convex function of γ, and its pieces are lines of rising slope. An edge's envelope is the sum of those
of its tails: for one tail the same pieces, moved. A node's is the largest of those of its edges, which are taken in
turn. Between two neighbouring breakpoints both functions are lines, so the one that leads loses the lead only if it is
below at the second of them; and only then is the crossing computed. Most edges never lead, and cost a comparison for
each piece.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Scores, Shape
from toledo.kernels import inner_kernel, kernel

USED, PIECES, PLACES = range(3)  # what `fill_nodes` counts


class Pieces(NamedTuple):
    """Lines intercept + γ · slope, each from its start to the next one's; the edge it comes from, and what is below.

    Below an edge with one tail is a piece of this tail's. With several it is a place in an array of such pieces.
    """

    starts: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]
    edges: NDArray[np.int32]
    below: NDArray[np.int64]


@kernel
def room_for_pieces(size: int) -> Pieces:
    """Pieces not yet made."""
    return Pieces(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32), np.empty(size, np.int64))


@kernel
def pieces_with_room(pieces: Pieces, needed: int) -> Pieces:
    """The same pieces with room for `needed` in all."""
    size = pieces.edges.size
    if needed <= size:
        return pieces
    longer = room_for_pieces(max(2 * size, needed))
    _copy_pieces(pieces, 0, size, longer, 0)
    return longer


@inner_kernel
def _copy_pieces(pieces: Pieces, begin: int, end: int, target: Pieces, place: int) -> None:
    """Copy the pieces `begin:end` to a place of other ones."""
    for i in range(begin, end):
        _copy_piece(pieces, i, target, place + i - begin)


@inner_kernel
def _copy_piece(pieces: Pieces, i: int, target: Pieces, place: int) -> None:
    """Copy one piece."""
    target.starts[place], target.intercepts[place], target.slopes[place] = (
        pieces.starts[i],
        pieces.intercepts[i],
        pieces.slopes[i],
    )
    target.edges[place], target.below[place] = pieces.edges[i], pieces.below[i]


@inner_kernel
def fill_nodes(
    shape: Shape,
    intercepts: Scores,
    slopes: Scores,
    first: int,
    begins: NDArray[np.int64],
    v: int,
    kept: Pieces,
    work: Pieces,
    below: NDArray[np.int64],
    counts: NDArray[np.int64],
    current: NDArray[np.int64],
) -> int:
    """Write the envelopes of a sentence's nodes from v on, as far as there is room; gives the next one.

    Node `first + v` gets the pieces `kept[begins[v]:begins[v + 1]]`. `counts` has the places used in `below`, and the
    room for pieces and places that the next node needs. `current` has room for the tails of any edge.
    """
    while v + 1 < begins.size:
        begin, end, size = shape.head_edges[first + v], shape.head_edges[first + v + 1], 0
        _count_room(shape, first, begins, begin, end, counts)
        place, pieces = begins[v], counts[PIECES]
        if place + pieces > kept.edges.size or pieces > work.edges.size or counts[USED] + counts[PLACES] > below.size:
            return v
        for h in range(begin, end):
            if intercepts[h] == -math.inf or _most_pieces(shape, first, begins, h) == 0:
                continue
            line = intercepts[h], slopes[h]
            if size:
                count = _write_edge(shape, first, begins, kept, h, line, work, 0, below, counts, current)
                size = _merge(kept, place, size, work, count)
            else:
                size = _write_edge(shape, first, begins, kept, h, line, kept, place, below, counts, current)
        v += 1
        begins[v] = place + size
    return v


@inner_kernel
def _count_room(
    shape: Shape, first: int, begins: NDArray[np.int64], begin: int, end: int, counts: NDArray[np.int64]
) -> None:
    """How many pieces the edges `begin:end` can have in all, and how many places below these."""
    counts[PIECES] = counts[PLACES] = 0
    for h in range(begin, end):
        pieces, arity = _most_pieces(shape, first, begins, h), shape.tail_offsets[h + 1] - shape.tail_offsets[h]
        counts[PIECES] += pieces
        counts[PLACES] += pieces * arity if arity > 1 else 0


@inner_kernel
def _most_pieces(shape: Shape, first: int, begins: NDArray[np.int64], h: int) -> int:
    """How many pieces the sum over the tails of an edge can have; none if a tail has none."""
    total = 1
    for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
        v = shape.tails[t] - first
        own = begins[v + 1] - begins[v]
        if own == 0:
            return 0
        total += own - 1
    return total


@inner_kernel
def _write_edge(
    shape: Shape,
    first: int,
    begins: NDArray[np.int64],
    kept: Pieces,
    h: int,
    line: tuple[float, float],
    target: Pieces,
    place: int,
    below: NDArray[np.int64],
    counts: NDArray[np.int64],
    current: NDArray[np.int64],
) -> int:
    """The envelope of an edge: those of its tails and its own line, added; gives the number of pieces."""
    tail, arity = shape.tail_offsets[h], shape.tail_offsets[h + 1] - shape.tail_offsets[h]
    if arity != 1:
        pieces = _add_tails(shape, first, begins, kept, h, line, target, place, below, counts[USED], current)
        counts[USED] += pieces * arity
        return pieces
    begin, end = begins[shape.tails[tail] - first], begins[shape.tails[tail] - first + 1]
    for i in range(begin, end):
        k = place + i - begin
        target.starts[k] = kept.starts[i]
        target.intercepts[k], target.slopes[k] = kept.intercepts[i] + line[0], kept.slopes[i] + line[1]
        target.edges[k], target.below[k] = h, i
    return int(end - begin)


@inner_kernel
def _add_tails(
    shape: Shape,
    first: int,
    begins: NDArray[np.int64],
    kept: Pieces,
    h: int,
    line: tuple[float, float],
    target: Pieces,
    place: int,
    below: NDArray[np.int64],
    used: int,
    current: NDArray[np.int64],
) -> int:
    """The same for any number of tails: at a breakpoint its tail moves on to the next piece.

    `below` gets the pieces of the tails, from `used` on; `current` are those at which the walk is.
    """
    begin, arity = shape.tail_offsets[h], shape.tail_offsets[h + 1] - shape.tail_offsets[h]
    size, start = 0, -math.inf
    for i in range(arity):
        current[i] = begins[shape.tails[begin + i] - first]
    while True:
        total, rise, mover, nearest, k = line[0], line[1], -1, math.inf, place + size
        for i in range(arity):
            total += kept.intercepts[current[i]]
            rise += kept.slopes[current[i]]
            below[used + size * arity + i] = current[i]
            following = current[i] + 1
            if following < begins[shape.tails[begin + i] - first + 1] and kept.starts[following] < nearest:
                mover, nearest = i, kept.starts[following]
        target.starts[k], target.intercepts[k], target.slopes[k] = start, total, rise
        target.edges[k], target.below[k] = h, used + size * arity
        if mover < 0:
            return size + 1
        size += 1 if nearest > start else 0  # several tails may move on at once
        start = nearest
        current[mover] += 1


@inner_kernel
def _merge(kept: Pieces, begin: int, size: int, work: Pieces, count: int) -> int:
    """The larger of two envelopes, `kept[begin:begin + size]` and `work[:count]`, in the place of the former.

    Gives its number of pieces. Where both are equal, the former stays. `work` has room for all pieces of both.
    """
    i = j = 0  # the pieces at which the walk is
    slope, intercept = kept.slopes[begin], kept.intercepts[begin]
    other_slope, other_intercept = work.slopes[0], work.intercepts[0]
    leads = other_slope > slope or (other_slope == slope and other_intercept <= intercept)
    while leads:  # nothing changes as long as the former does
        gamma = kept.starts[begin + i + 1] if i + 1 < size else math.inf
        other_gamma = work.starts[j + 1] if j + 1 < count else math.inf
        nearest = min(gamma, other_gamma)
        if other_slope > slope and _overtakes(intercept, slope, other_intercept, other_slope, nearest):
            break
        if nearest == math.inf:
            return size
        if gamma == nearest:
            i += 1
            slope, intercept = kept.slopes[begin + i], kept.intercepts[begin + i]
        if other_gamma == nearest:
            j += 1
            other_slope, other_intercept = work.slopes[j], work.intercepts[j]
    _copy_pieces(kept, begin + i, begin + size, work, count)
    end = count + size - i
    if leads:
        return i + _write_larger(work, count, end, j, count, kept, begin + i)
    return _write_larger(work, 0, count, count, end, kept, begin)


@inner_kernel
def _overtakes(intercept: float, slope: float, other_intercept: float, other_slope: float, gamma: float) -> bool:
    """Whether a steeper line is above another one at a point or, if that is +∞, somewhere."""
    if gamma == math.inf:
        return (intercept - other_intercept) / (other_slope - slope) < math.inf
    return other_intercept - intercept + gamma * (other_slope - slope) > 0.0


@inner_kernel
def _write_larger(
    work: Pieces, lead: int, lead_end: int, rival: int, rival_end: int, target: Pieces, place: int
) -> int:
    """Merge the pieces `lead:lead_end`, which are larger at first, with `rival:rival_end`; gives the number of pieces.

    A line takes the lead only from one that is less steep. So slopes rise strictly, and each line comes once at most.
    Lines may differ so little that they cross beyond all numbers, at ±∞: then only one of them counts.
    """
    last = place
    _copy_piece(work, lead, target, last)
    while True:
        lead_moves = work.starts[lead + 1] if lead + 1 < lead_end else math.inf
        rival_moves = work.starts[rival + 1] if rival + 1 < rival_end else math.inf
        nearest, start = min(lead_moves, rival_moves), target.starts[last]
        slope, intercept = work.slopes[lead], work.intercepts[lead]
        other_slope, other_intercept = work.slopes[rival], work.intercepts[rival]
        if other_slope > slope and _overtakes(intercept, slope, other_intercept, other_slope, nearest):
            lead, lead_end, rival, rival_end = rival, rival_end, lead, lead_end
            moment = min((intercept - other_intercept) / (other_slope - slope), nearest)
        elif nearest == math.inf:
            return last + 1 - place
        else:
            rival += 1 if rival_moves == nearest else 0
            if lead_moves != nearest:
                continue
            lead += 1
            moment = nearest
        if moment > start:  # else the piece before has no width
            last, start = last + 1, moment
        _copy_piece(work, lead, target, last)
        target.starts[last] = start
