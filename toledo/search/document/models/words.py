"""Counting the words of phrases, and how consistently source words are translated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inner_kernel
from toledo.search.document.models.matches import Words
from toledo.search.document.models.measures import (
    ALIKE,
    IS_LONG,
    IS_WORD,
    LONG,
    NOTHING,
    TYPES,
    WORDS,
    Consistency,
)


@inner_kernel
def exchange_words(
    types: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    counts: NDArray[np.int32],
    totals: NDArray[np.int64],
    words: Words,
    first: int,
    old: int,
    new: int,
    sign: int,
) -> None:
    """Take away the words of `old` phrases from a place on, and add those of `new` ones; the other way with sign −1."""
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
            kind = types[i]
            if kinds[kind] & IS_WORD:
                counts[kind] += added
                totals[WORDS] += added
                totals[LONG] += added if kinds[kind] & IS_LONG else 0
                if counts[kind] == (1 if added > 0 else 0):  # it was not there before, or is no more
                    totals[TYPES] += added


@inner_kernel
def exchange_translations(
    seen: Consistency,
    totals: NDArray[np.int64],
    chosen: NDArray[np.int32],
    replacement: NDArray[np.int32],
    first: int,
    old: int,
    new: int,
    sign: int,
) -> None:
    """Take away the translations of words by `old` phrases, and add those by `new` ones; the other way with sign −1.

    c(c − 1) grows by 2c when one more comes to c.
    """
    for k in range(old + new):
        option = chosen[first + k] if k < old else replacement[k - old]
        added = -sign if k < old else sign
        for i in range(seen.offsets[option], seen.offsets[option + 1]):
            cell = seen.cells[i]
            if cell != NOTHING:
                others = seen.counts[cell] - (1 if added < 0 else 0)
                totals[ALIKE] += 2 * added * others * seen.shares[cell]
                seen.counts[cell] += added
