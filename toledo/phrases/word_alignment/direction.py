"""One direction of word alignment, p(words | given), its lexicon, and the cells of its sentence pairs.

All work that touches a lexicon goes *given word by given word*: its occurrences in the corpus are listed once, its row
of the lexicon is spread over an array as long as the vocabulary, and the cells of its occurrences are read or added
one after the other. So no pair of words is ever looked up, every row has one writer (the sums do not depend on the
number of threads), and memory is touched in order.

A cell is a number for a (given position, word position) of a sentence pair. A block of cells is filled with the
lexicon's probabilities, turned into posteriors by a model, and added to expected counts. Its size bounds the memory of
an iteration, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.phrases.lexicon import NULL, Lexicon
from toledo.text.corpus import Sentences

ROW_CHUNKS = 32  # pieces of work over given words: each has its own array as long as the vocabulary
BLOCK = 1 << 25  # cells at a time: 128 MiB
SENTENCES = 500  # sentence pairs of one piece of work
LEAST = 1e-30  # keeps probabilities away from 0 and from denormal numbers, which are slow

Result = TypeVar("Result")


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
    """Return all pairs (given word or NULL, word) of some sentence pair, with the uniform distribution over all words.

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


def maximize(lexicon: Lexicon, counts: NDArray[np.float32], threads: int | None) -> Lexicon:
    """Return the lexicon of the highest likelihood, relative frequencies; takes over the memory of `counts`."""
    for_rows(lambda first, last: _normalize(lexicon.offsets, counts, first, last), lexicon.offsets, threads)
    return lexicon._replace(probabilities=counts)


@kernel
def _normalize(offsets: NDArray[np.int64], counts: NDArray[np.float32], first: int, last: int) -> None:
    for row in range(first, last):
        entries = counts[offsets[row] : offsets[row + 1]]
        total = 0.0
        for count in entries:
            total += count
        scale = 1 / max(total, LEAST)
        for entry in range(entries.size):
            entries[entry] = max(entries[entry] * scale, LEAST)


class Cells(NamedTuple):
    """Sentence pairs `first:last`; pair s starts at `starts[s - first]`: a row for each given position, NULL first."""

    first: int
    last: int
    starts: NDArray[np.int64]
    values: NDArray[np.float32]


def blocks(direction: Direction, size: int = BLOCK) -> Iterator[Cells]:
    """Empty cells for block after block of the corpus; all share one memory.

    The blocks of a direction and of its opposite hold the same sentence pairs.
    """
    lengths = np.diff(direction.word_offsets)
    bounds = _bounds((direction.given_lengths + 1) * (lengths + 1), size)
    starts = offsets_of((direction.given_lengths + 1) * lengths)
    memory = np.empty(
        max((int(starts[last] - starts[first]) for first, last in pairwise(bounds)), default=0), np.float32
    )
    for first, last in pairwise(bounds):
        yield Cells(first, last, starts[first : last + 1] - starts[first], memory)


def _bounds(numbers: NDArray[np.int64], size: int) -> list[int]:
    """Return where to cut so that the numbers between two cuts add up to at most `size`, if they can."""
    ends = offsets_of(numbers)
    bounds = [0]
    while bounds[-1] < numbers.size:
        last = int(np.searchsorted(ends, ends[bounds[-1]] + size, side="right")) - 1
        bounds.append(max(last, bounds[-1] + 1))
    return bounds


def over_sentences(work: Callable[[int, int], Result], cells: Cells, threads: int | None) -> list[Result]:
    """Call `work(first, last)` for consecutive sentence pairs of a block; results in order."""

    def part(begin: int, end: int) -> Result:
        return work(cells.first + begin, cells.first + end)

    return map_chunks(part, cells.last - cells.first, chunk=SENTENCES, threads=threads)


def fill(cells: Cells, direction: Direction, lexicon: Lexicon, threads: int | None) -> None:
    """Write p(word | given word) into every cell."""
    for_rows(lambda first, last: _fill_cells(cells, direction, lexicon, first, last), direction.rows, threads)


def add(cells: Cells, direction: Direction, lexicon: Lexicon, counts: NDArray[np.float32], threads: int | None) -> None:
    """Add every cell to the count of its pair of words; `counts` has an entry for each one of the lexicon."""
    for_rows(lambda first, last: _add(cells, direction, lexicon, counts, first, last), direction.rows, threads)


@kernel
def matrix(cells: Cells, direction: Direction, sentence: int) -> NDArray[np.float32]:
    """Return the cells of a sentence pair as [given position, word position]."""
    rows = direction.given_lengths[sentence] + 1
    columns = direction.word_offsets[sentence + 1] - direction.word_offsets[sentence]
    start = cells.starts[sentence - cells.first]
    return cells.values[start : start + rows * columns].reshape((rows, columns))


@kernel
def _fill_cells(cells: Cells, direction: Direction, lexicon: Lexicon, first: int, last: int) -> None:
    spread = np.empty(direction.word_types, np.float32)
    for given in range(first, last):
        begin, end = _occurrences_in(cells, direction, given)
        if begin == end:
            continue
        for entry in range(lexicon.offsets[given], lexicon.offsets[given + 1]):
            spread[lexicon.words[entry]] = lexicon.probabilities[entry]
        for place in range(begin, end):
            words, values = _row_of(cells, direction, place)
            for j in range(words.size):
                values[j] = spread[words[j]]


@kernel
def _add(
    cells: Cells, direction: Direction, lexicon: Lexicon, counts: NDArray[np.float32], first: int, last: int
) -> None:
    """Sums in double precision within a block: single precision would lose small posteriors of frequent words."""
    spread = np.zeros(direction.word_types, np.float64)
    for given in range(first, last):
        begin, end = _occurrences_in(cells, direction, given)
        if begin == end:
            continue
        for place in range(begin, end):
            words, values = _row_of(cells, direction, place)
            for j in range(words.size):
                spread[words[j]] += values[j]
        for entry in range(lexicon.offsets[given], lexicon.offsets[given + 1]):
            counts[entry] += spread[lexicon.words[entry]]
            spread[lexicon.words[entry]] = 0.0


@kernel
def _occurrences_in(cells: Cells, direction: Direction, given: int) -> tuple[int, int]:
    """Return the part of a given word's occurrences that lies in the block."""
    begin, end = direction.rows[given], direction.rows[given + 1]
    sentences = direction.sentences[begin:end]
    return begin + np.searchsorted(sentences, cells.first), begin + np.searchsorted(sentences, cells.last)


@kernel
def _row_of(cells: Cells, direction: Direction, place: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Of an occurrence of a given word: the words of its sentence pair and their cells."""
    sentence = direction.sentences[place]
    begin, end = direction.word_offsets[sentence], direction.word_offsets[sentence + 1]
    cell = cells.starts[sentence - cells.first] + direction.positions[place] * (end - begin)
    return direction.words[begin:end], cells.values[cell : cell + end - begin]
