"""Sorting and numbering pairs of ids in linear time: what n-gram counting and phrase extraction stand on.

A substring of n words is the pair (number of its first n−1 words, its last word), so numbering pairs n−1 times numbers
all substrings of n words exactly, without hashing and without dictionaries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel

DIGIT_BITS = 11  # 2048 counters stay in the first-level cache
DIGITS = 1 << DIGIT_BITS
DIGIT_MASK = np.uint64(DIGITS - 1)
MOST_ITEMS = 2**31 - 1


class Ranks(NamedTuple):
    """Distinct items numbered in their order: `of[i]` is the number of item i, `first[r]` its first occurrence."""

    of: NDArray[np.int32]
    first: NDArray[np.int32]
    counts: NDArray[np.int32]


def sort_pairs(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the stable order of pairs of non-negative ids by `first`, then by `second`."""
    return _sorted_keys(first, second)[1]


def rank_pairs(first: NDArray[np.int32], second: NDArray[np.int32]) -> Ranks:
    """Number the distinct pairs of non-negative ids in order of `first`, then of `second`."""
    keys, order = _sorted_keys(first, second)
    return Ranks(*_ranks_of_sorted(keys, order))


def _sorted_keys(first: NDArray[np.int32], second: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    if first.size != second.size:
        raise ValueError("pairs need two arrays of one length")
    if first.size > MOST_ITEMS:
        raise ValueError(f"at most {MOST_ITEMS} items can be sorted at once")
    if not first.size:
        return np.empty(0, np.uint64), np.empty(0, np.int32)
    low_bits = int(second.max()).bit_length()
    high_bits = int(first.max()).bit_length()
    return _radix_sort(first, second, low_bits, low_bits + high_bits)


@kernel
def _radix_sort(
    first: NDArray[np.int32], second: NDArray[np.int32], low_bits: int, bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Least digit first; both ids are packed with no unused bits between them, so that there are few digits."""
    size = first.size
    keys, order = np.empty(size, np.uint64), np.empty(size, np.int32)
    for i in range(size):
        keys[i] = (np.uint64(first[i]) << np.uint64(low_bits)) | np.uint64(second[i])
        order[i] = i
    spare_keys, spare_order = np.empty(size, np.uint64), np.empty(size, np.int32)
    starts = np.empty(DIGITS, np.int64)
    for shift in range(0, bits, DIGIT_BITS):
        starts[:] = 0
        for i in range(size):
            starts[(keys[i] >> np.uint64(shift)) & DIGIT_MASK] += 1
        total = 0
        for digit in range(DIGITS):
            total, starts[digit] = total + starts[digit], total
        for i in range(size):
            digit = (keys[i] >> np.uint64(shift)) & DIGIT_MASK
            place = starts[digit]
            starts[digit] = place + 1
            spare_keys[place] = keys[i]
            spare_order[place] = order[i]
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return keys, order


@kernel
def _ranks_of_sorted(
    keys: NDArray[np.uint64], order: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    size = keys.size
    distinct = 0
    for i in range(size):
        if i == 0 or keys[i] != keys[i - 1]:
            distinct += 1
    of, first, counts = np.empty(size, np.int32), np.empty(distinct, np.int32), np.zeros(distinct, np.int32)
    rank = -1
    for i in range(size):
        if i == 0 or keys[i] != keys[i - 1]:
            rank += 1
            first[rank] = order[i]  # the sort is stable: the smallest index comes first
        of[order[i]] = rank
        counts[rank] += 1
    return of, first, counts
