"""Word translation probabilities p(word | given word) as sorted sparse rows.

From a word alignment they are relative frequencies of links; a word without links counts as linked to the empty word
(Koehn, Och and Marcu 2003).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import ParallelCorpus
from toledo.kernels import kernel
from toledo.phrases.alignments import Alignments
from toledo.sorting import rank_pairs
from toledo.vocabulary import UNKNOWN

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
    if not offsets.size or offsets.size > given_words + 1 or offsets[0] != 0 or offsets[-1] != ids.size:
        raise ValueError("the rows of a lexicon do not fit its words")
    if np.any(np.diff(offsets) < 0) or ids.size != probabilities.size:
        raise ValueError("the rows of a lexicon do not fit its words")
    if ids.size and (ids.min() < 0 or ids.max() >= words):
        raise ValueError("a lexicon has words that are not in the vocabulary")
    if not np.isfinite(probabilities).all() or (probabilities < 0).any():
        raise ValueError("a lexicon has a probability that is none")


def lexicons_from(corpus: ParallelCorpus, alignments: Alignments, decimals: int | None = None) -> Lexicons:
    """The lexicons that an alignment implies, rounded to `decimals` (Moses: 7) or as they are."""
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
    """The lexicon p(word | given) of a list of occurrences; `rows` is the size of the given words' vocabulary."""
    ranks = rank_pairs(given, word)
    of_given, totals = given[ranks.first], np.bincount(given, minlength=rows)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(of_given, minlength=rows), out=offsets[1:])
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
    """The two words of each link, and each word without links together with NULL."""
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
    """The position of p(word | given), or -1."""
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
    """The probability p(word | given), 0 for a pair not in the lexicon."""
    entry = find_entry(lexicon, given, word)
    return float(lexicon.probabilities[entry]) if entry >= 0 else 0.0
