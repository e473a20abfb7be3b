"""Which words occur together: the shape of the lexicon of a direction, without its probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.direction import Direction, for_rows


def cooccurrences(direction: Direction, threads: int | None = None) -> Lexicon:
    """All pairs (given word or NULL, word) of some sentence pair, with the uniform distribution over all words.

    Time is that of the co-occurrences in the text, memory that of the distinct ones.
    """
    offsets = np.zeros(direction.rows.size, np.int64)
    for_rows(lambda first, last: _count(direction, offsets, first, last), direction.rows, threads)
    np.cumsum(offsets, out=offsets)
    words = np.empty(int(offsets[-1]), np.int32)
    for_rows(lambda first, last: _fill(direction, offsets, words, first, last), direction.rows, threads)
    return Lexicon(offsets, words, np.full(words.size, 1 / max(direction.word_types, 1), np.float32))


@kernel
def _count(direction: Direction, sizes: NDArray[np.int64], first: int, last: int) -> None:
    """Put the number of words of row g at `sizes[g + 1]`."""
    seen_with = np.full(direction.word_types, -1, np.int32)
    row = np.empty(direction.word_types, np.int32)
    for given in range(first, last):
        sizes[given + 1] = _words_beside(direction, given, seen_with, row)


@kernel
def _fill(direction: Direction, offsets: NDArray[np.int64], words: NDArray[np.int32], first: int, last: int) -> None:
    seen_with = np.full(direction.word_types, -1, np.int32)
    row = np.empty(direction.word_types, np.int32)
    for given in range(first, last):
        size = _words_beside(direction, given, seen_with, row)
        words[offsets[given] : offsets[given + 1]] = np.sort(row[:size])


@kernel
def _words_beside(direction: Direction, given: int, seen_with: NDArray[np.int32], row: NDArray[np.int32]) -> int:
    """Collect the distinct words beside a given word; `seen_with` remembers the last given word of each."""
    size = 0
    for place in range(direction.rows[given], direction.rows[given + 1]):
        sentence = direction.sentences[place]
        for j in range(direction.word_offsets[sentence], direction.word_offsets[sentence + 1]):
            word = direction.words[j]
            if seen_with[word] != given:
                seen_with[word] = given
                row[size] = word
                size += 1
    return size
