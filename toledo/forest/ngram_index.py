"""Numbers for the n-grams of a sentence: an n-gram is the pair (its first n−1 words, its last word)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY, find_slot, pair_key
from toledo.compiled.kernels import inner_kernel, kernel

NO_NGRAM = -1  # no such n-gram; as a prefix, that of a single word


class NGramIndex(NamedTuple):
    """`words[i]` is the last word of n-gram i, `prefixes[i]` the n-gram before it, `used[0]` how many there are."""

    used: NDArray[np.int64]
    keys: NDArray[np.uint64]
    slots: NDArray[np.int32]
    prefixes: NDArray[np.int32]
    words: NDArray[np.int32]
    orders: NDArray[np.uint8]


def empty_index() -> NGramIndex:
    """No n-grams yet."""
    room = 64
    return NGramIndex(
        np.zeros(1, np.int64),
        np.full(2 * room, EMPTY, np.uint64),
        np.empty(2 * room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.uint8),
    )


@kernel
def with_room(index: NGramIndex, more: int) -> NGramIndex:
    """Return the index with room for some more n-grams."""
    needed = index.used[0] + more
    if needed <= index.words.size:
        return index
    room = index.words.size
    while room < needed:
        room *= 2
    larger = NGramIndex(
        index.used,
        np.full(2 * room, EMPTY, np.uint64),
        np.empty(2 * room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.uint8),
    )
    for i in range(index.used[0]):
        larger.prefixes[i], larger.words[i], larger.orders[i] = index.prefixes[i], index.words[i], index.orders[i]
        key = pair_key(index.prefixes[i] + 1, index.words[i])
        slot = find_slot(larger.keys, key)
        larger.keys[slot], larger.slots[slot] = key, i
    return larger


@kernel
def with_room_for_counts(
    index: NGramIndex, counts: NDArray[np.float64], more: int
) -> tuple[NGramIndex, NDArray[np.float64]]:
    """Return the same for an index beside counts of its n-grams."""
    index = with_room(index, more)
    if index.words.size > counts.size:
        counts = np.concatenate((counts, np.zeros(index.words.size - counts.size)))
    return index, counts


@inner_kernel
def find_ngram(index: NGramIndex, prefix: int, word: int) -> int:
    """Return the number of an n-gram, or NO_NGRAM."""
    key = pair_key(prefix + 1, word)
    slot = find_slot(index.keys, key)
    return int(index.slots[slot]) if index.keys[slot] == key else NO_NGRAM


@inner_kernel
def add_ngram(index: NGramIndex, prefix: int, word: int) -> int:
    """Return the number of an n-gram, a new one if need be (there must be room for it)."""
    key = pair_key(prefix + 1, word)
    slot = find_slot(index.keys, key)
    if index.keys[slot] == key:
        return int(index.slots[slot])
    number = index.used[0]
    index.used[0] += 1
    index.keys[slot], index.slots[slot] = key, number
    index.prefixes[number], index.words[number] = prefix, word
    index.orders[number] = 1 if prefix == NO_NGRAM else index.orders[prefix] + 1
    return int(number)


@inner_kernel
def count_text(
    index: NGramIndex,
    counts: NDArray[np.float64],
    words: NDArray[np.int32],
    begin: int,
    end: int,
    order: int,
    share: float,
) -> None:
    """Add a share to the counts of all n-grams of the words from `begin` up to `end`."""
    for start in range(begin, end):
        number = NO_NGRAM
        for place in range(start, min(start + order, end)):
            number = add_ngram(index, number, words[place])
            counts[number] += share


def number_of(index: NGramIndex, words: Sequence[int]) -> int:
    """Return the number of an n-gram given by its words, or NO_NGRAM."""
    number = NO_NGRAM
    for word in words:
        if not 0 <= word < 2**31:
            return NO_NGRAM
        number = find_ngram(index, number, word)
        if number == NO_NGRAM:
            break
    return number


def words_of(index: NGramIndex, number: int) -> tuple[int, ...]:
    """Return the words of an n-gram."""
    words: list[int] = []
    while number != NO_NGRAM:
        words.append(int(index.words[number]))
        number = int(index.prefixes[number])
    return tuple(reversed(words))
