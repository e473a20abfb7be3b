"""IBM Model 1 (Brown et al. 1993): each word is the translation of one given word or of NULL, all equally likely.

p(f | e) = Π_j 1/(I+1) Σ_i t(f_j | e_i), with i = 0 for NULL.
"""

from __future__ import annotations

import math

import numpy as np

from toledo.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.cells import Cells, add, blocks, fill, matrix, over_sentences
from toledo.phrases.word_alignment.direction import Direction
from toledo.phrases.word_alignment.maximise import maximise
from toledo.progress import Advance


def train_ibm1(
    direction: Direction,
    lexicon: Lexicon,
    iterations: int,
    threads: int | None = None,
    advance: Advance = lambda n: None,
) -> tuple[Lexicon, list[float]]:
    """Train a lexicon by expectation–maximisation; also the log-likelihood before each iteration."""
    likelihoods = []
    for _ in range(iterations):
        counts = np.zeros_like(lexicon.probabilities)
        parts: list[float] = []
        for cells in blocks(direction):
            fill(cells, direction, lexicon, threads)
            parts += infer(cells, direction, threads)
            add(cells, direction, lexicon, counts, threads)
            advance(cells.last - cells.first)
        likelihoods.append(math.fsum(parts))
        lexicon = maximise(lexicon, counts, threads)
    return lexicon, likelihoods


def infer(cells: Cells, direction: Direction, threads: int | None) -> list[float]:
    """Turn lexicon probabilities into posteriors p(i | j); log-likelihoods of pieces of the block."""
    return over_sentences(lambda first, last: _infer(cells, direction, first, last), cells, threads)


@kernel
def _infer(cells: Cells, direction: Direction, first: int, last: int) -> float:
    likelihood = 0.0
    for sentence in range(first, last):
        values = matrix(cells, direction, sentence)
        rows, columns = values.shape
        sums = np.zeros(columns, np.float64)
        for i in range(rows):
            for j in range(columns):
                sums[j] += values[i, j]
        for j in range(columns):
            likelihood += math.log(sums[j] / rows)
            sums[j] = 1 / sums[j]
        for i in range(rows):
            for j in range(columns):
                values[i, j] *= sums[j]
    return likelihood
