"""Which of some texts are the same: a number for each, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import HALF, MULTIPLIER
from toledo.kernels import kernel

FREE = -1


@kernel
def number_texts(symbols: NDArray[np.int32], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number texts as they come, equal ones alike; gives the number of each, and where each number is first used."""
    texts = offsets.size - 1
    numbers, firsts, found = np.empty(texts, np.int64), np.empty(texts, np.int64), 0
    slots = 4
    while slots < 2 * texts:
        slots *= 2
    table, hashes = np.full(slots, FREE, np.int64), np.empty(texts, np.uint64)
    for text in range(texts):
        key = _hash(symbols, offsets[text], offsets[text + 1])
        slot = np.int64(key & np.uint64(slots - 1))
        while table[slot] != FREE:
            other = firsts[table[slot]]
            if hashes[table[slot]] == key and _same(symbols, offsets, text, other):
                break
            slot = (slot + 1) & (slots - 1)
        if table[slot] == FREE:
            table[slot], firsts[found], hashes[found] = found, text, key
            found += 1
        numbers[text] = table[slot]
    return numbers, firsts[:found].copy()


@kernel
def _hash(symbols: NDArray[np.int32], begin: int, end: int) -> np.uint64:
    key = np.uint64(end - begin)
    for place in range(begin, end):
        key = (key ^ np.uint64(symbols[place])) * MULTIPLIER
        key ^= key >> HALF
    return key


@kernel
def _same(symbols: NDArray[np.int32], offsets: NDArray[np.int64], one: int, other: int) -> bool:
    return np.array_equal(symbols[offsets[one] : offsets[one + 1]], symbols[offsets[other] : offsets[other + 1]])
