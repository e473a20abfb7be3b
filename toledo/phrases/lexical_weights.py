"""Lexical weights: how well the words of a phrase pair translate each other.

With an alignment (Koehn, Och and Marcu 2003): Π_m mean over the links (r, m) of p(e_m | f_r), with the empty word for a
word without links. Without one (He and Deng 2012, from IBM Model 1): Π_m Σ_r p(e_m | f_r), not normalised.
All results are natural logarithms, LOWEST_SCORE for a probability of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import build_pair_index, find_slot, pair_key
from toledo.kernels import kernel, map_chunks
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons
from toledo.phrases.pairs import PhrasePairs
from toledo.phrases.table import LOWEST_SCORE
from toledo.sorting import rank_pairs

PAIRS_AT_ONCE = 1 << 16
LONGEST = 256  # words in a phrase: positions are bytes
FORWARD, BACKWARD = 0, 1


class Weights(NamedTuple):
    """Logarithms of forward weights p(target | source) and backward weights p(source | target) of each pair."""

    forward: NDArray[np.float32]
    backward: NDArray[np.float32]


class _WordPairs(NamedTuple):
    """Both directions by one look-up: `probabilities[slot]` of (source word, target word), 0 in empty slots."""

    keys: NDArray[np.uint64]
    probabilities: NDArray[np.float32]


class _Pairs(NamedTuple):
    """The arrays of PhrasePairs, for compiled code."""

    source_offsets: NDArray[np.int64]
    source_words: NDArray[np.int32]
    target_offsets: NDArray[np.int64]
    target_words: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint8]


def alignment_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> Weights:
    """The weights of Koehn et al. with the links of the pairs."""
    return _weights(pairs, lexicons, True, threads)


def model1_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> Weights:
    """The weights of He and Deng, whatever the links."""
    return _weights(pairs, lexicons, False, threads)


def _weights(pairs: PhrasePairs, lexicons: Lexicons, with_links: bool, threads: int | None) -> Weights:
    for phrases in (pairs.sources, pairs.targets):
        if np.diff(phrases.offsets).max(initial=0) > LONGEST:
            raise ValueError(f"a phrase has more than {LONGEST} words")
    word_pairs, weigh = _index(lexicons), _with_links if with_links else _without_links
    sides = (pairs.sources.offsets, pairs.sources.words, pairs.targets.offsets, pairs.targets.words)
    arrays = _Pairs(*sides, pairs.source, pairs.target, pairs.link_offsets, pairs.links)
    weights = Weights(np.empty(len(pairs), np.float32), np.empty(len(pairs), np.float32))
    map_chunks(
        lambda begin, end: weigh(arrays, word_pairs, begin, end, weights),
        len(pairs),
        chunk=PAIRS_AT_ONCE,
        threads=threads,
    )
    return weights


def _index(lexicons: Lexicons) -> _WordPairs:
    """One table of all word pairs that either lexicon has."""
    (given_source, target), (given_target, source) = (_entries(lexicon) for lexicon in lexicons)
    sources, targets = np.concatenate([given_source, source]), np.concatenate([target, given_target])
    ranks = rank_pairs(sources, targets)
    keys, values = build_pair_index(sources[ranks.first], targets[ranks.first])
    by_rank = np.zeros((ranks.first.size + 1, 2), np.float32)  # the last row is for empty slots: their value is -1
    by_rank[ranks.of[: target.size], FORWARD] = lexicons.forward.probabilities
    by_rank[ranks.of[target.size :], BACKWARD] = lexicons.backward.probabilities
    return _WordPairs(keys, by_rank[values])


def _entries(lexicon: Lexicon) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The given word and the word of each entry."""
    rows = np.arange(lexicon.offsets.size - 1, dtype=np.int32)
    return np.repeat(rows, np.diff(lexicon.offsets)), lexicon.words


@kernel
def _with_links(pairs: _Pairs, word_pairs: _WordPairs, begin: int, end: int, weights: Weights) -> None:
    sums, counts = np.zeros((2, LONGEST), np.float64), np.zeros((2, LONGEST), np.int64)
    for p in range(begin, end):
        source_first, target_first = pairs.source_offsets[pairs.source[p]], pairs.target_offsets[pairs.target[p]]
        source_length = pairs.source_offsets[pairs.source[p] + 1] - source_first
        target_length = pairs.target_offsets[pairs.target[p] + 1] - target_first
        for k in range(pairs.link_offsets[p], pairs.link_offsets[p + 1]):
            r, m = pairs.links[k, 0], pairs.links[k, 1]
            key = pair_key(pairs.source_words[source_first + r], pairs.target_words[target_first + m])
            slot = find_slot(word_pairs.keys, key)
            sums[FORWARD, m] += word_pairs.probabilities[slot, FORWARD]
            sums[BACKWARD, r] += word_pairs.probabilities[slot, BACKWARD]
            counts[FORWARD, m] += 1
            counts[BACKWARD, r] += 1
        for m in range(target_length):
            if not counts[FORWARD, m]:
                slot = find_slot(word_pairs.keys, pair_key(NULL, pairs.target_words[target_first + m]))
                sums[FORWARD, m], counts[FORWARD, m] = word_pairs.probabilities[slot, FORWARD], 1
        for r in range(source_length):
            if not counts[BACKWARD, r]:
                slot = find_slot(word_pairs.keys, pair_key(pairs.source_words[source_first + r], NULL))
                sums[BACKWARD, r], counts[BACKWARD, r] = word_pairs.probabilities[slot, BACKWARD], 1
        weights.forward[p] = _log_product(sums[FORWARD], counts[FORWARD], target_length)
        weights.backward[p] = _log_product(sums[BACKWARD], counts[BACKWARD], source_length)
        sums[:, : max(source_length, target_length)] = 0.0
        counts[:, : max(source_length, target_length)] = 0


@kernel
def _without_links(pairs: _Pairs, word_pairs: _WordPairs, begin: int, end: int, weights: Weights) -> None:
    sums, counts = np.zeros((2, LONGEST), np.float64), np.ones(LONGEST, np.int64)
    for p in range(begin, end):
        source_first, target_first = pairs.source_offsets[pairs.source[p]], pairs.target_offsets[pairs.target[p]]
        source_length = pairs.source_offsets[pairs.source[p] + 1] - source_first
        target_length = pairs.target_offsets[pairs.target[p] + 1] - target_first
        for r in range(source_length):
            for m in range(target_length):
                key = pair_key(pairs.source_words[source_first + r], pairs.target_words[target_first + m])
                slot = find_slot(word_pairs.keys, key)
                sums[FORWARD, m] += word_pairs.probabilities[slot, FORWARD]
                sums[BACKWARD, r] += word_pairs.probabilities[slot, BACKWARD]
        weights.forward[p] = _log_product(sums[FORWARD], counts, target_length)
        weights.backward[p] = _log_product(sums[BACKWARD], counts, source_length)
        sums[:, : max(source_length, target_length)] = 0.0


@kernel
def _log_product(sums: NDArray[np.float64], counts: NDArray[np.int64], length: int) -> float:
    product = 1.0
    for i in range(length):
        product *= sums[i] / counts[i]
    return max(np.log(product), LOWEST_SCORE) if product > 0.0 else LOWEST_SCORE
