"""A trie of phrases in flat arrays: (node, word) → node in one hash table, the root is node 0.

All phrases of a sentence that have an entry in a phrase table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY, HALF, LOAD, NOT_FOUND, PairIndex, find_pair, find_slot, pair_key, slots_for
from toledo.compiled.kernels import kernel
from toledo.text.corpus import Sentences

ROOT = 0
NO_PHRASE = -1
MOST_NODES = 2**31 - 1
PHRASES_AT_ONCE = 10_000  # room is made for all their words, most of which turn out to be known


class Phrases(Sentences):
    """Distinct phrases of one language: phrase i is `words[offsets[i]:offsets[i + 1]]`."""


class PhraseTrie(NamedTuple):
    """Children of nodes, and `phrase[node]`: the number of the phrase that ends there, or NO_PHRASE."""

    children: PairIndex
    phrase: NDArray[np.int32]


class TrieBuilder:
    """Numbers phrases while they come: equal phrases end at the same node.

    A parent is made before its children, so its number is smaller.
    """

    def __init__(self) -> None:
        slots = slots_for(0)
        self.children = PairIndex(np.full(slots, EMPTY, np.uint64), np.full(slots, NOT_FOUND, np.int32))
        self.nodes = 1

    def add(self, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the node of each phrase `words[offsets[i]:offsets[i + 1]]`; what is missing is added."""
        ends = np.empty(offsets.size - 1, np.int32)
        for first in range(0, ends.size, PHRASES_AT_ONCE):
            part = offsets[first : first + PHRASES_AT_ONCE + 1]
            self._reserve(int(part[-1] - part[0]))
            ends[first : first + PHRASES_AT_ONCE], self.nodes = _add_phrases(self.children, self.nodes, words, part)
        return ends

    def phrases(self, ends: NDArray[np.int32]) -> tuple[Phrases, NDArray[np.int32]]:
        """Return the distinct phrases that end at some nodes, in order of these, and the number of each end."""
        is_end = np.zeros(self.nodes, np.bool_)
        is_end[ends] = True
        number = np.cumsum(is_end, dtype=np.int64) - 1
        offsets, words = _spell(*_parents(self.children, self.nodes), is_end)
        return Phrases(words, offsets), number[ends].astype(np.int32)

    def _reserve(self, extra: int) -> None:
        if self.nodes + extra > MOST_NODES:
            raise ValueError(f"a trie holds at most {MOST_NODES} nodes")
        slots = slots_for(self.nodes + extra)
        if slots > self.children.keys.size:
            larger = PairIndex(np.full(slots, EMPTY, np.uint64), np.full(slots, NOT_FOUND, np.int32))
            _copy_entries(self.children, larger)
            self.children = larger


def build_trie(phrases: Phrases) -> PhraseTrie:
    """Return the trie of distinct phrases."""
    builder = TrieBuilder()
    ends = builder.add(phrases.words, phrases.offsets)
    phrase = np.full(builder.nodes, NO_PHRASE, np.int32)
    phrase[ends] = np.arange(len(phrases), dtype=np.int32)
    return PhraseTrie(builder.children, phrase)


def check_trie(trie: PhraseTrie, phrases: Phrases) -> None:
    """Refuse a trie that could lead a walk out of bounds or make it endless, or that does not lead to the phrases."""
    keys, values = trie.children
    if keys.ndim != 1 or values.shape != keys.shape or keys.size.bit_count() != 1:
        raise ValueError("the hash table of a trie needs a power of two of slots")
    used = keys != EMPTY
    if np.count_nonzero(used) > LOAD * keys.size:
        raise ValueError("the hash table of a trie is too full")
    if trie.phrase.ndim != 1 or not trie.phrase.size:
        raise ValueError("a trie needs a root")
    if np.any(used & ((values <= ROOT) | (values >= trie.phrase.size))):
        raise ValueError("a trie leads to a node that does not exist")
    if np.any((trie.phrase < NO_PHRASE) | (trie.phrase >= len(phrases))):
        raise ValueError("a trie names a phrase that does not exist")
    if not np.array_equal(find_phrases(trie, phrases.words, phrases.offsets), np.arange(len(phrases))):
        raise ValueError("a trie does not lead to its phrases")


@kernel
def find_phrases(trie: PhraseTrie, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the number of each phrase `words[offsets[i]:offsets[i + 1]]`, or NO_PHRASE."""
    found = np.empty(offsets.size - 1, np.int32)
    for p in range(found.size):
        node = ROOT
        for i in range(offsets[p], offsets[p + 1]):
            node = find_pair(trie.children, node, words[i])
            if node < 0:
                break
        found[p] = trie.phrase[node] if node >= 0 else NO_PHRASE
    return found


@kernel
def _add_phrases(
    children: PairIndex, nodes: int, words: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """There must be room for all the words."""
    ends = np.empty(offsets.size - 1, np.int32)
    for p in range(ends.size):
        node = ROOT
        for i in range(offsets[p], offsets[p + 1]):
            key = pair_key(node, words[i])
            slot = find_slot(children.keys, key)
            if children.keys[slot] != key:
                children.keys[slot] = key
                children.values[slot] = nodes
                nodes += 1
            node = children.values[slot]
        ends[p] = node
    return ends, nodes


@kernel
def _copy_entries(small: PairIndex, large: PairIndex) -> None:
    for i in range(small.keys.size):
        if small.keys[i] != EMPTY:
            slot = find_slot(large.keys, small.keys[i])
            large.keys[slot] = small.keys[i]
            large.values[slot] = small.values[i]


@kernel
def _parents(children: PairIndex, nodes: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the parent of each node, the word that leads to it, and its depth."""
    parent, word, depth = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)
    for i in range(children.keys.size):
        key = children.keys[i]
        if key != EMPTY:
            node = children.values[i]
            parent[node] = np.int64(key >> HALF)
            word[node] = np.int64(key & np.uint64(0xFFFF_FFFF))
    for node in range(1, nodes):
        depth[node] = depth[parent[node]] + 1
    return parent, word, depth


@kernel
def _spell(
    parent: NDArray[np.int32], word: NDArray[np.int32], depth: NDArray[np.int32], is_end: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the words on the way to each end, one phrase after the other."""
    phrases, total = 0, 0
    for node in range(is_end.size):
        if is_end[node]:
            phrases += 1
            total += depth[node]
    offsets, words = np.zeros(phrases + 1, np.int64), np.empty(total, np.int32)
    filled = 0
    for end in range(is_end.size):
        if is_end[end]:
            offsets[filled + 1] = offsets[filled] + depth[end]
            node = end
            for place in range(offsets[filled + 1] - 1, offsets[filled] - 1, -1):
                words[place] = word[node]
                node = parent[node]
            filled += 1
    return offsets, words


NO_SPAN = -1


class OptionSpans(NamedTuple):
    """The spans of a sentence with options: span s covers the words from `begin[s]` up to `end[s]`.

    Its options are the phrase pairs from `first[s]` up to `stop[s]`. Spans are sorted by begin, then by end;
    `at[b, n - 1]` is the span of the n words from b, or NO_SPAN.
    """

    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    first: NDArray[np.int32]
    stop: NDArray[np.int32]
    at: NDArray[np.int32]


@kernel
def find_spans(
    trie: PhraseTrie, option_offsets: NDArray[np.int32], longest: int, words: NDArray[np.int32]
) -> OptionSpans:
    """Walk the trie from every position; no phrase is longer than `longest`, the depth of the trie."""
    at = np.full((words.size, longest), NO_SPAN, np.int32)
    phrase = np.empty(words.size * longest, np.int32)
    begin, end = np.empty(words.size * longest, np.int32), np.empty(words.size * longest, np.int32)
    spans = 0
    for b in range(words.size):
        node = ROOT
        for e in range(b, min(b + longest, words.size)):
            node = find_pair(trie.children, node, words[e])
            if node < 0:
                break
            if trie.phrase[node] != NO_PHRASE:
                at[b, e - b] = spans
                begin[spans], end[spans], phrase[spans] = b, e + 1, trie.phrase[node]
                spans += 1
    first, stop = np.empty(spans, np.int32), np.empty(spans, np.int32)
    for s in range(spans):
        first[s], stop[s] = option_offsets[phrase[s]], option_offsets[phrase[s] + 1]
    return OptionSpans(begin[:spans].copy(), end[:spans].copy(), first, stop, at)


@kernel
def occurring_phrases(
    trie: PhraseTrie, phrases: int, longest: int, words: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which phrases stand in one of the sentences `words[offsets[s]:offsets[s + 1]]`."""
    occurs = np.zeros(phrases, np.bool_)
    for s in range(offsets.size - 1):
        for b in range(offsets[s], offsets[s + 1]):
            node = ROOT
            for e in range(b, min(b + longest, offsets[s + 1])):
                node = find_pair(trie.children, node, words[e])
                if node < 0:
                    break
                if trie.phrase[node] != NO_PHRASE:
                    occurs[trie.phrase[node]] = True
    return occurs


@kernel
def find_pairs(
    option_offsets: NDArray[np.int32],
    target: NDArray[np.int32],
    wanted_source: NDArray[np.int32],
    wanted_target: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the pair of each source phrase and target phrase, or -1; `target` rises within the options of a source."""
    found = np.full(wanted_source.size, -1, np.int32)
    for i in range(wanted_source.size):
        if wanted_source[i] < 0 or wanted_target[i] < 0:
            continue
        low, end = option_offsets[wanted_source[i]], option_offsets[wanted_source[i] + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if target[middle] < wanted_target[i]:
                low = middle + 1
            else:
                high = middle
        if low < end and target[low] == wanted_target[i]:
            found[i] = low
    return found
