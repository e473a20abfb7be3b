"""One-way alignments of a corpus: for each word a given word, or none.

The most probable alignment of a whole sentence pair under the HMM (Viterbi).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.cells import Cells, blocks, fill, matrix, over_sentences
from toledo.phrases.word_alignment.direction import Direction
from toledo.phrases.word_alignment.hmm import FIRST, LATER, Transitions, column_of, end_probability, normalisers
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


STAY = -1  # a back pointer: the word belongs to NULL, the place stays


def viterbi(
    cells: Cells, direction: Direction, transitions: Transitions, threads: int | None
) -> list[NDArray[np.int32]]:
    """The given position of each word, from 0, or −1 for NULL, from cells that hold lexicon probabilities."""
    return over_sentences(lambda first, last: _viterbi(cells, direction, transitions, first, last), cells, threads)


@kernel
def _viterbi(cells: Cells, direction: Direction, transitions: Transitions, first: int, last: int) -> NDArray[np.int32]:
    origin = direction.word_offsets[first]
    links = np.empty(direction.word_offsets[last] - origin, np.int32)
    for sentence in range(first, last):
        values = matrix(cells, direction, sentence)
        best, state = _best_states(values, transitions)
        for j in range(values.shape[1] - 1, -1, -1):
            came_from = best[j, state]
            links[direction.word_offsets[sentence] - origin + j] = -1 if came_from == STAY else state - 1
            state = state if came_from == STAY else came_from
    return links


@kernel
def _best_states(values: NDArray[np.float32], transitions: Transitions) -> tuple[NDArray[np.int32], int]:
    """For each word and state after it the best one before it, or STAY; and the last state. State x is place x − 1."""
    size, length = values.shape[0] - 1, values.shape[1]
    came_from = np.empty((length, size + 1), np.int32)
    inverse, scores, new = np.empty(size + 1), np.zeros(size + 1), np.empty(size + 1)
    normalisers(transitions.weights, size, inverse)
    scores[0] = 1.0
    for j in range(length):
        for state in range(size + 1):
            new[state], came_from[j, state] = scores[state] * transitions.null * values[0, j], STAY
            if state == 0:
                continue
            emit = (1 - transitions.null) * values[state, j]
            for before in range(size + 1):
                row = LATER if before > 0 else FIRST
                jump = inverse[before] * transitions.weights[row, column_of(state - before)]
                if scores[before] * jump * emit > new[state]:
                    new[state], came_from[j, state] = scores[before] * jump * emit, before
        scores[:] = new / new.max()
    for state in range(size + 1):
        scores[state] *= end_probability(transitions.weights, inverse, state, size)
    return came_from, int(np.argmax(scores))
