"""Counting the n-grams of a text in sorted arrays, and the adjusted counts of Kneser and Ney.

An n-gram is numbered as the pair (number of its first n−1 words, last word), order by order: exact, without hashing,
and in linear time. Adjusted counts (Heafield et al. 2013, section 3.2): an n-gram of the highest order or one that
begins with `<s>` has its count in the text; any other has the number of distinct words that stand before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.kernels import kernel
from toledo.language_model.boundaries import refuse_boundaries, with_boundaries
from toledo.progress import Progress, silent
from toledo.sorting import MOST_ITEMS, rank_pairs
from toledo.vocabulary import BEGIN, RESERVED


@dataclass(frozen=True)
class CountedNGrams:
    """N-grams of one order, sorted: context, last word, the n-gram without its first word, and count in the text."""

    contexts: NDArray[np.int32]
    words: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    counts: NDArray[np.int32]


def count_ngrams(sentences: Sentences, order: int, progress: Progress = silent) -> list[CountedNGrams]:
    """The n-grams of each order up to `order`, with one `<s>` before and one `</s>` after each sentence."""
    if sentences.words.size + 2 * len(sentences) > MOST_ITEMS:
        raise ValueError(f"at most {MOST_ITEMS} words can be counted at once")
    refuse_boundaries(sentences)
    with progress("counting n-grams", order) as advance:
        tokens, bounds = with_boundaries(sentences.words, sentences.offsets, 0, len(sentences))
        numbers, unigrams = _number_unigrams(tokens)
        advance(1)
        counted = [unigrams]
        for length in range(2, order + 1):
            counted.append(_number_longer(tokens, bounds, numbers, length))
            advance(1)
    return counted


def adjust_counts(counted: CountedNGrams, longer: CountedNGrams | None) -> NDArray[np.int32]:
    """The adjusted counts of an order, given the n-grams of the order above (None for the highest)."""
    return counted.counts if longer is None else _distinct_left(counted.counts, longer.suffixes)


def _number_unigrams(tokens: NDArray[np.int32]) -> tuple[NDArray[np.int32], CountedNGrams]:
    occurrences = np.bincount(tokens, minlength=len(RESERVED))
    present = occurrences > 0
    present[: len(RESERVED)] = True
    occurrences[BEGIN] = 0  # never predicted
    words = np.flatnonzero(present).astype(np.int32)
    numbers = (np.cumsum(present, dtype=np.int32) - 1)[tokens]
    root = np.zeros_like(words)
    return numbers, CountedNGrams(root, words, root, occurrences[words].astype(np.int32))


def _number_longer(
    tokens: NDArray[np.int32], bounds: NDArray[np.int64], numbers: NDArray[np.int32], length: int
) -> CountedNGrams:
    """Number the n-grams that end at each token; `numbers` of the order below is overwritten."""
    contexts, words, suffixes = _pairs(tokens, bounds, numbers, length)
    ranks = rank_pairs(contexts, words)
    _renumber(bounds, numbers, ranks.of, length)
    first = ranks.first
    return CountedNGrams(contexts[first], words[first], suffixes[first], ranks.counts)


@kernel
def _pairs(
    tokens: NDArray[np.int32], bounds: NDArray[np.int64], lower: NDArray[np.int32], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Context, last word and suffix of each n-gram of the text; `lower[i]` is the shorter one that ends at token i."""
    total = 0
    for s in range(bounds.size - 1):
        total += max(0, bounds[s + 1] - bounds[s] - length + 1)
    contexts, words, suffixes = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    place = 0
    for s in range(bounds.size - 1):
        for i in range(bounds[s] + length - 1, bounds[s + 1]):
            contexts[place] = lower[i - 1]
            words[place] = tokens[i]
            suffixes[place] = lower[i]
            place += 1
    return contexts, words, suffixes


@kernel
def _renumber(bounds: NDArray[np.int64], numbers: NDArray[np.int32], ranks: NDArray[np.int32], length: int) -> None:
    place = 0
    for s in range(bounds.size - 1):
        for i in range(bounds[s] + length - 1, bounds[s + 1]):
            numbers[i] = ranks[place]
            place += 1


@kernel
def _distinct_left(counts: NDArray[np.int32], suffixes: NDArray[np.int32]) -> NDArray[np.int32]:
    """The number of distinct words before each n-gram; the count itself where none can be: it begins with `<s>`."""
    adjusted = np.zeros(counts.size, np.int32)
    for suffix in suffixes:
        adjusted[suffix] += 1
    for i in range(counts.size):
        if adjusted[i] == 0:
            adjusted[i] = counts[i]
    return adjusted
