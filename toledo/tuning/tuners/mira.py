"""Batch MIRA (Cherry and Foster 2012, "Batch tuning strategies for statistical machine translation").

An online learner goes through the segments many times. In each it takes the *hope* (best by score plus gain) and the
*fear* (best by score minus gain) and moves the weights just so far that hope beats fear by their difference in gain,
but by no more than C (`toledo.tuning.tuners.margins`). The gain of a hypothesis is what it does for the BLEU of a
pseudo-corpus: the decayed sum of the statistics of earlier hopes. The result is the average of all weights on the way,
of the epoch after which the best hypotheses score highest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel
from toledo.forest.linear import Rows, Vector, score_rows
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.progress import Progress, silent
from toledo.settings import Meta, Settings
from toledo.tuning.examples import Examples, sentence_gains
from toledo.tuning.tuner import ListProblem, SearchSpace, Tuned, list_problem, refuse_metric
from toledo.tuning.tuners.margins import Learner, StepLimits, add_row, average, new_learner, pseudo_gain, step
from toledo.tuning.tuners.mira_forests import ForestProblem, forest_problem, learn_from_forests
from toledo.weights import Weights


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


Epoch = Callable[[Learner, np.ndarray, StepLimits, Vector], None]


@dataclass(frozen=True)
class MIRA(Settings):
    """Learn from hope and fear in n-best lists, or in lattices and forests; sparse features by the thousand.

    On forests hope and fear are found by Viterbi with linear gains. Metrics other than BLEU need lists: a hypothesis
    then gains its sentence score. Free weights get the L1 norm of those at the start if that costs nothing.
    """

    epochs: Annotated[int, Meta(ge=1, description="Number of passes over the segments.")] = 60
    largest_step: Annotated[float, Meta(gt=0, description="Largest step of the weights for a segment (C).")] = 0.01
    decay: Annotated[float, Meta(ge=0, lt=1, description="Decay of the pseudo-corpus with each segment.")] = 0.999
    on: Annotated[SearchSpace, Meta(description="Learn from n-best lists, or from lattices and forests.")] = "lists"
    density: Annotated[float, Meta(gt=0, description="Edges per word that are looked at in forests.")] = 20.0

    name = "mira"

    @property
    def wants(self) -> SearchSpace:
        """What it learns from."""
        return self.on

    def check_metric(self, metric: Metric) -> None:
        """Refuse metrics other than BLEU on forests."""
        if self.on == "forests" and not isinstance(metric, BLEU):
            raise refuse_metric("mira:on=forests", metric)

    def tune(
        self,
        examples: Examples,
        start: Weights,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tuned:
        """Return the average weights of the best epoch; the order of segments is random."""
        self.check_metric(examples.metric)
        problem: ListProblem | ForestProblem
        if self.on == "lists":
            problem = list_problem(examples, start, threads)
            epoch = self._on_lists(problem)
        else:
            problem = forest_problem(examples, start, self.density, threads)
            epoch = self._on_forests(problem)
        return self._learn(problem, epoch, examples, seed, progress)

    def _on_lists(self, problem: ListProblem) -> Epoch:
        lists = problem.lists
        gains = np.empty(0) if isinstance(lists.metric, BLEU) else sentence_gains(lists)
        given = ListExamples(problem.rows, lists.offsets, lists.statistics, gains)
        return lambda learner, order, limits, background: learn_from_lists(
            given, order, learner, limits, background, self.decay
        )

    def _on_forests(self, problem: ForestProblem) -> Epoch:
        return lambda learner, order, limits, background: learn_from_forests(
            problem.examples, order, learner, limits, background, self.decay
        )

    def _learn(
        self, problem: ListProblem | ForestProblem, epoch: Epoch, examples: Examples, seed: int, progress: Progress
    ) -> Tuned:
        given = problem.space
        random, learner = np.random.default_rng(seed), new_learner(given)
        limits = StepLimits(given.free, given.low, given.high, self.largest_step)
        background = np.ones(examples.metric.size)
        best, best_gain, best_epoch = given.start, -np.inf, 0
        with progress(self.name, self.epochs) as advance:
            for number in range(1, self.epochs + 1):
                epoch(learner, random.permutation(len(examples.forests)), limits, background)
                values = average(learner)
                gain = problem.gain(values)
                if gain > best_gain:
                    best, best_gain, best_epoch = values, gain, number
                advance(1)
        return problem.tuned(problem.at_norm_of_start(best), details={"epoch": float(best_epoch)})
