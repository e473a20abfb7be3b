"""An epoch of MIRA over lists: for each segment, hope against fear (Cherry and Foster 2012, algorithm 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inner_kernel, kernel
from toledo.tuning.margins import Learner, Limits, add_row, pseudo_gain, step
from toledo.tuning.rows import Rows, Vector, score_rows


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
    """The hypotheses with the largest score + gain and the largest score − gain, the first among equals."""
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
    limits: Limits,
    background: Vector,
    decay: float,
) -> None:
    """One epoch in a given order of segments; changes the learner and the background statistics."""
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
