"""One-way alignments of a corpus: for each word a given word, or none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.cells import Cells, blocks, fill, matrix, over_sentences
from toledo.phrases.word_alignment.direction import Direction
from toledo.progress import Advance


def decode(
    direction: Direction,
    lexicon: Lexicon,
    links: Callable[[Cells], list[NDArray[np.int32]]],
    threads: int | None = None,
    advance: Advance = lambda steps: None,
) -> NDArray[np.int32]:
    """The given position of each word, from 0, or −1; `links` finds those of a block filled with the lexicon."""
    parts = [np.empty(0, np.int32)]
    for cells in blocks(direction):
        fill(cells, direction, lexicon, threads)
        parts += links(cells)
        advance(cells.last - cells.first)
    return np.concatenate(parts)


def most_probable(cells: Cells, direction: Direction, threads: int | None) -> list[NDArray[np.int32]]:
    """For each word the given position of the highest posterior, from 0, or −1 where NULL's is higher."""
    return over_sentences(lambda first, last: _most_probable(cells, direction, first, last), cells, threads)


@kernel
def _most_probable(cells: Cells, direction: Direction, first: int, last: int) -> NDArray[np.int32]:
    best = np.empty(direction.word_offsets[last] - direction.word_offsets[first], np.int32)
    word = 0
    for sentence in range(first, last):
        values = matrix(cells, direction, sentence)
        for j in range(values.shape[1]):
            best[word] = np.argmax(values[1:, j])
            if values[0, j] > values[1 + best[word], j]:
                best[word] = -1
            word += 1
    return best
