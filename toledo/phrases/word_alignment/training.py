"""IBM Model 1 (Brown et al. 1993): each word is the translation of one given word or of NULL, all equally likely.

p(f | e) = Π_j 1/(I+1) Σ_i t(f_j | e_i), with i = 0 for NULL.

Training the HMMs of both directions so that they agree (Liang et al. 2006).

Each direction makes different mistakes: a rare given word attracts whatever is left over in its sentences. Where the
two must explain a link together, such mistakes fade. Before the expected counts are added up, the posteriors p(i | j)
and p(j | i) of a link are replaced by their geometric mean, the distribution nearest to both in the sense of
KL(q ‖ p) (a logarithmic opinion pool); what is then missing to 1 goes to NULL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.direction import (
    Cells,
    Direction,
    add,
    blocks,
    fill,
    matrix,
    maximize,
    over_sentences,
)
from toledo.phrases.word_alignment.hmm import (
    JumpCounts,
    Transitions,
    infer,
    maximize_jumps,
    smooth_jumps,
    sum_jumps,
    uniform_jumps,
)
from toledo.progress import Advance


def train_ibm1(
    direction: Direction,
    lexicon: Lexicon,
    iterations: int,
    threads: int | None = None,
    advance: Advance = lambda n: None,
) -> tuple[Lexicon, list[float]]:
    """Train a lexicon by expectation–maximization; also the log-likelihood before each iteration."""
    likelihoods = []
    for _ in range(iterations):
        counts = np.zeros_like(lexicon.probabilities)
        parts: list[float] = []
        for cells in blocks(direction):
            fill(cells, direction, lexicon, threads)
            parts += infer_ibm1(cells, direction, threads)
            add(cells, direction, lexicon, counts, threads)
            advance(cells.last - cells.first)
        likelihoods.append(math.fsum(parts))
        lexicon = maximize(lexicon, counts, threads)
    return lexicon, likelihoods


def infer_ibm1(cells: Cells, direction: Direction, threads: int | None) -> list[float]:
    """Turn lexicon probabilities into posteriors p(i | j); log-likelihoods of pieces of the block."""
    return over_sentences(lambda first, last: _infer_ibm1(cells, direction, first, last), cells, threads)


@kernel
def _infer_ibm1(cells: Cells, direction: Direction, first: int, last: int) -> float:
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


NULL_PROBABILITY = 0.1  # at the start
NULL_PRIOR = 10  # words observed at that probability before the corpus


@dataclass(frozen=True)
class Hmm:
    """The model of one direction, with the log-likelihood of the corpus before each iteration of its training."""

    direction: Direction
    lexicon: Lexicon
    transitions: Transitions
    likelihoods: tuple[float, ...] = ()


def initial_hmm(direction: Direction, lexicon: Lexicon) -> Hmm:
    """Return an HMM with a trained lexicon, all jumps alike."""
    return Hmm(direction, lexicon, Transitions(uniform_jumps(), NULL_PROBABILITY))


def train_together(
    models: tuple[Hmm, Hmm], iterations: int, threads: int | None = None, advance: Advance = lambda n: None
) -> tuple[Hmm, Hmm]:
    """Train the HMMs of p(target | source) and p(source | target)."""
    for _ in range(iterations):
        sums = [_Sums(model) for model in models]
        for block in zip(*(blocks(model.direction) for model in models), strict=True):
            for model, cells, total in zip(models, block, sums, strict=True):
                total.infer(model, cells, threads)
            agree(block[0], block[1], models[0].direction, models[1].direction, threads)
            for model, cells, total in zip(models, block, sums, strict=True):
                total.add(model, cells, threads)
                advance(cells.last - cells.first)
        models = (sums[0].maximize(models[0], threads), sums[1].maximize(models[1], threads))
    return models


class _Sums:
    """What one iteration adds up over the corpus."""

    def __init__(self, model: Hmm) -> None:
        self.counts = np.zeros_like(model.lexicon.probabilities)
        self.parts: list[tuple[float, JumpCounts]] = []
        self.null: list[float] = []

    def infer(self, model: Hmm, cells: Cells, threads: int | None) -> None:
        fill(cells, model.direction, model.lexicon, threads)
        self.parts += infer(cells, model.direction, model.transitions, threads)

    def add(self, model: Hmm, cells: Cells, threads: int | None) -> None:
        add(cells, model.direction, model.lexicon, self.counts, threads)
        self.null += over_sentences(lambda first, last: _null(cells, model.direction, first, last), cells, threads)

    def maximize(self, model: Hmm, threads: int | None) -> Hmm:
        jumps = sum_jumps(counts for _, counts in self.parts)
        null = math.fsum([*self.null, NULL_PRIOR * NULL_PROBABILITY]) / (model.direction.words.size + NULL_PRIOR)
        return replace(
            model,
            lexicon=maximize(model.lexicon, self.counts, threads),
            transitions=Transitions(smooth_jumps(maximize_jumps(jumps)), null),
            likelihoods=(*model.likelihoods, math.fsum(part[0] for part in self.parts)),
        )


def agree(one: Cells, other: Cells, one_way: Direction, other_way: Direction, threads: int | None) -> None:
    """Replace the posteriors of both directions by their geometric mean."""
    over_sentences(lambda first, last: _agree(one, other, one_way, other_way, first, last), one, threads)


@kernel
def _agree(one: Cells, other: Cells, one_way: Direction, other_way: Direction, first: int, last: int) -> None:
    for sentence in range(first, last):
        left, right = matrix(one, one_way, sentence), matrix(other, other_way, sentence)
        for i in range(1, left.shape[0]):
            for j in range(left.shape[1]):
                mean = math.sqrt(left[i, j] * right[j + 1, i - 1])
                left[i, j] = right[j + 1, i - 1] = mean
        _complete(left)
        _complete(right)


@kernel
def _complete(values: NDArray[np.float32]) -> None:
    """Give NULL, row 0, what a column lacks to 1; scale down a column that exceeds it."""
    sums = np.zeros(values.shape[1])
    for i in range(1, values.shape[0]):
        for j in range(values.shape[1]):
            sums[j] += values[i, j]
    for j in range(values.shape[1]):
        values[0, j] = max(0.0, 1 - sums[j])
        sums[j] = 1 / max(1.0, sums[j])
    for i in range(1, values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] *= sums[j]


@kernel
def _null(cells: Cells, direction: Direction, first: int, last: int) -> float:
    """Return the number of words that NULL is expected to explain."""
    total = 0.0
    for sentence in range(first, last):
        total += matrix(cells, direction, sentence)[0].sum()
    return total
