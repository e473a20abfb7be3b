"""Boundary words: which a node must know, and what follows when an edge puts texts together.

With n-grams of up to n words, c = n − 1 words at each end of a text decide which n-grams arise when something is put
beside it. A node needs its left words only if something can come before its text somewhere in the forest, and its right
words only if something can follow: a lattice needs no left words, an n-best list none at all.

The *state* of a text is one row of 2c + 1 numbers: its first c words, its last c words (−1 where there are fewer, or
where they are not needed), and its length if that is at most c (then its first words are the whole text), else c + 1.

The text of an edge as far as boundary words tell: what language models say of it, which n-grams it completes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.forest.forest import Scores, Shape, Yields
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, add_ngram
from toledo.language_model.automaton import Automaton, advance, begin_state
from toledo.text.vocabulary import BEGIN, END

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
    """Write the state of the text in the buffer."""
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
    """Return whether the words from `first` to `last` are not all of one tail: then this edge completes them."""
    return bool(buffer.parts[first] == OWN or buffer.parts[first] != buffer.parts[last])


LN10 = math.log(10.0)


class EdgeTask(NamedTuple):
    """What to split and how: n-grams up to `order`, `context` boundary words, at most `beam` edges for an old node.

    `scored` says whether there are language models; `weights` are what a natural log of their probabilities counts.
    """

    shape: Shape
    yields: Yields
    needs: Needs
    scores: Scores
    order: int
    context: int
    beam: int
    scored: bool
    models: tuple[Automaton, ...]
    model_orders: NDArray[np.int64]
    weights: Scores


@inlined
def fill(
    task: EdgeTask, buffer: Buffer, states: NDArray[np.int32], h: int, head: int, chosen: NDArray[np.int32]
) -> int:
    """Write the text of an edge into the buffer, with `<s>` and `</s>` if language models are there to see them."""
    shape, yields, needs = task.shape, task.yields, task.needs
    begin, end = yields.offsets[h], yields.offsets[h + 1]
    size = 0
    if task.scored and not needs.left[head]:
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
            state = states[chosen[-1 - word]]
            size = append_tail(buffer, size, state, task.context, -1 - word, needs.left[tail], needs.right[tail])
    if task.scored and not needs.right[head]:
        last = yields.words[end - 1] if begin < end else 0
        if last >= 0 or needs.right[shape.tails[shape.tail_offsets[h] - 1 - last]]:
            buffer.words[size], buffer.parts[size] = END, OWN
            size += 1
    return size


@inlined
def model_score(task: EdgeTask, m: int, buffer: Buffer, size: int) -> float:
    """Return the natural log probability by model m of the words that have their full context first at this edge."""
    needed = task.model_orders[m] - 1
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
            total += _log_probability(task.models[m], buffer, max(run, i - needed), i)
    return total * LN10


@inlined
def _after_gap(buffer: Buffer, i: int, part: int) -> bool:
    """Return whether word i of a tail is one of its last words, which have been scored within it."""
    i -= 1
    while i >= 0 and buffer.parts[i] == part:
        if buffer.words[i] == GAP:
            return True
        i -= 1
    return False


@inner_kernel
def _log_probability(model: Automaton, buffer: Buffer, first: int, last: int) -> float:
    """Return the log10 probability of word `last` after the words from `first` on."""
    state = 0
    if buffer.words[first] == BEGIN:
        state = begin_state(model)
        first += 1
    for i in range(first, last):
        state = advance(model, state, buffer.words[i])[1]
    return advance(model, state, buffer.words[last])[0]


@inlined
def left_estimate(task: EdgeTask, m: int, buffer: Buffer, size: int, head: int) -> float:
    """Return what the first words of a text will about add, once it is known what comes before: as if nothing did.

    Without it, a beam would prefer texts whose first words are unlikely, since their scores are not yet included.
    """
    total, state = 0.0, 0
    if task.needs.left[head]:
        for i in range(min(size, task.model_orders[m] - 1)):
            if buffer.words[i] == GAP:
                break
            step, state = advance(task.models[m], state, buffer.words[i])
            total += step
    return total * LN10


@inlined
def completed(task: EdgeTask, buffer: Buffer, size: int, index: NGramIndex, ids: NDArray[np.int32], place: int) -> int:
    """Append the numbers of the n-grams that an edge completes; gives the end."""
    for first in range(size):
        prefix = NO_NGRAM
        for last in range(first, min(first + task.order, size)):
            word = buffer.words[last]
            if word == GAP or (task.scored and word in (BEGIN, END)):
                break
            prefix = add_ngram(index, prefix, word)
            if crosses(buffer, first, last):
                ids[place] = prefix
                place += 1
    return place
