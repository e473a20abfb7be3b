"""The probability that an n-gram occurs at least once (Tromble et al. 2008), exactly, on any forest.

Most n-grams cannot be completed by two edges of one derivation: then the probability is the sum of the posteriors of
the edges that complete it. One sweep finds this for 64 n-grams at once, as bits: which are completed below each node.
Only for the few that can come again, q(v) = Σ_h p(h | v) [not completed at h] Π q(tails) is swept in numbers; one minus
q(goal) is the probability. Both sweeps begin where the first n-gram of their block is completed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.forest.forest import Scores, Shape

BITS = 64
NGRAMS_AT_ONCE = 32  # one sweep in numbers follows this many n-grams side by side, in vector lanes
NONE = np.uint64(0)
ONE = np.uint64(1)
Numbers = NDArray[np.int32]
Offsets = NDArray[np.int64]


@kernel
def occurrence(
    shape: Shape,
    sentence: int,
    offsets: Offsets,
    ids: Numbers,
    conditional: Scores,
    posteriors: Scores,
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Return the chances of n-grams `first:last`, those of one sentence; `offsets` are of all edges."""
    chances, again = np.zeros(last - first), np.zeros(last - first, np.bool_)
    begin, end = shape.sentences[sentence], shape.sentences[sentence + 1]
    goal_edges = conditional[shape.head_edges[end - 1] : shape.head_edges[end]]
    if not np.any(goal_edges > 0.0):
        return chances
    heads = np.empty(shape.head_edges[end] - shape.head_edges[begin], np.int32)
    for v in range(begin, end):
        heads[shape.head_edges[v] - shape.head_edges[begin] : shape.head_edges[v + 1] - shape.head_edges[begin]] = v
    edges = shape.head_edges[begin], shape.head_edges[end]
    places = np.arange(last - first).astype(np.int32)
    entries = _by_block(offsets, ids, edges, first, places, places.size, BITS)
    _once(shape, begin, end, heads, entries, posteriors, chances, again)
    repeated = np.flatnonzero(again)
    if repeated.size:
        places[:] = -1
        places[repeated] = np.arange(repeated.size)
        entries = _by_block(offsets, ids, edges, first, places, repeated.size, NGRAMS_AT_ONCE)
        _at_least_once(shape, begin, end, heads, entries, conditional, repeated, chances)
    return np.minimum(chances, 1.0)


@kernel
def _by_block(
    offsets: Offsets, ids: Numbers, span: tuple[int, int], first: int, places: Numbers, wanted: int, size: int
) -> tuple[Offsets, Numbers, Numbers]:
    """Return where edges complete n-grams, as (edge, place), by blocks of `size` places, in the order of edges.

    `places` are those of all n-grams from `first` on: 0 to `wanted`, or −1 for one that does not matter.
    """
    begin, end = span
    blocks = np.zeros((wanted + size - 1) // size + 1, np.int64)
    for i in range(offsets[begin], offsets[end]):
        if places[ids[i] - first] >= 0:
            blocks[places[ids[i] - first] // size + 1] += 1
    for block in range(1, blocks.size):
        blocks[block] += blocks[block - 1]
    edges, found = np.empty(blocks[-1], np.int32), np.empty(blocks[-1], np.int32)
    cursor = blocks.copy()
    for h in range(begin, end):
        for i in range(offsets[h], offsets[h + 1]):
            place = places[ids[i] - first]
            if place >= 0:
                at = cursor[place // size]
                cursor[place // size] += 1
                edges[at], found[at] = h, place
    return blocks, edges, found


@kernel
def _once(
    shape: Shape,
    begin: int,
    end: int,
    heads: Numbers,
    entries: tuple[Offsets, Numbers, Numbers],
    posteriors: Scores,
    chances: Scores,
    again: NDArray[np.bool_],
) -> None:
    """Add up posteriors, and note which n-grams some derivation completes at two edges."""
    head_edges, tail_offsets, tails = shape.head_edges, shape.tail_offsets, shape.tails
    blocks, edges, places = entries
    lattice = _is_lattice(shape, begin, end)
    below = np.zeros(end - begin, np.uint64)
    for block in range(blocks.size - 1):
        at, stop = blocks[block], blocks[block + 1]
        if at == stop:
            continue
        from_node = heads[edges[at] - head_edges[begin]]
        # In a lattice two completions meet at the later edge, elsewhere perhaps only where two tails are joined.
        to_node = heads[edges[stop - 1] - head_edges[begin]] + 1 if lattice else end
        below[:] = NONE
        twice = NONE
        for v in range(from_node, to_node):
            any_below = NONE
            for h in range(head_edges[v], head_edges[v + 1]):
                met, own = NONE, NONE
                for t in range(tail_offsets[h], tail_offsets[h + 1]):
                    tail = below[tails[t] - begin]
                    twice |= met & tail
                    met |= tail
                while at < stop and edges[at] == h:
                    bit = ONE << np.uint64(places[at] - block * BITS)
                    if own & bit == NONE:  # twice at one edge is once
                        chances[places[at]] += posteriors[h]
                        own |= bit
                    at += 1
                if posteriors[h] > 0.0:
                    twice |= met & own
                    any_below |= met | own
            below[v - begin] = any_below
        for place in range(block * BITS, min((block + 1) * BITS, again.size)):
            again[place] = (twice >> np.uint64(place - block * BITS)) & ONE != NONE


@kernel
def _is_lattice(shape: Shape, begin: int, end: int) -> bool:
    for h in range(shape.head_edges[begin], shape.head_edges[end]):
        if shape.tail_offsets[h + 1] - shape.tail_offsets[h] > 1:
            return False
    return True


@kernel
def _at_least_once(
    shape: Shape,
    begin: int,
    end: int,
    heads: Numbers,
    entries: tuple[Offsets, Numbers, Numbers],
    conditional: Scores,
    repeated: Offsets,
    chances: Scores,
) -> None:
    """Compute the probabilities of n-grams that can occur again, in blocks."""
    head_edges, tail_offsets, tails = shape.head_edges, shape.tail_offsets, shape.tails
    blocks, edges, places = entries
    without = np.empty((end - begin, NGRAMS_AT_ONCE))
    product = np.empty(NGRAMS_AT_ONCE)
    for block in range(blocks.size - 1):
        at, stop, shift = blocks[block], blocks[block + 1], block * NGRAMS_AT_ONCE
        from_node = heads[edges[at] - head_edges[begin]]
        without[: from_node - begin] = 1.0  # also where nothing is possible: edges from there have no probability
        for v in range(from_node, end):
            sums = without[v - begin]
            sums[:] = 0.0
            for h in range(head_edges[v], head_edges[v + 1]):
                product[:] = conditional[h]
                for t in range(tail_offsets[h], tail_offsets[h + 1]):
                    product *= without[tails[t] - begin]
                while at < stop and edges[at] == h:
                    product[places[at] - shift] = 0.0
                    at += 1
                sums += product
        for place in range(shift, min(shift + NGRAMS_AT_ONCE, repeated.size)):
            chances[repeated[place]] = max(0.0, 1.0 - without[end - begin - 1, place - shift])
