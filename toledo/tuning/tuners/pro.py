"""PRO, pairwise ranking optimization (Hopkins and May 2011, "Tuning as ranking"), and regression on the same pairs.

Pairs of hypotheses that clearly differ in sentence BLEU are sampled: for each segment draw Γ pairs, drop those whose
gains differ by less than a threshold, keep the Ξ that differ most. A classifier then learns which one is better from
the difference of their features: logistic regression with L2 and without a constant, so that a pair and its mirror
image say the same,

    minimize Σ_pairs log(1 + exp(−w · (x_better − x_worse))) + λ/2 |w|²

Linear regression (Bazrafshan, Chung and Gildea 2012, "Tuning as linear regression") predicts *by how much* one
hypothesis is better than another:

    minimize Σ_pairs ½ (w · (x_better − x_worse) − (gain_better − gain_worse))² + λ/2 |w|²
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import new_heap, pop, push
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.random import GAMMA, LOW_BITS, mixed
from toledo.forest.linear import Rows, Vector, row_scores, select_rows, spread, weighted_sum
from toledo.objectives.lists import sentence_gains
from toledo.progress import Progress
from toledo.settings import Meta, Settings
from toledo.tuning.maximize import dot, fit
from toledo.tuning.tuner import ListTuner, Tuned, TuningProblem
from toledo.tuning.weight_space import WeightSpace

SEGMENTS_AT_ONCE = 32


class Pairs(NamedTuple):
    """Hypothesis `better[i]` gains `differences[i]` more than `worse[i]` of the same segment."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    differences: NDArray[np.float64]


def sample_pairs(
    gains: NDArray[np.float64],
    offsets: NDArray[np.int64],
    limits: tuple[int, float, int],
    seed: int,
    threads: int | None = None,
) -> Pairs:
    """Draw pairs of all segments in order, each with its own random numbers; `limits` are Γ, the threshold and Ξ."""
    segments = offsets.size - 1
    states = np.random.SeedSequence(seed).generate_state(max(segments, 1), np.uint64).astype(np.uint64)
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
    loss: PairLoss, pairs: Pairs, rows: Rows, space: WeightSpace, start: Vector, l2: float, threads: int | None = None
) -> tuple[Vector, float]:
    """Minimize the sum of a loss over pairs; only the hypotheses that are in pairs are scored."""
    both = np.concatenate([pairs.better, pairs.worse])
    chosen, places = np.unique(both, return_inverse=True)
    own = select_rows(rows, chosen)
    better, worse = places[: pairs.better.size], places[pairs.better.size :]
    columns = len(space.names)

    def total(weights: Vector) -> tuple[float, Vector]:
        scores = row_scores(own, weights, threads)
        value, slopes = loss(scores[better] - scores[worse])
        factors = np.zeros(chosen.size)
        factors += np.bincount(better, slopes, chosen.size)
        factors -= np.bincount(worse, slopes, chosen.size)
        return value, weighted_sum(own, factors, columns, threads)

    ends = np.arange(0, 2 * pairs.better.size + 1, 2)
    twice = select_rows(own, np.column_stack([better, worse]).ravel())
    return fit(total, space, start, l2, 0.5 * spread(twice, ends, columns))


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _PairTuner(Settings, ListTuner):
    """A linear model of the differences of sampled pairs.

    BLEU+1 smooths precisions but not lengths, so it prefers short translations; `extra_length` is added to the length
    of references against that (`sentence_gains`).
    """

    l2: Annotated[float, Meta(ge=0, description="L2 penalty on the weights.")] = 1.0
    draws: Annotated[int, Meta(ge=1, description="Pairs of hypotheses drawn for each segment.")] = 5000
    threshold: Annotated[
        float, Meta(ge=0, description="Minimum difference in gain between the hypotheses of a pair.")
    ] = 0.05
    keep: Annotated[int, Meta(ge=1, description="Pairs kept for each segment: those that differ most.")] = 50
    extra_length: Annotated[float, Meta(description="Words added to the length of references.")] = 0.0

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the weights of the model; those of the start where no two hypotheses differ."""
        gains = sentence_gains(problem.lists, self.extra_length)
        with progress(self.name, 2) as advance:
            limits = (self.draws, self.threshold, self.keep)
            pairs = sample_pairs(gains, problem.lists.offsets, limits, seed, problem.threads)
            advance(1)
            if not pairs.better.size:
                log.warning("%s: no two hypotheses of a segment differ enough; the weights stay as they are", self.name)
                return problem.tuned(problem.space.start, 0.0, {"pairs": 0.0})
            values, loss = self.fitted(problem, pairs)
            advance(1)
        return problem.tuned(values, -loss / pairs.better.size, {"pairs": float(pairs.better.size)})

    @abstractmethod
    def fitted(self, problem: TuningProblem, pairs: Pairs) -> tuple[Vector, float]:
        """Return the weights for some pairs, and their loss."""


@dataclass(frozen=True)
class PRO(_PairTuner):
    """Rank hypotheses of lists by logistic regression, with any metric; for thousands of sparse features, too.

    Hopkins and May use an interpolation Ψ of 0.1 over 30 rounds. Free weights get the L1 norm of those at the start if
    that costs nothing.
    """

    interpolation: Annotated[
        float, Meta(gt=0, le=1, description="Share of the new weights in the result; the rest is that of the old ones.")
    ] = 1.0

    name = "pro"

    def fitted(self, problem: TuningProblem, pairs: Pairs) -> tuple[Vector, float]:
        """Return weights that rank hypotheses as the metric does."""
        old = problem.space.start
        new, loss = fit_pairs(logistic_loss, pairs, problem.rows, problem.space, old, self.l2, problem.threads)
        new = problem.at_norm_of_start(new)
        return self.interpolation * new + (1.0 - self.interpolation) * old, loss


def logistic_loss(margins: Vector) -> tuple[float, Vector]:
    """Return Σ log(1 + exp(−m)) and its derivatives."""
    return float(np.logaddexp(0.0, -margins).sum()), -1.0 / (1.0 + np.exp(np.minimum(margins, 700.0)))


@dataclass(frozen=True)
class Regression(_PairTuner):
    """Predict differences of gains by ridge regression on sampled pairs, with any metric.

    Scores that predict differences of gains have a scale of their own. So frozen weights and base scores take no part
    in the fit, of bounds only the signs do, and free weights get the L1 norm of those at the start.
    """

    name = "regression"

    def fitted(self, problem: TuningProblem, pairs: Pairs) -> tuple[Vector, float]:
        """Return weights that predict differences of gains."""

        def loss(margins: Vector) -> tuple[float, Vector]:
            errors = margins - pairs.differences
            return 0.5 * dot(errors, errors), errors

        space = problem.space
        rows, zero = problem.rows._replace(base=np.empty(0)), np.zeros(len(space.names))
        low, high = np.where(space.low >= 0.0, 0.0, -np.inf), np.where(space.high <= 0.0, 0.0, np.inf)
        alone = replace(space, start=zero, low=low, high=high)
        values, total = fit_pairs(loss, pairs, rows, alone, zero, self.l2, problem.threads)
        return space.at_norm_of_start(values), total
