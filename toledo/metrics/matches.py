"""Matching n-grams of one text with all hypotheses of a segment at once, exactly.

Clipped matches are min(a, b) = Σ_k [a ≥ k][b ≥ k], so the k-th occurrence of an n-gram counts as an n-gram of its own,
which a text has or has not. Each distinct text is cut into numbered n-grams once. An inverted index says which
hypotheses have an n-gram: as a list, or, where many have it (in n-best lists nearly all), as a row of a 0 or 1 for each
hypothesis. The matches of a text with all hypotheses are then a sum of such rows, many bytes at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import NO_KEY, find_key, joined_key
from toledo.compiled.kernels import kernel

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
AGAIN = -2  # minus the number of an n-gram: the key of its next occurrence in the same text, below that of any pair
NO_ROW = -1
SPARSE = 16  # a row costs about as much to add as a list of a 16th of its length
ROWS_AT_ONCE = 4
LARGEST_BYTE = 255


class NumberedNGrams(NamedTuple):
    """Text t has the n-grams `numbers[starts[t]:starts[t + 1]]`, those of order 1 first; 0 is no n-gram."""

    starts: Int64s
    numbers: Int32s
    size: int


class InvertedIndex(NamedTuple):
    """N-gram g is in the hypotheses `rows[row_of[g]]`, or `lists[list_offsets[g]:list_offsets[g + 1]]`."""

    row_of: Int32s
    rows: NDArray[np.uint8]
    list_offsets: Int64s
    lists: Int32s


class NGramCounter(NamedTuple):
    """A growing hash table of n-grams, and which n-gram number each used last, in which text."""

    keys: Int64s
    values: Int32s
    texts: Int64s
    latest: Int32s


@kernel(small=100_000)
def cut_ngrams(symbols: Int32s, offsets: Int64s, order: int) -> NumberedNGrams:
    """Number the n-grams of texts, from 1 up; a second occurrence in a text gets another number."""
    texts = offsets.size - 1
    starts, longest = np.zeros(texts + 1, np.int64), 0
    for text in range(texts):
        length = offsets[text + 1] - offsets[text]
        longest = max(longest, length)
        starts[text + 1] = starts[text]
        for n in range(order):
            starts[text + 1] += max(length - n, 0)
    numbers, nodes = np.empty(starts[-1], np.int32), np.empty(longest, np.int64)
    table, size, place = _new_table(1024), 0, 0
    for text in range(texts):
        begin, length = offsets[text], offsets[text + 1] - offsets[text]
        nodes[:length] = 0
        for n in range(order):
            if 4 * (size + 2 * longest) > table.keys.size:
                table = _grown(table, 4 * (size + 2 * longest))
            keys, values, seen_in, latest = table
            for i in range(length - n):
                key = joined_key(int(nodes[i]), int(symbols[begin + i + n]))
                slot = find_key(keys, key)
                if keys[slot] == NO_KEY:
                    size += 1
                    keys[slot], values[slot], seen_in[size] = key, size, -1
                node = values[slot]
                nodes[i], number = node, node
                if seen_in[node] == text:
                    key = AGAIN - int(latest[node])
                    slot = find_key(keys, key)
                    if keys[slot] == NO_KEY:
                        size += 1
                        keys[slot], values[slot], seen_in[size] = key, size, -1
                    number = values[slot]
                seen_in[node], latest[node] = text, number
                numbers[place] = number
                place += 1
    return NumberedNGrams(starts, numbers, size + 1)


@kernel
def _new_table(slots: int) -> NGramCounter:
    half = slots // 2
    return NGramCounter(
        np.full(slots, NO_KEY, np.int64),
        np.empty(slots, np.int32),
        np.full(half, -1, np.int64),
        np.empty(half, np.int32),
    )


@kernel
def _grown(table: NGramCounter, slots: int) -> NGramCounter:
    room = table.keys.size
    while room < slots:
        room *= 2
    larger = _new_table(room)
    larger.texts[: table.texts.size] = table.texts
    larger.latest[: table.latest.size] = table.latest
    for old in range(table.keys.size):
        if table.keys[old] != NO_KEY:
            slot = find_key(larger.keys, int(table.keys[old]))
            larger.keys[slot], larger.values[slot] = table.keys[old], table.values[old]
    return larger


@kernel(small=200_000)
def index_ngrams(ngrams: NumberedNGrams, hypotheses: int) -> InvertedIndex:
    """Return the hypotheses (the first texts) of each n-gram."""
    counts = np.zeros(ngrams.size, np.int64)
    for place in range(ngrams.starts[hypotheses]):
        counts[ngrams.numbers[place]] += 1
    row_of, rows = np.full(ngrams.size, NO_ROW, np.int32), 0
    ends = np.zeros(ngrams.size + 1, np.int64)
    for number in range(ngrams.size):
        ends[number + 1] = ends[number]
        if counts[number] * SPARSE > hypotheses:
            row_of[number] = rows
            rows += 1
        else:
            ends[number + 1] += counts[number]
    index = InvertedIndex(row_of, np.zeros((rows, hypotheses), np.uint8), ends, np.empty(ends[-1], np.int32))
    filled = ends[:-1].copy()
    for hypothesis in range(hypotheses):
        for place in range(ngrams.starts[hypothesis], ngrams.starts[hypothesis + 1]):
            number = ngrams.numbers[place]
            if row_of[number] != NO_ROW:
                index.rows[row_of[number], hypothesis] = 1
            else:
                index.lists[filled[number]] = hypothesis
                filled[number] += 1
    return index


def room_for_matches(order: int, hypotheses: int, lengths: Int64s) -> NDArray[np.uint8]:
    """Return an array for `count_all`: bytes if no count can exceed them, otherwise (whatever the annotation) int32."""
    kind = np.uint8 if lengths.max() <= LARGEST_BYTE else np.int32
    return np.empty((order, hypotheses), kind)


@kernel
def count_all(index: InvertedIndex, ngrams: NumberedNGrams, text: int, length: int, matches: NDArray[np.uint8]) -> None:
    """Write to `matches[n − 1, h]` how many n-grams of a text hypothesis h has."""
    row_of, rows, ends, lists = index
    dense = np.empty(length + ROWS_AT_ONCE, np.int32)
    begin = ngrams.starts[text]
    for n in range(matches.shape[0]):
        counts = matches[n]
        counts[:] = 0
        size = 0
        for place in range(begin, begin + max(length - n, 0)):
            number = ngrams.numbers[place]
            if row_of[number] != NO_ROW:
                dense[size] = row_of[number]
                size += 1
            else:
                for hypothesis in lists[ends[number] : ends[number + 1]]:
                    counts[hypothesis] += 1
        begin += max(length - n, 0)
        _add_rows(rows, dense[:size], counts)


@kernel
def _add_rows(rows: NDArray[np.uint8], chosen: Int32s, counts: NDArray[np.uint8]) -> None:
    """Four at a time: each sum is then read and written a fourth as often."""
    whole = chosen.size - chosen.size % ROWS_AT_ONCE
    for place in range(0, whole, ROWS_AT_ONCE):
        one, two, three, four = (
            rows[chosen[place]],
            rows[chosen[place + 1]],
            rows[chosen[place + 2]],
            rows[chosen[place + 3]],
        )
        for h in range(counts.size):
            counts[h] += one[h] + two[h] + three[h] + four[h]
    for place in range(whole, chosen.size):
        one = rows[chosen[place]]
        for h in range(counts.size):
            counts[h] += one[h]
