"""PRO, pairwise ranking optimisation (Hopkins and May 2011, "Tuning as ranking").

Pairs of hypotheses that clearly differ in sentence BLEU are sampled, and a classifier learns which one is better from
the difference of their features: logistic regression with L2 and without a constant, so that a pair and its mirror
image say the same,

    minimise Σ_pairs log(1 + exp(−w · (x_better − x_worse))) + λ/2 |w|²

Pairs of hypotheses that clearly differ, drawn at random (Hopkins and May 2011, figure 4).

For each segment: draw Γ pairs, drop those whose gains differ by less than a threshold, keep the Ξ that differ most.

Linear models on pairs of hypotheses: a loss of the difference of their scores.

Linear regression (Bazrafshan, Chung and Gildea 2012, "Tuning as linear regression").

As PRO, but the differences of features predict *by how much* one hypothesis is better than another:

    minimise Σ_pairs ½ (w · (x_better − x_worse) − (gain_better − gain_worse))² + λ/2 |w|²
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import new_heap, pop, push
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.random import GAMMA, LOW_BITS, mixed
from toledo.progress import Progress
from toledo.tuning.examples import sentence_gains
from toledo.tuning.maximise import dot, fit
from toledo.tuning.rows import Parameters, Rows, Vector, row_scores, select_rows, spread, weighted_sum
from toledo.tuning.tuner import ListProblem, ListTuner, Tuned

SEGMENTS_AT_ONCE = 32


class Pairs(NamedTuple):
    """Hypothesis `better[i]` gains `differences[i]` more than `worse[i]` of the same segment."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    differences: NDArray[np.float64]


@dataclass(frozen=True)
class Sampling:
    """How many pairs to draw for each segment (Γ), which gains are too close, and how many pairs to keep (Ξ)."""

    draws: int = 5000
    threshold: float = 0.05
    keep: int = 50

    def __post_init__(self) -> None:
        if self.draws < 1 or self.keep < 1 or not self.threshold >= 0.0:
            raise ValueError("pairs: draw and keep at least one, with a threshold not below 0")


def sample_pairs(
    gains: NDArray[np.float64], offsets: NDArray[np.int64], sampling: Sampling, seed: int, threads: int | None = None
) -> Pairs:
    """Pairs of all segments in order, in a segment as they were drawn. Each segment has its own random numbers."""
    segments = offsets.size - 1
    states = np.random.SeedSequence(seed).generate_state(max(segments, 1), np.uint64).astype(np.uint64)
    limits = (sampling.draws, sampling.threshold, sampling.keep)
    parts = map_chunks(
        lambda begin, end: _sample(gains, offsets, states, limits, begin, end),
        segments,
        chunk=SEGMENTS_AT_ONCE,
        threads=threads,
    )
    better = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
    worse = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    return Pairs(better, worse, gains[better] - gains[worse])


@kernel
def _sample(
    gains: NDArray[np.float64],
    offsets: NDArray[np.int64],
    states: NDArray[np.uint64],
    limits: tuple[int, float, int],
    begin: int,
    end: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    draws, threshold, keep = limits
    better, worse, size = np.empty((end - begin) * keep, np.int64), np.empty((end - begin) * keep, np.int64), 0
    first, second = np.empty(draws, np.int64), np.empty(draws, np.int64)
    for segment in range(begin, end):
        start, count, state = offsets[segment], offsets[segment + 1] - offsets[segment], states[segment]
        kept = new_heap(keep + 1)  # the least different pair on top, the last drawn one among equals
        for draw in range(draws if count > 1 else 0):
            state += GAMMA
            a = start + int(float(mixed(state) >> LOW_BITS) * 2.0**-53 * count)
            state += GAMMA
            b = start + int(float(mixed(state) >> LOW_BITS) * 2.0**-53 * count)
            difference = abs(gains[a] - gains[b])
            if difference == 0.0 or difference < threshold:
                continue
            if kept.size[0] == keep and difference <= -kept.scores[0]:
                continue
            first[draw], second[draw] = a, b
            kept = push(kept, -difference, draws - draw)
            if kept.size[0] > keep:
                pop(kept)
        for number in np.sort(kept.numbers[: kept.size[0]])[::-1]:
            a, b = first[draws - number], second[draws - number]
            better[size], worse[size] = (a, b) if gains[a] > gains[b] else (b, a)
            size += 1
    return better[:size], worse[:size]


PairLoss = Callable[[Vector], tuple[float, Vector]]  # of the margins: the sum, and the derivative by each


def fit_pairs(
    loss: PairLoss,
    pairs: Pairs,
    rows: Rows,
    parameters: Parameters,
    start: Vector,
    l2: float,
    threads: int | None = None,
) -> tuple[Vector, float]:
    """Minimise the sum of a loss over pairs; only the hypotheses that are in pairs are scored."""
    both = np.concatenate([pairs.better, pairs.worse])
    chosen, places = np.unique(both, return_inverse=True)
    own = select_rows(rows, chosen)
    better, worse = places[: pairs.better.size], places[pairs.better.size :]
    columns = len(parameters.names)

    def total(weights: Vector) -> tuple[float, Vector]:
        scores = row_scores(own, weights, threads)
        value, slopes = loss(scores[better] - scores[worse])
        factors = np.zeros(chosen.size)
        factors += np.bincount(better, slopes, chosen.size)
        factors -= np.bincount(worse, slopes, chosen.size)
        return value, weighted_sum(own, factors, columns, threads)

    ends = np.arange(0, 2 * pairs.better.size + 1, 2)
    twice = select_rows(own, np.column_stack([better, worse]).ravel())
    return fit(total, parameters, start, l2, 0.5 * spread(twice, ends, columns))


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PRO(ListTuner):
    """Ranking by logistic regression on lists, with any metric; sparse features by the thousand.

    `extra_length` 1 keeps BLEU+1 from preferring short translations (`sentence_gains`). `interpolation` is Ψ: how much
    of the result is new, the rest being the weights it began with; Hopkins and May use 0.1 over 30 rounds. Free
    weights get the L1 norm of those at the start if that costs nothing.
    """

    sampling: Sampling = field(default_factory=Sampling)
    l2: float = 1.0
    extra_length: float = 0.0
    interpolation: float = 1.0

    name = "pro"

    def __post_init__(self) -> None:
        if not (self.l2 >= 0.0 and 0.0 < self.interpolation <= 1.0):
            raise ValueError("PRO: l2 must not be negative, the interpolation above 0 and at most 1")

    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """Weights that rank hypotheses as the metric does; those of the start where no two hypotheses differ."""
        old = problem.parameters.start
        gains = sentence_gains(problem.lists, self.extra_length)
        with progress(self.name, 2) as advance:
            pairs = sample_pairs(gains, problem.lists.offsets, self.sampling, seed, problem.threads)
            advance(1)
            if not pairs.better.size:
                log.warning("PRO: no two hypotheses of a segment differ enough: the weights stay as they are")
                return problem.tuned(old, 0.0, {"pairs": 0.0})
            new, loss = fit_pairs(logistic_loss, pairs, problem.rows, problem.parameters, old, self.l2, problem.threads)
            advance(1)
        new = problem.at_norm_of_start(new)
        values = self.interpolation * new + (1.0 - self.interpolation) * old
        return problem.tuned(values, -loss / pairs.better.size, {"pairs": float(pairs.better.size)})


def logistic_loss(margins: Vector) -> tuple[float, Vector]:
    """Σ log(1 + exp(−m)), and its derivatives."""
    return float(np.logaddexp(0.0, -margins).sum()), -1.0 / (1.0 + np.exp(np.minimum(margins, 700.0)))


@dataclass(frozen=True)
class Regression(ListTuner):
    """Ridge regression on sampled pairs, with any metric.

    Scores that predict differences of gains have a scale of their own. So frozen weights and base scores take no part
    in the fit, of limits only the signs do, and free weights get the L1 norm of those at the start. `extra_length` is
    that of PRO.
    """

    sampling: Sampling = field(default_factory=Sampling)
    l2: float = 1.0
    extra_length: float = 0.0

    name = "regression"

    def __post_init__(self) -> None:
        if not self.l2 >= 0.0:
            raise ValueError("regression: l2 must not be negative")

    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """Weights that predict differences of gains; those of the start where no two hypotheses differ."""
        given = problem.parameters
        gains = sentence_gains(problem.lists, self.extra_length)
        with progress(self.name, 2) as advance:
            pairs = sample_pairs(gains, problem.lists.offsets, self.sampling, seed, problem.threads)
            advance(1)
            if not pairs.better.size:
                log.warning("regression: no two hypotheses of a segment differ enough: the weights stay as they are")
                return problem.tuned(given.start, 0.0, {"pairs": 0.0})

            def loss(margins: Vector) -> tuple[float, Vector]:
                errors = margins - pairs.differences
                return 0.5 * dot(errors, errors), errors

            rows, zero = problem.rows._replace(base=np.empty(0)), np.zeros(len(given.names))
            low, high = np.where(given.low >= 0.0, 0.0, -np.inf), np.where(given.high <= 0.0, 0.0, np.inf)
            alone = replace(given, start=zero, low=low, high=high)
            values, total = fit_pairs(loss, pairs, rows, alone, zero, self.l2, problem.threads)
            advance(1)
        values = given.at_norm_of_start(values)
        return problem.tuned(values, -total / pairs.better.size, {"pairs": float(pairs.better.size)})
