"""Look-up of pairs of ids, (state, word) or (word, word), from compiled code: open addressing in flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel

EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
MULTIPLIER = np.uint64(0x9E37_79B9_7F4A_7C15)  # 2^64 / golden ratio: Knuth's multiplicative hashing
HALF = np.uint64(32)
NOT_FOUND = -1
LOAD = 0.6  # at this load a hit takes 1.75 probes and a miss 3.6 on average, nearly all in one cache line


class PairIndex(NamedTuple):
    """A map from pairs of non-negative int32 to int32; `keys` and `values` have a power of two of slots."""

    keys: NDArray[np.uint64]
    values: NDArray[np.int32]


@kernel
def pair_key(first: int, second: int) -> np.uint64:
    """Both ids in one word."""
    return (np.uint64(first) << HALF) | np.uint64(second)


@kernel
def home_slot(key: np.uint64, slots: int) -> np.int64:
    """Where the search for a key starts; `slots` is a power of two."""
    mixed = (key ^ (key >> HALF)) * MULTIPLIER
    return np.int64((mixed ^ (mixed >> HALF)) & np.uint64(slots - 1))


@inner_kernel
def find_slot(keys: NDArray[np.uint64], key: np.uint64) -> np.int64:
    """The slot of a key, or the empty slot where it would go."""
    slot = home_slot(key, keys.size)
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@inner_kernel
def find_pair(index: PairIndex, first: int, second: int) -> int:
    """The value of a pair, or NOT_FOUND."""
    key = pair_key(first, second)
    slot = find_slot(index.keys, key)
    return int(index.values[slot]) if index.keys[slot] == key else NOT_FOUND


@kernel
def _insert_all(
    keys: NDArray[np.uint64],
    values: NDArray[np.int32],
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    given: NDArray[np.int32],
) -> None:
    for i in range(first.size):
        key = pair_key(first[i], second[i])
        slot = find_slot(keys, key)
        keys[slot] = key
        values[slot] = given[i]


def slots_for(entries: int) -> int:
    """The power of two of slots that keeps the load of a table below LOAD."""
    return 1 << max(2, int(entries / LOAD).bit_length())


def build_pair_index(
    first: NDArray[np.int32], second: NDArray[np.int32], values: NDArray[np.int32] | None = None
) -> PairIndex:
    """Index distinct pairs; without `values` a pair's value is its position."""
    if first.size != second.size or (values is not None and values.size != first.size):
        raise ValueError("a pair index needs arrays of one length")
    if values is None:
        values = np.arange(first.size, dtype=np.int32)
    slots = slots_for(first.size)
    index = PairIndex(np.full(slots, EMPTY, np.uint64), np.full(slots, NOT_FOUND, np.int32))
    _insert_all(
        index.keys,
        index.values,
        np.ascontiguousarray(first, np.int32),
        np.ascontiguousarray(second, np.int32),
        np.ascontiguousarray(values, np.int32),
    )
    return index
