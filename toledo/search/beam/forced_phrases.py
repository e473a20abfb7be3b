"""Which phrases of a sentence stand in a given target text, and what language models make of that text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.growing import grown
from toledo.hashing import find_pair
from toledo.kernels import inlined, kernel
from toledo.language_model.automaton import advance, begin_state
from toledo.phrases.trie import NO_PHRASE, ROOT, Trie
from toledo.search.beam.arrays import Scoring
from toledo.search.beam.options import LN10, UNKNOWN_WORD
from toledo.vocabulary import END


class Placed(NamedTuple):
    """Phrases that stand in the target: source words from `begin` up to `end` give `length` words at `place`.

    Those at one place are `offsets[place]:offsets[place + 1]`.
    """

    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    pairs: NDArray[np.int32]
    place: NDArray[np.int32]
    length: NDArray[np.int32]
    offsets: NDArray[np.int64]


@kernel
def place_phrases(
    trie: Trie,
    option_offsets: NDArray[np.int32],
    longest: int,
    pair_target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    target_words: NDArray[np.int32],
    source: NDArray[np.int32],
    copies: NDArray[np.int32],
    copied: NDArray[np.bool_],
    target: NDArray[np.int32],
) -> Placed:
    """All phrase pairs of the sentence, and words to be copied, that stand somewhere in the target."""
    rows, size = np.empty((64, 5), np.int32), 0
    for b in range(source.size):
        node = ROOT
        for e in range(b, min(b + longest, source.size)):
            node = find_pair(trie.children, node, source[e])
            if node < 0:
                break
            phrase = trie.phrase[node]
            if phrase == NO_PHRASE:
                continue
            for pair in range(option_offsets[phrase], option_offsets[phrase + 1]):
                first, stop = target_offsets[pair_target[pair]], target_offsets[pair_target[pair] + 1]
                for j in range(target.size - (stop - first) + 1):
                    if _stands_at(target, j, target_words, first, stop):
                        rows = grown(rows, size + 1)
                        _set_row(rows, size, b, e + 1, pair, j, stop - first)
                        size += 1
        for j in range(target.size if copied[b] else 0):
            if target[j] == copies[b]:
                rows = grown(rows, size + 1)
                _set_row(rows, size, b, b + 1, UNKNOWN_WORD, j, 1)
                size += 1
    return _by_place(rows, size, target.size)


@inlined
def _stands_at(target: NDArray[np.int32], j: int, words: NDArray[np.int32], first: int, stop: int) -> bool:
    same = True
    for k in range(stop - first):
        if target[j + k] != words[first + k]:
            same = False
            break
    return same


@inlined
def _set_row(rows: NDArray[np.int32], row: int, begin: int, end: int, pair: int, place: int, length: int) -> None:
    rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4] = begin, end, pair, place, length


@kernel
def _by_place(rows: NDArray[np.int32], size: int, places: int) -> Placed:
    """Sorted by counting; those at one place stay in order."""
    offsets = np.zeros(places + 1, np.int64)
    for i in range(size):
        offsets[rows[i, 3] + 1] += 1
    for j in range(places):
        offsets[j + 1] += offsets[j]
    used, columns = offsets.copy(), np.empty((5, size), np.int32)
    for i in range(size):
        for k in range(5):
            columns[k, used[rows[i, 3]]] = rows[i, k]
        used[rows[i, 3]] += 1
    return Placed(columns[0], columns[1], columns[2], columns[3], columns[4], offsets)


@kernel
def prefix_scores(scoring: Scoring, words: NDArray[np.int32]) -> NDArray[np.float64]:
    """`[i, m]`: the natural log probability of the first i words by model m; the last row has the end as well."""
    totals = np.zeros((words.size + 2, len(scoring.models)))
    for m in range(len(scoring.models)):
        state, total = begin_state(scoring.models[m]), 0.0
        for i in range(words.size + 1):
            step, state = advance(scoring.models[m], state, words[i] if i < words.size else END)
            total += step * LN10
            totals[i + 1, m] = total
    return totals
