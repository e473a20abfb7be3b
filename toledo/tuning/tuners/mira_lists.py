"""The step of MIRA, and an epoch over n-best lists: move the weights just so far that hope beats fear by a margin.

    w ← w + η d,   d = x_hope − x_fear,   η = min(C, max(0, Δgain − w · d) / |d|²)

over free weights, each kept within its limits. The average of the weights after all steps so far is kept up to date
at the cost of the features that change: w̄ = w − u / t with u = Σ_τ (τ − 1) Δw_τ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel
from toledo.forest.linear import Rows, Vector, score_rows
from toledo.tuning.weight_space import WeightSpace


class StepLimits(NamedTuple):
    """Which weights may change, how far, and the largest step C."""

    free: NDArray[np.bool_]
    low: Vector
    high: Vector
    largest_step: float


class Learner(NamedTuple):
    """Weights, what their average needs, the number of steps, and the sparse difference of two hypotheses."""

    weights: Vector
    weighted_changes: Vector
    steps: NDArray[np.int64]
    difference: Vector
    touched: NDArray[np.int32]
    is_touched: NDArray[np.bool_]
    size: NDArray[np.int64]


def new_learner(parameters: WeightSpace) -> Learner:
    """Return a learner that begins with the weights of the start."""
    size = len(parameters.names)
    return Learner(
        parameters.start.copy(),
        np.zeros(size),
        np.zeros(1, np.int64),
        np.zeros(size),
        np.empty(size, np.int32),
        np.zeros(size, np.bool_),
        np.zeros(1, np.int64),
    )


def average(learner: Learner) -> Vector:
    """Return the mean of the weights after each step."""
    return learner.weights - learner.weighted_changes / max(int(learner.steps[0]), 1)


@inner_kernel
def add_row(rows: Rows, h: int, factor: float, learner: Learner) -> None:
    """Add the features of a row to the difference."""
    _, dense, offsets, columns, values = rows
    _, _, _, difference, touched, is_touched, size = learner
    for k in range(dense.shape[1]):
        difference[k] += factor * dense[h, k]
        if not is_touched[k]:
            is_touched[k], touched[size[0]] = True, k
            size[0] += 1
    if offsets.size:
        for i in range(offsets[h], offsets[h + 1]):
            k = columns[i]
            difference[k] += factor * values[i]
            if not is_touched[k]:
                is_touched[k], touched[size[0]] = True, k
                size[0] += 1


@inner_kernel
def step(learner: Learner, loss: float, limits: StepLimits) -> None:
    """Move along the difference for a loss, and clear the difference. Counts as a step even if nothing moves."""
    weights, weighted_changes, steps, difference, touched, is_touched, size = learner
    free, low, high, largest_step = limits
    norm = 0.0
    for i in range(size[0]):
        if free[touched[i]]:
            norm += difference[touched[i]] ** 2.0
    length = min(largest_step, loss / norm) if loss > 0.0 and norm > 0.0 else 0.0
    for i in range(size[0]):
        k = touched[i]
        if free[k] and length > 0.0:
            new = min(max(weights[k] + length * difference[k], low[k]), high[k])
            weighted_changes[k] += steps[0] * (new - weights[k])
            weights[k] = new
        difference[k], is_touched[k] = 0.0, False
    size[0] = 0
    steps[0] += 1


@inner_kernel
def pseudo_gain(background: Vector, statistics: Vector) -> float:
    """(|r_B| + |r|) · BLEU(B + s) for the statistics s of a segment in a pseudo-corpus B (Chiang, Marton, Resnik 2008).

    From 0 to the reference length, so that differences are worth about as much as words.
    """
    order = (statistics.size - 2) // 2
    length, reference = background[0] + statistics[0], background[1] + statistics[1]
    matches, totals = 1.0, 1.0
    for n in range(order):
        matches *= background[2 + n] + statistics[2 + n]
        totals *= background[2 + order + n] + statistics[2 + order + n]
    if length <= 0.0 or matches <= 0.0 or totals <= 0.0:
        return 0.0
    precision = np.sqrt(np.sqrt(matches / totals)) if order == 4 else (matches / totals) ** (1.0 / order)
    return float(reference * precision * (np.exp(1.0 - reference / length) if length < reference else 1.0))


class ListExamples(NamedTuple):
    """Hypotheses `offsets[i]:offsets[i + 1]` of segment i: features, statistics, and gains where they are fixed.

    Without `gains`, a hypothesis gains what it does for the BLEU of the pseudo-corpus.
    """

    rows: Rows
    offsets: NDArray[np.int64]
    statistics: NDArray[np.float64]
    gains: Vector


@inner_kernel
def hope_and_fear(scores: Vector, gains: Vector) -> tuple[int, int]:
    """Return the hypotheses with the largest score + gain and the largest score − gain, the first among equals."""
    hope = fear = 0
    for h in range(1, scores.size):
        if scores[h] + gains[h] > scores[hope] + gains[hope]:
            hope = h
        if scores[h] - gains[h] > scores[fear] - gains[fear]:
            fear = h
    return hope, fear


@kernel
def learn_from_lists(
    examples: ListExamples,
    order: NDArray[np.int64],
    learner: Learner,
    limits: StepLimits,
    background: Vector,
    decay: float,
) -> None:
    """Run one epoch in a given order of segments; changes the learner and the background statistics."""
    rows, offsets, statistics, fixed_gains = examples
    longest = np.diff(offsets).max() if offsets.size > 1 else 0
    all_scores, all_gains = np.empty(longest), np.empty(longest)
    for segment in order:
        begin, end = offsets[segment], offsets[segment + 1]
        if begin == end:
            continue
        scores, gains = all_scores[: end - begin], all_gains[: end - begin]
        score_rows(rows, learner.weights, begin, end, scores)
        for h in range(begin, end):
            gains[h - begin] = fixed_gains[h] if fixed_gains.size else pseudo_gain(background, statistics[h])
        hope, fear = hope_and_fear(scores, gains)
        loss = gains[hope] - gains[fear] - (scores[hope] - scores[fear])
        if hope != fear and loss > 0.0:
            add_row(rows, begin + hope, 1.0, learner)
            add_row(rows, begin + fear, -1.0, learner)
        step(learner, loss, limits)
        for k in range(background.size):
            background[k] = decay * background[k] + statistics[begin + hope, k]
