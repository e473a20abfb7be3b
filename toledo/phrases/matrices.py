"""The links within a phrase pair as one number of 64 bits.

The matrix itself where both phrases have at most 8 words; otherwise a place in the text where the pair stands with
these links. Either way a row, the set of target positions linked to a source position, is read off as bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import HALF, pair_key
from toledo.kernels import kernel
from toledo.phrases.spans import AlignedText

SMALL = 8  # words: a matrix of 8 × 8 bits
LONGEST = 20  # words: a row is 32 bits
ROW_BITS = np.uint64(0xFF)
PLACE_BITS = np.uint64(0xFFFF_FFFF)


@kernel
def encode_links(text: AlignedText, first: int, last: int, target_first: int, small: bool) -> np.uint64:
    """The number of the links of the source words `first` to `last` with target words from `target_first` on."""
    if not small:
        return pair_key(first, target_first)
    matrix = np.uint64(0)
    for i in range(first, last + 1):
        for k in range(text.bounds[i], text.bounds[i + 1]):
            matrix |= np.uint64(1) << np.uint64((i - first) * SMALL + text.linked[k] - target_first)
    return matrix


@kernel
def row_of(text: AlignedText, links: np.uint64, small: bool, position: int) -> np.uint64:
    """The target positions linked to a source position, as bits."""
    if small:
        return (links >> np.uint64(position * SMALL)) & ROW_BITS
    word, target_first = np.int64(links >> HALF) + position, np.int64(links & PLACE_BITS)
    row = np.uint64(0)
    for k in range(text.bounds[word], text.bounds[word + 1]):
        row |= np.uint64(1) << np.uint64(text.linked[k] - target_first)
    return row


@kernel
def same_links(text: AlignedText, one: np.uint64, other: np.uint64, small: bool, source_length: int) -> bool:
    """Whether two occurrences of a phrase pair are linked in the same way."""
    equal: bool = one == other
    if not small and not equal:
        equal = True
        for s in range(source_length):
            equal = equal and row_of(text, one, small, s) == row_of(text, other, small, s)
    return equal


@kernel
def comes_later(
    text: AlignedText,
    one: np.uint64,
    other: np.uint64,
    small: bool,
    source_length: int,
    target_length: int,
    inverse: bool,
) -> bool:
    """Whether the lists of positions linked to each word, target words or (inverse) source words, come later."""
    rows = source_length if inverse else target_length
    for word in range(rows):
        first = row_of(text, one, small, word) if inverse else _column_of(text, one, small, source_length, word)
        second = row_of(text, other, small, word) if inverse else _column_of(text, other, small, source_length, word)
        if first != second:
            return _is_later_set(first, second)
    return False


@kernel
def decode_links(
    text: AlignedText,
    codes: NDArray[np.uint64],
    small: bool,
    source: NDArray[np.int32],
    source_offsets: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets and links (source position, target position) of phrase pairs with these source phrases."""
    offsets = np.zeros(codes.size + 1, np.int64)
    for p in range(codes.size):
        offsets[p + 1] = offsets[p]
        for s in range(source_offsets[source[p] + 1] - source_offsets[source[p]]):
            row = row_of(text, codes[p], small, s)
            while row:
                row &= row - np.uint64(1)
                offsets[p + 1] += 1
    links = np.empty((offsets[-1], 2), np.uint8)
    for p in range(codes.size):
        filled = offsets[p]
        for s in range(source_offsets[source[p] + 1] - source_offsets[source[p]]):
            row, t = row_of(text, codes[p], small, s), 0
            while row:
                if row & np.uint64(1):
                    links[filled, 0], links[filled, 1] = s, t
                    filled += 1
                row >>= np.uint64(1)
                t += 1
    return offsets, links


@kernel
def _column_of(text: AlignedText, links: np.uint64, small: bool, source_length: int, position: int) -> np.uint64:
    column = np.uint64(0)
    for s in range(source_length):
        column |= ((row_of(text, links, small, s) >> np.uint64(position)) & np.uint64(1)) << np.uint64(s)
    return column


@kernel
def _is_later_set(first: np.uint64, second: np.uint64) -> bool:
    """Compare different sets of bit positions like words: by the first position in which their sorted lists differ."""
    shift = np.uint64(0)
    while (first >> shift) & np.uint64(1) == (second >> shift) & np.uint64(1):
        shift += np.uint64(1)
    if (first >> shift) & np.uint64(1):
        return not second >> shift  # the second list has ended; otherwise it goes on with a later position
    return bool(first >> shift)
