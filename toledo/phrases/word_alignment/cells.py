"""The cells of word alignment: one number for each (given position, word position) of a block of sentence pairs.

A block is filled with the lexicon's probabilities, turned into posteriors by a model, and added to expected counts.
Its size bounds the memory of an iteration, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.direction import Direction, for_rows

BLOCK = 1 << 25  # cells at a time: 128 MiB
SENTENCES = 500  # sentence pairs of one piece of work

Result = TypeVar("Result")


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
    """Where to cut so that the numbers between two cuts add up to at most `size`, if they can."""
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
    for_rows(lambda first, last: _fill(cells, direction, lexicon, first, last), direction.rows, threads)


def add(cells: Cells, direction: Direction, lexicon: Lexicon, counts: NDArray[np.float32], threads: int | None) -> None:
    """Add every cell to the count of its pair of words; `counts` has an entry for each one of the lexicon."""
    for_rows(lambda first, last: _add(cells, direction, lexicon, counts, first, last), direction.rows, threads)


@kernel
def matrix(cells: Cells, direction: Direction, sentence: int) -> NDArray[np.float32]:
    """The cells of a sentence pair as [given position, word position]."""
    rows = direction.given_lengths[sentence] + 1
    columns = direction.word_offsets[sentence + 1] - direction.word_offsets[sentence]
    start = cells.starts[sentence - cells.first]
    return cells.values[start : start + rows * columns].reshape((rows, columns))


@kernel
def _fill(cells: Cells, direction: Direction, lexicon: Lexicon, first: int, last: int) -> None:
    spread = np.empty(direction.word_types, np.float32)
    for given in range(first, last):
        begin, end = _occurrences(cells, direction, given)
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
        begin, end = _occurrences(cells, direction, given)
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
def _occurrences(cells: Cells, direction: Direction, given: int) -> tuple[int, int]:
    """The part of a given word's occurrences that lies in the block."""
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
