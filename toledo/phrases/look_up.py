"""All phrases of a sentence that have an entry in a phrase table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import find_pair
from toledo.kernels import kernel
from toledo.phrases.trie import NO_PHRASE, ROOT, Trie

NO_SPAN = -1


class Spans(NamedTuple):
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
def find_spans(trie: Trie, option_offsets: NDArray[np.int32], longest: int, words: NDArray[np.int32]) -> Spans:
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
    return Spans(begin[:spans].copy(), end[:spans].copy(), first, stop, at)


@kernel
def occurring_phrases(
    trie: Trie, phrases: int, longest: int, words: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which phrases stand in one of the sentences `words[offsets[s]:offsets[s + 1]]`."""
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
    """The pair of each source phrase and target phrase, or -1; `target` rises within the options of a source."""
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
