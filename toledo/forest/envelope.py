"""Which derivation is best at each point of a line through weight space.

Along w + γ d every derivation scores intercept + γ · slope (Och 2003). The maximum over derivations is convex and
piecewise linear in γ: an upper envelope. A node's envelope is that of the union over its edges; an edge's is the sum
of those of its tails, whose pieces are merged at their breakpoints (Macherey et al. 2008; Kumar et al. 2009). How
envelopes are added and merged stands in `toledo.forest.envelope_pieces`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.derivation import derivation_words
from toledo.forest.envelope_pieces import PIECES, PLACES, USED, Pieces, fill_nodes, pieces_with_room, room_for_pieces
from toledo.forest.structure import Forest, Scores, Shape, Yields, check_scores
from toledo.growing import grown
from toledo.kernels import kernel


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
        """The number of the derivation that is best at a point."""
        return max(int(np.searchsorted(self.starts, gamma, side="right")) - 1, 0)

    def derivation(self, number: int) -> NDArray[np.int32]:
        """The edges of a derivation, top down and left to right."""
        return self.edges[self.offsets[number] : self.offsets[number + 1]]


def envelope(forest: Forest, intercepts: Scores, slopes: Scores) -> Envelope:
    """The envelope of all derivations of one segment, for edges that score intercept + γ · slope."""
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
    """The envelopes of the sentences `first:last` as texts; scores are finite or (intercepts) −∞."""
    sentences = np.zeros(last - first + 1, np.int64)
    starts, offsets, words, size, used = np.empty(256), np.zeros(257, np.int64), np.empty(4096, np.int32), 0, 0
    room = Room(room_for_pieces(1024), room_for_pieces(256), np.empty(256, np.int64))
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


class Room(NamedTuple):
    """Pieces kept of each node of a sentence, those at work, and which pieces are below those of several tails."""

    kept: Pieces
    work: Pieces
    below: NDArray[np.int64]


@kernel
def _envelope(
    shape: Shape, intercepts: Scores, slopes: Scores
) -> tuple[Scores, Scores, Scores, NDArray[np.int64], NDArray[np.int32]]:
    room = Room(room_for_pieces(256), room_for_pieces(256), np.empty(256, np.int64))
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
    shape: Shape, intercepts: Scores, slopes: Scores, sentence: int, room: Room
) -> tuple[Room, int, int]:
    """The envelopes of all nodes of a sentence; gives the place of the goal's, the last one."""
    kept, work, below = room
    first, nodes = shape.sentences[sentence], shape.sentences[sentence + 1] - shape.sentences[sentence]
    begins, counts = np.zeros(nodes + 1, np.int64), np.zeros(3, np.int64)
    current, done = np.empty(_widest(shape, first, first + nodes), np.int64), 0
    while done < nodes:
        done = fill_nodes(shape, intercepts, slopes, first, begins, done, kept, work, below, counts, current)
        if done < nodes:
            kept, work = pieces_with_room(kept, begins[done] + counts[PIECES]), pieces_with_room(work, counts[PIECES])
            below = grown(below, counts[USED] + counts[PLACES])
    return Room(kept, work, below), begins[nodes - 1], begins[nodes]


@kernel
def _widest(shape: Shape, first: int, last: int) -> int:
    """The largest number of tails that an edge of the nodes `first:last` has."""
    arity = 0
    for h in range(shape.head_edges[first], shape.head_edges[last]):
        arity = max(arity, shape.tail_offsets[h + 1] - shape.tail_offsets[h])
    return arity


@kernel
def _write_edges(
    shape: Shape, pieces: Pieces, below: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The edges of the derivations that pieces stand for, top down and left to right."""
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
