"""BLEU of a document, kept up to date: clipped n-gram matches of each sentence with its references.

A change of some words touches only n-grams that have one of them, or lie across: at most three words on either side are
looked at. Functions take the few arrays that they need: to hand on all of them would cost more than the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import find_pair
from toledo.kernels import inlined, inner_kernel
from toledo.search.document.models.measures import (
    HYPOTHESIS,
    MATCHES,
    NGRAMS,
    NOTHING,
    ORDER,
    REFERENCE,
    References,
)

BEFORE = ORDER - 1  # words that may share an n-gram with what comes next


class Words(NamedTuple):
    """Where the words of options are, and the options of a sentence: `chosen[1:]`, some to be replaced by `new`."""

    begin: NDArray[np.int32]
    lengths: NDArray[np.int32]
    chosen: NDArray[np.int32]
    new: NDArray[np.int32]


@inner_kernel
def count_ngrams(
    references: References,
    types: NDArray[np.int32],
    totals: NDArray[np.int64],
    words: Words,
    size: int,
    first: int,
    old: int,
    new: int,
) -> None:
    """In a sentence of so many phrases, replace the n-grams of `old` ones from a place on by those of `new` ones."""
    references.undo_count[0] = 0
    begin = _words_before(references.buffer, words, first)
    for turn in range(2):
        middle = BEFORE
        for k in range(new if turn else old):
            option = words.new[k] if turn else words.chosen[first + k]
            middle = _append(references.buffer, words, option, middle, references.buffer.size)
        end, place = middle, first + old
        while place <= size and end < middle + BEFORE:
            end = _append(references.buffer, words, words.chosen[place], end, middle + BEFORE)
            place += 1
        _count(references, types, totals, begin, middle, end, 1 if turn else -1)


@inlined
def _words_before(buffer: NDArray[np.int32], words: Words, first: int) -> int:
    """The last words before a place, up to `buffer[BEFORE]`; gives where they begin."""
    begin, place = BEFORE, first - 1
    while place > 0 and begin > 0:
        option = words.chosen[place]
        for k in range(words.lengths[option] - 1, -1, -1):
            if begin > 0:
                begin -= 1
                buffer[begin] = words.begin[option] + k
        place -= 1
    return begin


@inlined
def _append(buffer: NDArray[np.int32], words: Words, option: int, end: int, most: int) -> int:
    """Add the words of an option at `end`, up to `most`; gives the new end."""
    for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
        if end < most:
            buffer[end] = i
            end += 1
    return end


@inlined
def _count(
    references: References,
    types: NDArray[np.int32],
    totals: NDArray[np.int64],
    begin: int,
    middle: int,
    end: int,
    sign: int,
) -> None:
    """Add or take away n-grams of `buffer[begin:end]`; the words that change are `buffer[BEFORE:middle]`."""
    buffer, counts, limits = references.buffer, references.counts, references.limits
    undone = references.undo_count[0]
    for i in range(begin, middle):
        node = references.unigrams[buffer[i]]
        n = 0
        while node != NOTHING:
            if i + n >= BEFORE:
                counts[node] += sign
                if counts[node] + (sign < 0) <= limits[node]:  # the larger one of the counts before and after
                    totals[MATCHES + n] += sign
                references.undo[undone] = 2 * node + (sign > 0)
                undone += 1
            n += 1
            if n == ORDER or i + n == end:
                break
            node = find_pair(references.children, node, types[buffer[i + n]])
    references.undo_count[0] = undone


@inner_kernel
def forget_ngrams(undo: NDArray[np.int32], undo_count: NDArray[np.int64], counts: NDArray[np.int32]) -> None:
    """Undo the counts of the last proposal; totals are restored elsewhere."""
    for k in range(undo_count[0]):
        counts[undo[k] >> 1] -= 1 if undo[k] & 1 else -1
    undo_count[0] = 0


@inner_kernel
def count_lengths(
    length_offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    totals: NDArray[np.int64],
    s: int,
    length: int,
    sign: int,
) -> None:
    """Add or take away the length of a sentence, its n-grams, and the closest length of a reference."""
    best = lengths[length_offsets[s]]
    for k in range(length_offsets[s] + 1, length_offsets[s + 1]):
        nearer = abs(lengths[k] - length) - abs(best - length)
        if nearer < 0 or (nearer == 0 and lengths[k] < best):
            best = lengths[k]
    totals[HYPOTHESIS] += sign * length
    totals[REFERENCE] += sign * best
    for n in range(ORDER):
        totals[NGRAMS + n] += sign * max(length - n, 0)
