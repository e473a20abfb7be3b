"""Boundary words: which a node must know, and what follows when an edge puts texts together.

With n-grams of up to n words, c = n − 1 words at each end of a text decide which n-grams arise when something is put
beside it. A node needs its left words only if something can come before its text somewhere in the forest, and its right
words only if something can follow: a lattice needs no left words, an n-best list none at all.

The *state* of a text is one row of 2c + 1 numbers: its first c words, its last c words (−1 where there are fewer, or
where they are not needed), and its length if that is at most c (then its first words are the whole text), else c + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Shape, Yields
from toledo.kernels import inner_kernel, kernel

NOTHING = -1  # no word
GAP = -2  # words of a tail that are not known
OWN = -1  # the part of a word that the edge itself writes


class Needs(NamedTuple):
    """Whether the words at the left and right end of a node's text matter."""

    left: NDArray[np.bool_]
    right: NDArray[np.bool_]


class Buffer(NamedTuple):
    """The text of an edge as far as it is known: words (or GAP), and what each is part of (OWN or a tail)."""

    words: NDArray[np.int32]
    parts: NDArray[np.int32]


@kernel
def boundary_needs(shape: Shape, yields: Yields) -> Needs:
    """From parents to children: a tail needs an end if the edge has something beyond it, or its head needs that end."""
    nodes = shape.head_edges.size - 1
    needs = Needs(np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_))
    for v in range(nodes - 1, -1, -1):
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            begin, end = yields.offsets[h], yields.offsets[h + 1]
            for place in range(begin, end):
                if yields.words[place] < 0:
                    tail = shape.tails[shape.tail_offsets[h] - 1 - yields.words[place]]
                    if place > begin or needs.left[v]:
                        needs.left[tail] = True
                    if place < end - 1 or needs.right[v]:
                        needs.right[tail] = True
    return needs


def buffer_for(shape: Shape, yields: Yields, context: int) -> Buffer:
    """Room for the text of any edge."""
    longest = int(np.diff(yields.offsets).max(initial=0))
    arity = int(np.diff(shape.tail_offsets).max(initial=0))
    room = longest + arity * (2 * context + 1) + 2
    return Buffer(np.empty(room, np.int32), np.empty(room, np.int32))


@inner_kernel
def append_tail(
    buffer: Buffer, size: int, state: NDArray[np.int32], context: int, part: int, left: bool, right: bool
) -> int:
    """Add the known words of a tail's text; gives the new size."""
    length = state[2 * context]
    whole = left and length <= context
    first = min(length, context) if left else 0
    for i in range(first):
        buffer.words[size], buffer.parts[size] = state[i], part
        size += 1
    if whole:
        return size
    buffer.words[size], buffer.parts[size] = GAP, part
    size += 1
    if right:
        for i in range(context, 2 * context):
            if state[i] != NOTHING:
                buffer.words[size], buffer.parts[size] = state[i], part
                size += 1
    return size


@inner_kernel
def write_state(buffer: Buffer, size: int, context: int, left: bool, right: bool, state: NDArray[np.int32]) -> None:
    """The state of the text in the buffer."""
    state[:] = NOTHING
    gap = False
    for i in range(size):
        gap |= buffer.words[i] == GAP
    state[2 * context] = context + 1 if gap else min(size, context + 1)
    if left:
        for i in range(min(size, context)):  # a gap comes after `context` words at least
            state[i] = buffer.words[i]
    if right:
        for i in range(min(size, context)):
            word = buffer.words[size - 1 - i]
            if word == GAP:
                break
            state[2 * context - 1 - i] = word
    if not left:
        state[2 * context] = 0  # how long it is does not matter: nothing comes before it


@inner_kernel
def crosses(buffer: Buffer, first: int, last: int) -> bool:
    """Whether the words from `first` to `last` are not all of one tail: then this edge completes them."""
    return bool(buffer.parts[first] == OWN or buffer.parts[first] != buffer.parts[last])
