"""Matching n-grams of symbols against references, exactly, in time linear in the text.

The n-grams of a reference form a trie: the node of an n-gram is reached from the node of its first n−1 symbols by its
last symbol. The children of all nodes are in one hash table of (node, symbol). Node 0 is the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import EMPTY, find_slot, pair_key
from toledo.kernels import kernel


class Trie(NamedTuple):
    """`counts[v]` is how often n-gram v may match, `seen` is scratch memory of the same size, all 0 between uses."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]
    counts: NDArray[np.int32]
    seen: NDArray[np.int32]


@kernel
def slots_for_nodes(nodes: int) -> int:
    """The size of the hash table: a power of two, at most half full."""
    slots = 4
    while slots < 2 * (nodes + 1):
        slots *= 2
    return slots


@kernel
def new_trie(nodes: int) -> Trie:
    """Memory for tries of up to so many nodes beside the root; `length · order` is enough for a sequence."""
    slots = slots_for_nodes(nodes)
    return Trie(
        np.empty(slots, np.uint64),
        np.empty(slots, np.int32),
        np.zeros(nodes + 1, np.int32),
        np.zeros(nodes + 1, np.int32),
    )


@kernel
def cleared(memory: Trie, nodes: int) -> Trie:
    """An empty trie for up to so many nodes in the memory of a larger one."""
    slots = slots_for_nodes(nodes)
    trie = Trie(memory.keys[:slots], memory.children[:slots], memory.counts[: nodes + 1], memory.seen[: nodes + 1])
    trie.keys[:] = EMPTY
    trie.counts[:] = 0
    return trie


@kernel
def add_reference(trie: Trie, nodes: int, symbols: NDArray[np.int32], order: int) -> int:
    """Add a reference to a trie of so many nodes; the largest count of all references stays. Gives the new size."""
    for begin in range(symbols.size):
        node = 0
        for place in range(begin, min(begin + order, symbols.size)):
            key = pair_key(node, symbols[place])
            slot = find_slot(trie.keys, key)
            if trie.keys[slot] == EMPTY:
                nodes += 1
                trie.keys[slot] = key
                trie.children[slot] = nodes
            node = int(trie.children[slot])
            trie.seen[node] += 1
    for node in range(1, nodes + 1):
        trie.counts[node] = max(trie.counts[node], trie.seen[node])
        trie.seen[node] = 0
    return nodes


@kernel
def count_matches(trie: Trie, nodes: int, symbols: NDArray[np.int32], matches: NDArray[np.float64]) -> None:
    """Write to `matches[n − 1]` how many n-grams match, clipped by their counts in the references."""
    order = matches.size
    matches[:] = 0.0
    for begin in range(symbols.size):
        node = 0
        for place in range(begin, min(begin + order, symbols.size)):
            key = pair_key(node, symbols[place])
            slot = find_slot(trie.keys, key)
            if trie.keys[slot] == EMPTY:
                break
            node = int(trie.children[slot])
            trie.seen[node] += 1
            if trie.seen[node] <= trie.counts[node]:
                matches[place - begin] += 1.0
    trie.seen[: nodes + 1] = 0
