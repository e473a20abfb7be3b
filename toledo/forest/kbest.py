"""The k best derivations, lazily (Huang and Chiang 2005, algorithm 3), and the k best translations.

An *item* is one derivation of a node: an edge and an item for each of its tails. A node keeps the items it has given
out as a linked list, best first, and its candidates in a pairing heap. The next item of a node is found by putting the
successors of the last one into the heap (one tail exchanged for its next item) and taking the best. To meet each
combination of tails once without a table of those seen, an item exchanges only its tails from the one last exchanged
(its `TURN`) onwards.

For distinct translations every node drops an item whose words it has given out before: an equal string further down
can only lead to equal strings further up, with lower scores. Strings are compared by hashes (`text_hashes`).

Hashes of texts that compose: that of a text follows from those of its parts, whatever their lengths.

Two polynomial hashes modulo 2³¹ − 1 (Karp and Rabin 1987). A text is (hash 0, hash 1, base 0 to its length, base 1 to
its length); the empty text is (1, 1, 1, 1).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY, find_slot
from toledo.compiled.heap import doubled
from toledo.compiled.kernels import kernel
from toledo.forest.derivations import Best, Derivation, best_below
from toledo.forest.forest import Forest, Scores, Shape, Yields, check_scores

PRIME = np.uint64(2**31 - 1)
BASE_0, BASE_1 = np.uint64(1_000_003), np.uint64(7_368_787)
ONE = np.uint64(1)


@kernel
def best_strings(shape: Shape, yields: Yields, best: Best) -> NDArray[np.uint64]:
    """Return the string of the best derivation of each node."""
    strings = np.ones((best.edges.size, 4), np.uint64)
    for v in range(best.edges.size):
        h = best.edges[v]
        if h < 0:
            continue
        for place in range(yields.offsets[h], yields.offsets[h + 1]):
            word = yields.words[place]
            if word >= 0:
                append_word(strings[v], word)
            else:
                append_string(strings[v], strings[shape.tails[shape.tail_offsets[h] - 1 - word]])
    return strings


@kernel
def append_word(string: NDArray[np.uint64], word: int) -> None:
    """Add a word at the end."""
    string[0] = (string[0] * BASE_0 + np.uint64(word) + ONE) % PRIME
    string[1] = (string[1] * BASE_1 + np.uint64(word) + ONE) % PRIME
    string[2] = string[2] * BASE_0 % PRIME
    string[3] = string[3] * BASE_1 % PRIME


@kernel
def append_string(string: NDArray[np.uint64], other: NDArray[np.uint64]) -> None:
    """Add another text at the end."""
    # Every string begins with a hash of 1, so that a leading part counts; take that 1 off before appending.
    for i in range(2):
        body = (other[i] + PRIME - other[i + 2] % PRIME) % PRIME
        string[i] = (string[i] * other[i + 2] + body) % PRIME
        string[i + 2] = string[i + 2] * other[i + 2] % PRIME


NONE, UNKNOWN_YET = -1, -2
STATE_FULL, EDGES_FULL = -1, -2
EDGE, HEAD, TURN, TAILS, NEXT, CHILD, SIBLING = range(7)  # the fields of an item
ITEMS, TAIL_ITEMS, STRINGS, STACK = range(4)  # what `KBestState.used` counts
HALF = np.uint64(31)
NODE_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)
FIRST_BATCH, LARGEST_BATCH = 16, 4096


class KBestProblem(NamedTuple):
    """What is given: the forest, the scores, the best derivation of each node, and its string (if they must differ)."""

    shape: Shape
    yields: Yields
    scores: Scores
    best: Best
    best_strings: NDArray[np.uint64]
    distinct: bool


class KBestState(NamedTuple):
    """What has been found so far."""

    used: NDArray[np.int64]
    margins: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: Scores
    strings: NDArray[np.uint64]
    tail_items: NDArray[np.int32]
    first: NDArray[np.int32]  # the best item of each node, NONE, or UNKNOWN_YET
    heaps: NDArray[np.int32]  # the best candidate of each node, or NONE
    seen: NDArray[np.uint64]  # open addressing: (node, string) given out
    stack: NDArray[np.int32]


class DerivationBatch(NamedTuple):
    """Some derivations in a row: derivation i has `edges[offsets[i]:offsets[i + 1]]` and `scores[i]`."""

    offsets: NDArray[np.int64]
    edges: NDArray[np.int32]
    scores: Scores


def k_best(forest: Forest, scores: Scores, *, distinct: bool = False) -> Iterator[Derivation]:
    """Return the derivations of a one-segment forest, best first; only the best one of each translation if `distinct`.

    Takes time for what is asked, not for what exists: stop iterating when you have enough.
    """
    batches = k_best_batches(forest, scores, distinct=distinct)
    return (
        Derivation(forest, score, edges[begin:end])
        for offsets, edges, found in batches
        for score, (begin, end) in zip(found.tolist(), pairwise(offsets.tolist()), strict=True)
    )


def k_best_batches(
    forest: Forest, scores: Scores, *, distinct: bool = False, most: int | None = None
) -> Iterator[DerivationBatch]:
    """Return the same as arrays, in batches that grow, for lists of thousands; at most so many derivations."""
    if len(forest) != 1:
        raise ValueError("k-best lists are made for one segment at a time")
    check_scores(forest.shape, scores)
    return _batches(forest, scores, distinct, sys.maxsize if most is None else most)


def _batches(forest: Forest, scores: Scores, distinct: bool, left: int) -> Iterator[DerivationBatch]:
    best = best_below(forest.shape, scores)
    strings = best_strings(forest.shape, forest.yields, best) if distinct else np.empty((0, 4), np.uint64)
    problem = KBestProblem(forest.shape, forest.yields, scores, best, strings, distinct)
    state = _empty_state(forest.shape)
    last, size = UNKNOWN_YET, FIRST_BATCH
    while last != NONE and left > 0:
        state, last, offsets, edges, found = _next_batch(problem, state, last, min(size, left))
        yield DerivationBatch(offsets, edges, found)
        size, left = min(2 * size, LARGEST_BATCH), left - size


def _empty_state(shape: Shape) -> KBestState:
    """Return whether there is room for one step: candidates for all edges of a node, and one exchange."""
    nodes = shape.head_edges.size - 1
    widest = int(np.diff(shape.head_edges).max(initial=0)) + 1
    arity = int(np.diff(shape.tail_offsets).max(initial=0))
    room = 2 * widest + 256
    return KBestState(
        np.zeros(4, np.int64),
        np.array([widest, widest * arity, 1, arity + 1]),
        np.empty((room, SIBLING + 1), np.int32),
        np.empty(room),
        np.empty((room, 4), np.uint64),
        np.empty(room * (arity + 1), np.int32),
        np.full(nodes, UNKNOWN_YET, np.int32),
        np.full(nodes, NONE, np.int32),
        np.full(256, EMPTY, np.uint64),
        np.empty((64 + arity, 3), np.int32),
    )


@kernel
def _has_room(state: KBestState) -> bool:
    used, margin = state.used, state.margins
    return bool(
        used[ITEMS] + margin[ITEMS] <= state.scores.size
        and used[TAIL_ITEMS] + margin[TAIL_ITEMS] <= state.tail_items.size
        and 2 * (used[STRINGS] + margin[STRINGS]) <= state.seen.size
        and used[STACK] + margin[STACK] <= state.stack.shape[0]
    )


@kernel
def _with_more_room(state: KBestState) -> KBestState:
    seen = np.full(2 * state.seen.size, EMPTY, np.uint64)
    for key in state.seen:
        if key != EMPTY:
            seen[find_slot(seen, key)] = key
    return KBestState(
        state.used,
        state.margins,
        doubled(state.items),
        doubled(state.scores),
        doubled(state.strings),
        doubled(state.tail_items),
        state.first,
        state.heaps,
        seen,
        doubled(state.stack),
    )


@kernel
def _next_batch(
    problem: KBestProblem, state: KBestState, last: int, count: int
) -> tuple[KBestState, int, NDArray[np.int64], NDArray[np.int32], Scores]:
    """Up to `count` further items of the goal as lists of edges; `last` becomes NONE when there are no more."""
    goal = problem.shape.head_edges.size - 2
    offsets, found = np.zeros(count + 1, np.int64), np.empty(count)
    edges, done = np.empty(1024, np.int32), 0
    while done < count and last != NONE:
        if last == UNKNOWN_YET:
            last = _first_item(problem, state, goal)
        else:
            _push(state, last, last, state.items[last, TURN])
            while not _find_next(problem, state):
                state = _with_more_room(state)
            last = state.items[last, NEXT]
        if last == NONE:
            break
        size = _write_edges(problem, state, last, edges, offsets[done])
        while size < 0:
            if size == STATE_FULL:
                state = _with_more_room(state)
            else:
                edges = doubled(edges)
            size = _write_edges(problem, state, last, edges, offsets[done])
        found[done] = state.scores[last]
        done += 1
        offsets[done] = size
    return state, last, offsets[: done + 1], edges[: offsets[done]], found[:done]


@kernel
def _write_edges(problem: KBestProblem, state: KBestState, item: int, edges: NDArray[np.int32], size: int) -> int:
    """Append the edges of an item, top down and left to right, and give their end, or what lacked room.

    Most of an item is the best derivation of some node. That is read from the compact `best.edges` and not from items,
    which are spread over memory: on the stack are (item, node), with NONE for the best item.
    """
    tail_offsets, tails, best_edges = problem.shape.tail_offsets, problem.shape.tails, problem.best.edges
    items, tail_items, stack, first = state.items, state.tail_items, state.stack, state.first
    most = stack.shape[0] - state.margins[STACK]
    stack[0, 0], stack[0, 1] = item, items[item, HEAD]
    depth = 1
    while depth:
        if size == edges.size:
            return EDGES_FULL
        if depth > most:
            return STATE_FULL
        depth -= 1
        item, node = stack[depth, 0], stack[depth, 1]
        h = best_edges[node] if item == NONE else items[item, EDGE]
        edges[size] = h
        size += 1
        for i in range(tail_offsets[h + 1] - tail_offsets[h] - 1, -1, -1):
            tail = tails[tail_offsets[h] + i]
            tail_item = NONE if item == NONE else tail_items[items[item, TAILS] + i]
            is_best = tail_item == UNKNOWN_YET or tail_item == first[tail]
            stack[depth, 0], stack[depth, 1] = NONE if is_best else tail_item, tail
            depth += 1
    return size


@kernel
def _push(state: KBestState, first: int, second: int, third: int) -> None:
    top = state.used[STACK]
    state.stack[top, 0], state.stack[top, 1], state.stack[top, 2] = first, second, third
    state.used[STACK] = top + 1


@kernel
def _tail_item(problem: KBestProblem, state: KBestState, item: int, i: int) -> int:
    place = state.items[item, TAILS] + i
    if state.tail_items[place] == UNKNOWN_YET:
        tail = problem.shape.tails[problem.shape.tail_offsets[state.items[item, EDGE]] + i]
        state.tail_items[place] = _first_item(problem, state, tail)
    return int(state.tail_items[place])


@kernel
def _first_item(problem: KBestProblem, state: KBestState, node: int) -> int:
    """Return the best item of a node, whose candidates are its edges with the best items of their tails."""
    if state.first[node] != UNKNOWN_YET:
        return int(state.first[node])
    shape = problem.shape
    for h in range(shape.head_edges[node], shape.head_edges[node + 1]):
        score = problem.scores[h]
        for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
            score += problem.best.scores[shape.tails[t]]
        if score > -math.inf:
            _add_candidate(problem, state, _new_item(problem, state, h, node, score))
    item = _take_best(state, node)
    if problem.distinct and item != NONE:
        _is_new(state, item)
    state.first[node] = item
    return item


@kernel
def _find_next(problem: KBestProblem, state: KBestState) -> bool:
    """Find the item that follows the one on the stack, and on the way those that follow its tails.

    On the stack: (the item that asks, the item whose tails are exchanged, the place of the tail). False if there is too
    little room; then the stack tells where to go on.
    """
    while state.used[STACK]:
        if not _has_room(state):
            return False
        top = state.used[STACK] - 1
        asking, exchanged, i = state.stack[top, 0], state.stack[top, 1], state.stack[top, 2]
        h = state.items[exchanged, EDGE]
        if state.items[asking, NEXT] != UNKNOWN_YET:
            state.used[STACK] -= 1
        elif i < problem.shape.tail_offsets[h + 1] - problem.shape.tail_offsets[h]:
            tail_item = _tail_item(problem, state, exchanged, i)
            following = state.items[tail_item, NEXT]
            if following == UNKNOWN_YET:
                _push(state, tail_item, tail_item, state.items[tail_item, TURN])
                continue
            if following != NONE:
                _exchange(problem, state, exchanged, i, following)
            state.stack[top, 2] += 1
        else:
            found = _take_best(state, state.items[asking, HEAD])
            if found != NONE and problem.distinct and not _is_new(state, found):
                state.stack[top, 1], state.stack[top, 2] = found, state.items[found, TURN]
            else:
                state.items[asking, NEXT] = found
    return True


@kernel
def _exchange(problem: KBestProblem, state: KBestState, item: int, i: int, following: int) -> None:
    """Add a new candidate: `item` with its i-th tail exchanged for the following item."""
    h, head = state.items[item, EDGE], state.items[item, HEAD]
    old = state.tail_items[state.items[item, TAILS] + i]
    score = state.scores[item] - state.scores[old] + state.scores[following]
    new = _new_item(problem, state, h, head, score)
    for k in range(problem.shape.tail_offsets[h + 1] - problem.shape.tail_offsets[h]):
        state.tail_items[state.items[new, TAILS] + k] = state.tail_items[state.items[item, TAILS] + k]
    state.tail_items[state.items[new, TAILS] + i] = following
    state.items[new, TURN] = i
    _add_candidate(problem, state, new)


@kernel
def _new_item(problem: KBestProblem, state: KBestState, h: int, head: int, score: float) -> int:
    """Return an item whose tails have their best items."""
    item, tails = state.used[ITEMS], state.used[TAIL_ITEMS]
    arity = problem.shape.tail_offsets[h + 1] - problem.shape.tail_offsets[h]
    state.used[ITEMS] += 1
    state.used[TAIL_ITEMS] += arity
    state.items[item, EDGE], state.items[item, HEAD], state.items[item, TURN] = h, head, 0
    state.items[item, TAILS], state.items[item, NEXT] = tails, UNKNOWN_YET
    state.items[item, CHILD], state.items[item, SIBLING] = NONE, NONE
    for k in range(tails, tails + arity):
        state.tail_items[k] = UNKNOWN_YET
    state.scores[item] = score
    return int(item)


@kernel
def _add_candidate(problem: KBestProblem, state: KBestState, item: int) -> None:
    if problem.distinct:
        _write_string(problem, state, item)
    head = state.items[item, HEAD]
    state.heaps[head] = item if state.heaps[head] == NONE else _merge(state, state.heaps[head], item)


@kernel
def _merge(state: KBestState, left: int, right: int) -> int:
    """Two heaps as one; among equals the older item wins, so that results are reproducible."""
    if state.scores[right] > state.scores[left] or (state.scores[right] == state.scores[left] and right < left):
        left, right = right, left
    state.items[right, SIBLING] = state.items[left, CHILD]
    state.items[left, CHILD] = right
    return left


@kernel
def _take_best(state: KBestState, node: int) -> int:
    """Remove the best candidate of a node: merge its children in pairs, then the pairs from the last to the first."""
    root = state.heaps[node]
    if root == NONE:
        return NONE
    pairs, child = NONE, state.items[root, CHILD]
    while child != NONE:
        other = state.items[child, SIBLING]
        following = NONE
        state.items[child, SIBLING] = NONE
        if other != NONE:
            following = state.items[other, SIBLING]
            state.items[other, SIBLING] = NONE
            child = _merge(state, child, other)
        state.items[child, SIBLING] = pairs
        pairs, child = child, following
    merged = NONE
    while pairs != NONE:
        following = state.items[pairs, SIBLING]
        state.items[pairs, SIBLING] = NONE
        merged = pairs if merged == NONE else _merge(state, merged, pairs)
        pairs = following
    state.heaps[node] = merged
    return int(root)


@kernel
def _is_new(state: KBestState, item: int) -> bool:
    """Return whether the string of an item is new to its node, and note that it is known from now on."""
    node = np.uint64(state.items[item, HEAD] + 1) * NODE_MIX
    key = ((state.strings[item, 0] << HALF) | state.strings[item, 1]) ^ node
    slot = find_slot(state.seen, key)
    if state.seen[slot] == key:
        return False
    state.seen[slot] = key
    state.used[STRINGS] += 1
    return True


@kernel
def _write_string(problem: KBestProblem, state: KBestState, item: int) -> None:
    h = state.items[item, EDGE]
    strings = state.strings
    strings[item, :] = np.uint64(1)
    for place in range(problem.yields.offsets[h], problem.yields.offsets[h + 1]):
        word = problem.yields.words[place]
        if word >= 0:
            append_word(strings[item], word)
            continue
        tail_item = state.tail_items[state.items[item, TAILS] - 1 - word]
        if tail_item == UNKNOWN_YET:
            tail = problem.shape.tails[problem.shape.tail_offsets[h] - 1 - word]
            append_string(strings[item], problem.best_strings[tail])
        else:
            append_string(strings[item], strings[tail_item])
