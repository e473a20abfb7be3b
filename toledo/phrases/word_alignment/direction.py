"""One direction of word alignment: words that are explained by given words, p(words | given).

All work that touches a lexicon goes *given word by given word*: its occurrences in the corpus are listed once, its row
of the lexicon is spread over an array as long as the vocabulary, and the cells of its occurrences are read or added
one after the other. So no pair of words is ever looked up, every row has one writer (the sums do not depend on the
number of threads), and memory is touched in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.kernels import kernel, map_chunks
from toledo.phrases.lexicon import NULL

ROW_CHUNKS = 32  # pieces of work over given words: each has its own array as long as the vocabulary


class Direction(NamedTuple):
    """Sentence pairs, seen from the given words; position 0 of the given side of every pair is NULL, words follow.

    The occurrences of given word g are numbers `rows[g]:rows[g + 1]`, in order of the corpus: sentence pair
    `sentences[k]`, position `positions[k]`.
    """

    given_lengths: NDArray[np.int64]
    words: NDArray[np.int32]
    word_offsets: NDArray[np.int64]
    word_types: int
    rows: NDArray[np.int64]
    sentences: NDArray[np.int32]
    positions: NDArray[np.int32]


def make_direction(given: Sentences, words: Sentences, given_types: int, word_types: int) -> Direction:
    """Prepare p(words | given) for sentences with ids below `given_types` and `word_types`."""
    if len(given) != len(words):
        raise ValueError("the two sides differ in length")
    for side, types in ((given, given_types), (words, word_types)):
        if side.words.size and not NULL < int(side.words.min()) <= int(side.words.max()) < types:
            raise ValueError("a word's id is outside the vocabulary")
    rows, sentences, positions = _occurrences(given.words, given.offsets, given_types)
    return Direction(given.lengths, words.words, words.offsets, word_types, rows, sentences, positions)


def for_rows(work: Callable[[int, int], object], rows: NDArray[np.int64], threads: int | None) -> None:
    """Call `work(first, last)` for ranges of rows that hold about equally many items."""
    total = int(rows[-1])
    chunk = max(1, -(-total // ROW_CHUNKS))

    def part(begin: int, end: int) -> None:
        first, last = np.searchsorted(rows[:-1], [begin, end])  # a row belongs where it begins
        work(int(first), int(last) if end < total else rows.size - 1)

    map_chunks(part, total, chunk=chunk, threads=threads)


@kernel
def _occurrences(
    given: NDArray[np.int32], offsets: NDArray[np.int64], types: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """List the sentence and position of each given word and of NULL by a counting sort."""
    pairs = offsets.size - 1
    rows = np.zeros(types + 1, np.int64)
    rows[NULL + 1] = pairs
    for word in given:
        rows[word + 1] += 1
    for word in range(types):
        rows[word + 1] += rows[word]
    place = rows[:-1].copy()
    sentences, positions = np.empty(rows[-1], np.int32), np.empty(rows[-1], np.int32)
    for sentence in range(pairs):
        begin, end = offsets[sentence], offsets[sentence + 1]
        for position in range(end - begin + 1):
            word = NULL if position == 0 else given[begin + position - 1]
            sentences[place[word]] = sentence
            positions[place[word]] = position
            place[word] += 1
    return rows, sentences, positions
