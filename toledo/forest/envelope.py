"""Which derivation is best at each point of a line through weight space.

Along w + γ d every derivation scores intercept + γ · slope (Och 2003). The maximum over derivations is convex and
piecewise linear in γ: an upper envelope. A node's envelope is that of the union over its edges; an edge's is the sum
of those of its tails, whose pieces are merged at their breakpoints (Macherey et al. 2008; Kumar et al. 2009). How
envelopes are added and merged stands in `toledo.forest.envelope`.

Envelopes as rows of pieces: sums of them, and the larger of two, in one walk along γ and without sorting.

An envelope is a convex function of γ, and its pieces are lines of rising slope. An edge's envelope is the sum of those
of its tails: for one tail the same pieces, moved. A node's is the largest of those of its edges, which are taken in
turn. Between two neighboring breakpoints both functions are lines, so the one that leads loses the lead only if it is
below at the second of them; and only then is the crossing computed. Most edges never lead, and cost a comparison for
each piece.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import grown
from toledo.compiled.kernels import inner_kernel, kernel
from toledo.forest.derivations import derivation_words
from toledo.forest.forest import Forest, Scores, Shape, Yields, check_scores

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
    """Return the same pieces with room for `needed` in all."""
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
    """Count how many pieces the edges `begin:end` can have in all, and how many places below these."""
    counts[PIECES] = counts[PLACES] = 0
    for h in range(begin, end):
        pieces, arity = _most_pieces(shape, first, begins, h), shape.tail_offsets[h + 1] - shape.tail_offsets[h]
        counts[PIECES] += pieces
        counts[PLACES] += pieces * arity if arity > 1 else 0


@inner_kernel
def _most_pieces(shape: Shape, first: int, begins: NDArray[np.int64], h: int) -> int:
    """Return how many pieces the sum over the tails of an edge can have; none if a tail has none."""
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
    """Add the envelopes of an edge's tails and its own line; return the number of pieces."""
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
    """Do the same for any number of tails: at a breakpoint its tail moves on to the next piece.

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
    """Return the larger of two envelopes, `kept[begin:begin + size]` and `work[:count]`, in the place of the former.

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
    """Return whether a steeper line is above another one at a point or, if that is +∞, somewhere."""
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


@dataclass(frozen=True)
class Envelope:
    """Derivation i is the best from `starts[i]` to `starts[i + 1]` (the first from −∞, the last to +∞).

    Its edges are `edges[offsets[i]:offsets[i + 1]]`, its score `intercepts[i] + γ · slopes[i]`.
    """

    starts: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.int64]
    edges: NDArray[np.int32]

    def __len__(self) -> int:
        return self.starts.size

    def at(self, gamma: float) -> int:
        """Return the number of the derivation that is best at a point."""
        return max(int(np.searchsorted(self.starts, gamma, side="right")) - 1, 0)

    def derivation(self, number: int) -> NDArray[np.int32]:
        """Return the edges of a derivation, top down and left to right."""
        return self.edges[self.offsets[number] : self.offsets[number + 1]]


def envelope(forest: Forest, intercepts: Scores, slopes: Scores) -> Envelope:
    """Return the envelope of all derivations of one segment, for edges that score intercept + γ · slope."""
    if len(forest) != 1:
        raise ValueError("an envelope is made for one segment at a time")
    check_scores(forest.shape, intercepts, "intercepts")
    check_scores(forest.shape, slopes, "slopes")
    if np.isneginf(slopes).any():
        raise ValueError("each edge needs a finite slope")
    return Envelope(*_envelope(forest.shape, intercepts, slopes))


class EnvelopeTexts(NamedTuple):
    """The derivations on the envelopes of some sentences as texts, sentence by sentence.

    Sentence i has the pieces `sentences[i]:sentences[i + 1]`; text k, `words[offsets[k]:offsets[k + 1]]`, is the best
    one from `starts[k]` on.
    """

    sentences: NDArray[np.int64]
    starts: NDArray[np.float64]
    offsets: NDArray[np.int64]
    words: NDArray[np.int32]


@kernel
def envelope_texts(
    shape: Shape, yields: Yields, intercepts: Scores, slopes: Scores, first: int, last: int
) -> EnvelopeTexts:
    """Return the envelopes of the sentences `first:last` as texts; scores are finite or (intercepts) −∞."""
    sentences = np.zeros(last - first + 1, np.int64)
    starts, offsets, words, size, used = np.empty(256), np.zeros(257, np.int64), np.empty(4096, np.int32), 0, 0
    room = EnvelopeArrays(room_for_pieces(1024), room_for_pieces(256), np.empty(256, np.int64))
    for sentence in range(first, last):
        room, begin, end = _node_envelopes(shape, intercepts, slopes, sentence, room)
        bounds, edges = _write_edges(shape, room.kept, room.below, begin, end)
        starts, offsets = grown(starts, size + end - begin), grown(offsets, size + end - begin + 1)
        for i in range(end - begin):
            text = derivation_words(yields, edges[bounds[i] : bounds[i + 1]])
            words = grown(words, used + text.size)
            words[used : used + text.size] = text
            used += text.size
            starts[size], offsets[size + 1] = room.kept.starts[begin + i], used
            size += 1
        sentences[sentence - first + 1] = size
    return EnvelopeTexts(sentences, starts[:size], offsets[: size + 1], words[:used])


class EnvelopeArrays(NamedTuple):
    """Pieces kept of each node of a sentence, those at work, and which pieces are below those of several tails."""

    kept: Pieces
    work: Pieces
    below: NDArray[np.int64]


@kernel
def _envelope(
    shape: Shape, intercepts: Scores, slopes: Scores
) -> tuple[Scores, Scores, Scores, NDArray[np.int64], NDArray[np.int32]]:
    room = EnvelopeArrays(room_for_pieces(256), room_for_pieces(256), np.empty(256, np.int64))
    room, first, last = _node_envelopes(shape, intercepts, slopes, 0, room)
    offsets, edges = _write_edges(shape, room.kept, room.below, first, last)
    return (
        room.kept.starts[first:last].copy(),
        room.kept.intercepts[first:last].copy(),
        room.kept.slopes[first:last].copy(),
        offsets,
        edges,
    )


@kernel
def _node_envelopes(
    shape: Shape, intercepts: Scores, slopes: Scores, sentence: int, room: EnvelopeArrays
) -> tuple[EnvelopeArrays, int, int]:
    """Find the envelopes of all nodes of a sentence; return the place of the goal's, the last one."""
    kept, work, below = room
    first, nodes = shape.sentences[sentence], shape.sentences[sentence + 1] - shape.sentences[sentence]
    begins, counts = np.zeros(nodes + 1, np.int64), np.zeros(3, np.int64)
    current, done = np.empty(_widest(shape, first, first + nodes), np.int64), 0
    while done < nodes:
        done = fill_nodes(shape, intercepts, slopes, first, begins, done, kept, work, below, counts, current)
        if done < nodes:
            kept, work = pieces_with_room(kept, begins[done] + counts[PIECES]), pieces_with_room(work, counts[PIECES])
            below = grown(below, counts[USED] + counts[PLACES])
    return EnvelopeArrays(kept, work, below), begins[nodes - 1], begins[nodes]


@kernel
def _widest(shape: Shape, first: int, last: int) -> int:
    """Return the largest number of tails that an edge of the nodes `first:last` has."""
    arity = 0
    for h in range(shape.head_edges[first], shape.head_edges[last]):
        arity = max(arity, shape.tail_offsets[h + 1] - shape.tail_offsets[h])
    return arity


@kernel
def _write_edges(
    shape: Shape, pieces: Pieces, below: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the edges of the derivations that pieces stand for, top down and left to right."""
    offsets, edges, size = np.zeros(last - first + 1, np.int64), np.empty(256, np.int32), 0
    stack = np.empty(64, np.int64)
    for piece in range(first, last):
        stack[0], depth = piece, 1
        while depth:
            depth -= 1
            place = stack[depth]
            h = pieces.edges[place]
            edges = grown(edges, size + 1)
            edges[size] = h
            size += 1
            arity = shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            stack = grown(stack, depth + arity)
            if arity == 1:
                stack[depth] = pieces.below[place]
            else:
                for i in range(arity):
                    stack[depth + i] = below[pieces.below[place] + arity - 1 - i]
            depth += arity
        offsets[piece - first + 1] = size
    return offsets, edges[:size]
