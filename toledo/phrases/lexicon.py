"""Word translation probabilities p(word | given word) as sorted sparse rows.

From a word alignment they are relative frequencies of links; a word without links counts as linked to the empty word
(Koehn, Och and Marcu 2003).

Lexical weights: how well the words of a phrase pair translate each other.

With an alignment (Koehn, Och and Marcu 2003): Π_m mean over the links (r, m) of p(e_m | f_r), with the empty word for a
word without links. Without one (He and Deng 2012, from IBM Model 1): Π_m Σ_r p(e_m | f_r), not normalized.
All results are natural logarithms, LOWEST_SCORE for a probability of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import build_pair_index, find_slot, pair_key
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import are_offsets, offsets_of
from toledo.compiled.sorting import rank_pairs
from toledo.phrases.table import LOWEST_SCORE, PhrasePairs, WordLinks
from toledo.text.corpus import ParallelCorpus
from toledo.text.vocabulary import UNKNOWN

NULL = UNKNOWN  # the empty word; `<unk>` itself never stands in a training text


class Lexicon(NamedTuple):
    """Row g holds p(w | g): words `words[offsets[g]:offsets[g + 1]]` in rising order and their probabilities."""

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    probabilities: NDArray[np.float32]


class Lexicons(NamedTuple):
    """Both directions: `forward` gives p(target word | source word), `backward` p(source word | target word)."""

    forward: Lexicon
    backward: Lexicon


def check_lexicon(lexicon: Lexicon, given_words: int, words: int) -> None:
    """Refuse arrays that look-up could not read safely, or that hold no probabilities."""
    offsets, ids, probabilities = lexicon
    if not are_offsets(offsets, ids.size) or offsets.size > given_words + 1 or ids.size != probabilities.size:
        raise ValueError("the rows of a lexicon do not fit its words")
    if ids.size and (ids.min() < 0 or ids.max() >= words):
        raise ValueError("a lexicon has words that are not in the vocabulary")
    if not np.isfinite(probabilities).all() or (probabilities < 0).any():
        raise ValueError("a lexicon has a negative or infinite probability")


def lexicons_from(corpus: ParallelCorpus, alignments: WordLinks, decimals: int | None = None) -> Lexicons:
    """Return the lexicons that an alignment implies, rounded to `decimals` (Moses: 7) or as they are."""
    if (bad := alignments.first_outside(corpus)) is not None:
        raise ValueError(f"alignment {bad} has a link outside its sentences")
    source, target = _linked_words(
        corpus.source.words,
        corpus.source.offsets,
        corpus.target.words,
        corpus.target.offsets,
        alignments.offsets,
        alignments.links,
    )
    rows, columns = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    return Lexicons(
        relative_frequencies(source, target, rows, decimals), relative_frequencies(target, source, columns, decimals)
    )


def relative_frequencies(
    given: NDArray[np.int32], word: NDArray[np.int32], rows: int, decimals: int | None = None
) -> Lexicon:
    """Return the lexicon p(word | given) of occurrences; `rows` is the size of the given words' vocabulary."""
    ranks = rank_pairs(given, word)
    of_given, totals = given[ranks.first], np.bincount(given, minlength=rows)
    offsets = offsets_of(np.bincount(of_given, minlength=rows))
    frequencies = ranks.counts / totals[of_given]
    if decimals is not None:
        frequencies = np.maximum(np.round(frequencies, decimals), 10.0**-decimals)  # no seen pair becomes impossible
    return Lexicon(offsets, word[ranks.first], frequencies.astype(np.float32))


@kernel
def _linked_words(
    source: NDArray[np.int32],
    source_offsets: NDArray[np.int64],
    target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the two words of each link, and each word without links together with NULL."""
    linked_source, linked_target = np.zeros(source.size, np.bool_), np.zeros(target.size, np.bool_)
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            linked_source[source_offsets[s] + links[k, 0]] = True
            linked_target[target_offsets[s] + links[k, 1]] = True
    size = offsets[-1] + np.sum(~linked_source) + np.sum(~linked_target)
    first, second = np.full(size, NULL, np.int32), np.full(size, NULL, np.int32)
    filled = 0
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            first[filled] = source[source_offsets[s] + links[k, 0]]
            second[filled] = target[target_offsets[s] + links[k, 1]]
            filled += 1
    for i in range(source.size):
        if not linked_source[i]:
            first[filled] = source[i]
            filled += 1
    for j in range(target.size):
        if not linked_target[j]:
            second[filled] = target[j]
            filled += 1
    return first, second


@kernel
def find_entry(lexicon: Lexicon, given: int, word: int) -> int:
    """Return the position of p(word | given), or -1."""
    if given + 1 >= lexicon.offsets.size:
        return -1
    low, high = lexicon.offsets[given], lexicon.offsets[given + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if lexicon.words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and lexicon.words[low] == word else -1


@kernel
def word_probability(lexicon: Lexicon, given: int, word: int) -> float:
    """Return the probability p(word | given), 0 for a pair not in the lexicon."""
    entry = find_entry(lexicon, given, word)
    return float(lexicon.probabilities[entry]) if entry >= 0 else 0.0


PAIRS_AT_ONCE = 1 << 16
LONGEST = 256  # words in a phrase: positions are bytes
FORWARD, BACKWARD = 0, 1


class PairWeights(NamedTuple):
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


def alignment_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> PairWeights:
    """Return the weights of Koehn et al. with the links of the pairs."""
    return _weights(pairs, lexicons, True, threads)


def model1_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> PairWeights:
    """Return the weights of He and Deng, whatever the links."""
    return _weights(pairs, lexicons, False, threads)


def _weights(pairs: PhrasePairs, lexicons: Lexicons, with_links: bool, threads: int | None) -> PairWeights:
    for phrases in (pairs.sources, pairs.targets):
        if phrases.lengths.max(initial=0) > LONGEST:
            raise ValueError(f"a phrase has more than {LONGEST} words")
    word_pairs, weigh = _index(lexicons), _with_links if with_links else _without_links
    sides = (pairs.sources.offsets, pairs.sources.words, pairs.targets.offsets, pairs.targets.words)
    arrays = _Pairs(*sides, pairs.source, pairs.target, pairs.link_offsets, pairs.links)
    weights = PairWeights(np.empty(len(pairs), np.float32), np.empty(len(pairs), np.float32))
    map_chunks(
        lambda begin, end: weigh(arrays, word_pairs, begin, end, weights),
        len(pairs),
        chunk=PAIRS_AT_ONCE,
        threads=threads,
    )
    return weights


def _index(lexicons: Lexicons) -> _WordPairs:
    """Return one table of all word pairs that either lexicon has."""
    (given_source, target), (given_target, source) = (_entries(lexicon) for lexicon in lexicons)
    sources, targets = np.concatenate([given_source, source]), np.concatenate([target, given_target])
    ranks = rank_pairs(sources, targets)
    keys, values = build_pair_index(sources[ranks.first], targets[ranks.first])
    by_rank = np.zeros((ranks.first.size + 1, 2), np.float32)  # the last row is for empty slots: their value is -1
    by_rank[ranks.of[: target.size], FORWARD] = lexicons.forward.probabilities
    by_rank[ranks.of[target.size :], BACKWARD] = lexicons.backward.probabilities
    return _WordPairs(keys, by_rank[values])


def _entries(lexicon: Lexicon) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the given word and the word of each entry."""
    rows = np.arange(lexicon.offsets.size - 1, dtype=np.int32)
    return np.repeat(rows, np.diff(lexicon.offsets)), lexicon.words


@kernel
def _with_links(pairs: _Pairs, word_pairs: _WordPairs, begin: int, end: int, weights: PairWeights) -> None:
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
def _without_links(pairs: _Pairs, word_pairs: _WordPairs, begin: int, end: int, weights: PairWeights) -> None:
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
