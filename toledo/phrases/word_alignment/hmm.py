"""The HMM of word alignment (Vogel et al. 1996; Och and Ney 2003): forward–backward in a sentence pair.

The state is the place of the given word that was aligned last, −1 before the first. Word f_j is, with probability p0, a
translation of NULL, and the place stays; otherwise the place jumps from i' to i and f_j is a translation of e_i:

    p(f, a | e) = Π_j { p0 t(f_j | NULL)  or  (1 − p0) p(a_j | a', I) t(f_j | e_{a_j}) } · p(I | a', I)

So each place has one state, not two as in models where separate NULL states remember the place.

How far the alignment jumps from one word to the next: the transitions of the HMM.

p(i | i', I) = c(i − i') / Σ_{k=0..I} c(k − i'): one weight for each jump shorter than REACH, a shared one for all
longer jumps on each side, normalized over the places that the sentence has (Vogel et al. 1996; Och and Ney 2003).
The first jump starts at place −1 and has separate weights. The last one goes to I, the end of the sentence: without
it a model pays for the words that it skips within a sentence, but not for those at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.word_alignment.direction import Cells, Direction, matrix, over_sentences

REACH = 8  # the shortest jump of a shared weight
BAND = 2 * REACH - 1  # jumps with a weight of their own
WEIGHTS = BAND + 2
FIRST, LATER = 0, 1  # rows of all arrays here; columns are jump + REACH
BACK, AHEAD = 0, 2 * REACH  # columns of the shared weights
SMOOTHING = 0.01
STAY = -1  # a back pointer: the word belongs to NULL, the place stays


class JumpCounts(NamedTuple):
    """Expected numbers of jumps taken, and of chances to take them at the present weights."""

    taken: NDArray[np.float64]
    chances: NDArray[np.float64]


def uniform_jumps() -> NDArray[np.float64]:
    """Equal weights for all jumps."""
    return np.full((2, WEIGHTS), 1 / WEIGHTS)


def sum_jumps(parts: Iterable[JumpCounts]) -> JumpCounts:
    """Return the counts of several pieces of a corpus together."""
    total = JumpCounts(np.zeros((2, WEIGHTS)), np.zeros((2, WEIGHTS)))
    for part in parts:
        total.taken[:] += part.taken
        total.chances[:] += part.chances
    return total


def maximize_jumps(counts: JumpCounts, prior: float = 1.0) -> NDArray[np.float64]:
    """Better weights: c(d) ← jumps taken / chances to take them.

    Each sentence normalizes the weights over its own places, so relative frequencies do not maximize the likelihood;
    this step of Hunter's (2004) algorithm for Bradley–Terry models never lowers it. The step is taken on the data plus
    `prior` jumps, spread evenly over all weights, so that none becomes 0.
    """
    weights: NDArray[np.float64] = (counts.taken + prior / WEIGHTS) / (counts.chances + prior)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def smooth_jumps(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a constant to all weights.

    A phrase that moves takes two long jumps. At the weights of the highest likelihood NULL often explains its words
    more cheaply.
    """
    return (weights + SMOOTHING) / (1 + WEIGHTS * SMOOTHING)


@kernel
def normalizers(weights: NDArray[np.float64], size: int, inverse: NDArray[np.float64]) -> None:
    """Put 1 / Σ_k c(k − i') over the places k = 0..size at `inverse[i' + 1]`, for i' = −1..size−1."""
    for place in range(-1, size):
        row = FIRST if place < 0 else LATER
        total = weights[row, BACK] * max(0, place - REACH + 1) + weights[row, AHEAD] * max(0, size - place - REACH + 1)
        for jump in range(max(1 - REACH, -place), min(REACH - 1, size - place) + 1):
            total += weights[row, jump + REACH]
        inverse[place + 1] = 1 / total


@kernel
def add_chances(
    leaving: NDArray[np.float64], inverse: NDArray[np.float64], size: int, chances: NDArray[np.float64]
) -> None:
    """Add the chances of jumps in a sentence, where `leaving[i' + 1]` of them are expected to start at place i'."""
    for place in range(-1, size):
        row = FIRST if place < 0 else LATER
        rate = leaving[place + 1] * inverse[place + 1]
        chances[row, BACK] += rate * max(0, place - REACH + 1)
        chances[row, AHEAD] += rate * max(0, size - place - REACH + 1)
        for jump in range(max(1 - REACH, -place), min(REACH - 1, size - place) + 1):
            chances[row, jump + REACH] += rate


@kernel
def column_of(jump: int) -> int:
    """Return the column of a jump's weight."""
    return min(max(jump, -REACH), REACH) + REACH


@kernel
def land(padded: NDArray[np.float64], weights: NDArray[np.float64], result: NDArray[np.float64]) -> None:
    """Compute the sums Σ_x g(x) c(i − x) for all places i of a sentence, in time linear in its length.

    Place x is at `padded[REACH − 1 + x]`, between REACH − 1 zeros on each side. With the weights reversed, the sums are
    Σ_i g(i) c(i − x) for all places x: what can be reached instead of what arrives.
    """
    size = result.size
    band = weights[1 : 1 + BAND]
    for place in range(size):
        total = 0.0
        for k in range(BAND):
            total += band[k] * padded[place + BAND - 1 - k]
        result[place] = total
    values = padded[REACH - 1 : REACH - 1 + size]
    behind, before = 0.0, 0.0
    for place in range(REACH, size):
        behind += values[place - REACH]
        result[place] += behind * weights[AHEAD]
        before += values[size - 1 - place + REACH]
        result[size - 1 - place] += before * weights[BACK]


class Transitions(NamedTuple):
    """The weights of jumps, [FIRST or LATER, jump + REACH], and the probability of NULL."""

    weights: NDArray[np.float64]
    null: float


class Trellis(NamedTuple):
    """What the forward pass leaves for the backward pass; state x is place x − 1.

    `states[j, x]` is p(state x after j words | those words); `landed[j, i]` is the part of `states[j + 1, i + 1]` that
    has just jumped there; `scales[j]` is p(word j | words before), the last one p(end | all words).
    """

    emission: NDArray[np.float64]
    null: NDArray[np.float64]
    inverse: NDArray[np.float64]
    states: NDArray[np.float64]
    landed: NDArray[np.float64]
    scales: NDArray[np.float64]


def infer(
    cells: Cells, direction: Direction, transitions: Transitions, threads: int | None
) -> list[tuple[float, JumpCounts]]:
    """Turn lexicon probabilities into posteriors p(i | j); log-likelihood and jumps of pieces of the block."""
    return over_sentences(lambda first, last: _infer(cells, direction, transitions, first, last), cells, threads)


@kernel
def _infer(
    cells: Cells, direction: Direction, transitions: Transitions, first: int, last: int
) -> tuple[float, JumpCounts]:
    counts = JumpCounts(np.zeros((2, WEIGHTS)), np.zeros((2, WEIGHTS)))
    likelihood = 0.0
    for sentence in range(first, last):
        values = matrix(cells, direction, sentence)
        trellis = _forward(values, transitions)
        for scale in trellis.scales:
            likelihood += math.log(scale)
        _backward(trellis, transitions, values, counts)
    return likelihood, counts


@kernel
def _forward(values: NDArray[np.float32], transitions: Transitions) -> Trellis:
    size, length = values.shape[0] - 1, values.shape[1]
    emission = values[1:].T.astype(np.float64)
    null = values[0].astype(np.float64) * transitions.null
    inverse, states = np.empty(size + 1), np.zeros((length + 1, size + 1))
    landed, scales = np.empty((length, size)), np.empty(length + 1)
    normalizers(transitions.weights, size, inverse)
    leaving = np.zeros(size + 2 * (REACH - 1))
    states[0, 0] = 1.0
    for j in range(length):
        before, after, arrived, emit = states[j], states[j + 1], landed[j], emission[j]
        for place in range(size):
            leaving[REACH - 1 + place] = before[place + 1] * inverse[place + 1]
        land(leaving, transitions.weights[LATER], arrived)
        start = before[0] * inverse[0]
        total = after[0] = before[0] * null[j]
        for i in range(size):
            jumped = arrived[i] + start * transitions.weights[FIRST, column_of(i + 1)]
            arrived[i] = jumped * (1 - transitions.null) * emit[i]
            after[i + 1] = arrived[i] + before[i + 1] * null[j]
            total += after[i + 1]
        scales[j] = total
        after /= total
        arrived /= total
    scales[length] = 0.0
    for state in range(size + 1):
        scales[length] += states[length, state] * end_probability(transitions.weights, inverse, state, size)
    return Trellis(emission, null, inverse, states, landed, scales)


@kernel
def end_probability(weights: NDArray[np.float64], inverse: NDArray[np.float64], state: int, size: int) -> float:
    """Return the probability of a jump to the end of the sentence."""
    return float(inverse[state] * weights[LATER if state > 0 else FIRST, column_of(size - state + 1)])


@kernel
def _backward(trellis: Trellis, transitions: Transitions, values: NDArray[np.float32], counts: JumpCounts) -> None:
    """Overwrite `values` with posteriors and add the expected jumps to `counts`.

    `beta[x]` is p(words after j | state x after word j) / p(words after j | words up to j).
    """
    length, size = trellis.emission.shape
    weights, inverse = transitions.weights, trellis.inverse
    reversed_weights = weights[LATER, ::-1].copy()
    beta, reached = np.empty(size + 1), np.empty(size)
    leaving, source = np.zeros(size + 1), np.empty(size)
    onward = np.zeros(size + 2 * (REACH - 1))
    taken, far = np.zeros((BAND, size)), np.zeros(2)
    for state in range(size + 1):
        beta[state] = end_probability(weights, inverse, state, size) / trellis.scales[length]
        leaving[state] = trellis.states[length, state] * beta[state]
        counts.taken[LATER if state > 0 else FIRST, column_of(size - state + 1)] += leaving[state]
    for j in range(length - 1, -1, -1):
        before, arrived, emit = trellis.states[j], trellis.landed[j], trellis.emission[j]
        stay, move = trellis.null[j] / trellis.scales[j], (1 - transitions.null) / trellis.scales[j]
        stayed = before[0] * beta[0]
        for i in range(size):
            stayed += before[i + 1] * beta[i + 1]
            values[i + 1, j] = arrived[i] * beta[i + 1]
            onward[REACH - 1 + i] = emit[i] * beta[i + 1] * move
            source[i] = before[i + 1] * inverse[i + 1]
        values[0, j] = stayed * stay
        land(onward, reversed_weights, reached)
        _count(source, onward, taken, far)
        start, from_start = before[0] * inverse[0], 0.0
        for i in range(size):
            jumped = weights[FIRST, column_of(i + 1)] * onward[REACH - 1 + i]
            counts.taken[FIRST, column_of(i + 1)] += jumped * start
            from_start += jumped
        leaving[0] += from_start * start
        beta[0] = beta[0] * stay + from_start * inverse[0]
        for i in range(size):
            leaving[i + 1] += reached[i] * source[i]
            beta[i + 1] = beta[i + 1] * stay + reached[i] * inverse[i + 1]
    for k in range(BAND):
        counts.taken[LATER, 1 + k] += taken[k].sum() * weights[LATER, 1 + k]
    counts.taken[LATER, BACK] += far[0] * weights[LATER, BACK]
    counts.taken[LATER, AHEAD] += far[1] * weights[LATER, AHEAD]
    add_chances(leaving, inverse, size, counts.chances)


@kernel
def _count(
    source: NDArray[np.float64], onward: NDArray[np.float64], taken: NDArray[np.float64], far: NDArray[np.float64]
) -> None:
    """Add source(x) · onward(i) to the jumps i − x: short ones apart by x, the sums of those far back and far ahead."""
    size = source.size
    for k in range(BAND):
        row, shifted = taken[k], onward[k : k + size]
        for place in range(size):
            row[place] += source[place] * shifted[place]
    behind, before = 0.0, 0.0
    for place in range(REACH, size):
        behind += onward[place - 1]  # place − REACH, in padded places
        far[0] += behind * source[place]
        before += onward[size - 1 - place + 2 * REACH - 1]
        far[1] += before * source[size - 1 - place]


def viterbi(
    cells: Cells, direction: Direction, transitions: Transitions, threads: int | None
) -> list[NDArray[np.int32]]:
    """Return the given position of each word, from 0, or −1 for NULL, from cells that hold lexicon probabilities."""
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
    normalizers(transitions.weights, size, inverse)
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
