"""All substrings of a text up to a length, numbered exactly and without hashing.

A substring of n words is the pair (number of its first n−1 words, its last word). Numbers rise with the length, and
among substrings of one length in the order of their word ids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of
from toledo.compiled.sorting import MOST_ITEMS, rank_pairs
from toledo.phrases.trie import Phrases
from toledo.text.corpus import Sentences

NONE = -1  # where a sentence ends before the substring does


class Substrings(NamedTuple):
    """`numbers[n - 1, i]` is the number of the n words from position i; substring k first stands at `first[k]`.

    The substrings of n words are numbered from `bases[n - 1]` up to `bases[n]`.
    """

    numbers: NDArray[np.int32]
    first: NDArray[np.int32]
    bases: NDArray[np.int64]


def number_substrings(sentences: Sentences, max_length: int) -> Substrings:
    """Number the substrings of 1 to `max_length` words that do not cross the end of a sentence."""
    words, offsets = sentences.words, sentences.offsets
    numbers = np.empty((max_length, words.size), np.int32)
    firsts: list[NDArray[np.int32]] = []
    bases = np.zeros(max_length + 1, np.int64)
    for index in range(max_length):
        if index == 0:
            ranks = rank_pairs(np.zeros(words.size, np.int32), words)
        else:
            ranks = rank_pairs(*_extended(numbers[index - 1], int(bases[index - 1]), words, offsets, index))
        bases[index + 1] = bases[index] + ranks.first.size
        if bases[index + 1] > MOST_ITEMS:
            raise ValueError(f"more than {MOST_ITEMS} distinct substrings; use a shorter maximum length")
        firsts.append(_spread(ranks.of, ranks.first.size, offsets, index, int(bases[index]), numbers[index]))
    return Substrings(numbers, np.concatenate(firsts), bases)


def phrases_of(substrings: Substrings, sentences: Sentences, chosen: NDArray[np.int64]) -> Phrases:
    """The words of some substrings, given by their numbers in rising order."""
    of_each_length = np.diff(np.searchsorted(chosen, substrings.bases))
    offsets = offsets_of(np.repeat(np.arange(1, substrings.bases.size, dtype=np.uint8), of_each_length))
    return Phrases(_gather_words(sentences.words, substrings.first[chosen], offsets), offsets)


def without_positions(substrings: Substrings) -> Substrings:
    """Only what `phrases_of` needs: the numbers by position are the largest part."""
    return substrings._replace(numbers=np.empty((0, 0), np.int32))


@kernel
def _extended(
    shorter: NDArray[np.int32], base: int, words: NDArray[np.int32], offsets: NDArray[np.int64], extra: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Each position with `extra` words after it in its sentence: the rank of the shorter string, and the last word."""
    total = 0
    for s in range(offsets.size - 1):
        total += max(offsets[s + 1] - offsets[s] - extra, 0)
    begins, ends = np.empty(total, np.int32), np.empty(total, np.int32)
    filled = 0
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1] - extra):
            begins[filled] = shorter[i] - base
            ends[filled] = words[i + extra]
            filled += 1
    return begins, ends


@kernel
def _spread(
    ranks: NDArray[np.int32],
    distinct: int,
    offsets: NDArray[np.int64],
    extra: int,
    base: int,
    numbers: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Write numbers (ranks from `base`) back to the positions; the first position of each."""
    first = np.full(distinct, -1, np.int32)
    numbers[:] = NONE
    taken = 0
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1] - extra):
            rank = ranks[taken]
            taken += 1
            numbers[i] = base + rank
            if first[rank] < 0:
                first[rank] = i
    return first


@kernel
def _gather_words(words: NDArray[np.int32], first: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    gathered = np.empty(offsets[-1], np.int32)
    for p in range(first.size):
        for k in range(offsets[p + 1] - offsets[p]):
            gathered[offsets[p] + k] = words[first[p] + k]
    return gathered
