"""One direction of word alignment: words that are explained by given words, p(words | given).

All work that touches a lexicon goes *given word by given word*: its occurrences in the corpus are listed once, its row
of the lexicon is spread over an array as long as the vocabulary, and the cells of its occurrences are read or added
one after the other. So no pair of words is ever looked up, every row has one writer (the sums do not depend on the
number of threads), and memory is touched in order.

Which words occur together: the shape of the lexicon of a direction, without its probabilities.

From expected counts to a lexicon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.phrases.lexicon import NULL, Lexicon
from toledo.text.corpus import Sentences

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


LEAST = 1e-30  # keeps probabilities away from 0 and from denormal numbers, which are slow


def maximise(lexicon: Lexicon, counts: NDArray[np.float32], threads: int | None) -> Lexicon:
    """The lexicon of the highest likelihood, relative frequencies; takes over the memory of `counts`."""
    for_rows(lambda first, last: _normalise(lexicon.offsets, counts, first, last), lexicon.offsets, threads)
    return lexicon._replace(probabilities=counts)


@kernel
def _normalise(offsets: NDArray[np.int64], counts: NDArray[np.float32], first: int, last: int) -> None:
    for row in range(first, last):
        entries = counts[offsets[row] : offsets[row + 1]]
        total = 0.0
        for count in entries:
            total += count
        scale = 1 / max(total, LEAST)
        for entry in range(entries.size):
            entries[entry] = max(entries[entry] * scale, LEAST)
