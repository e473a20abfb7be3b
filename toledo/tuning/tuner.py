"""Tuners and their problem: from tuning examples and weights to better weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from toledo.errors import InputError
from toledo.forest.linear import Rows, Vector, row_scores
from toledo.metrics.metric import Metric
from toledo.objectives.lists import HypothesisLists, corpus_score, sign
from toledo.progress import Progress, silent
from toledo.tuning.examples import Examples
from toledo.tuning.weight_space import WeightSpace, finite_rows, weight_space
from toledo.weights import Weights

SearchSpace = Literal["lists", "forests"]


@dataclass(frozen=True)
class Tuned:
    """The weights that a tuner found, and the value of what it maximized.

    `details` are further figures for the history, `path` is the objective after each step of gradient methods.
    """

    weights: Weights
    objective: float
    details: Mapping[str, float] = field(default_factory=dict)
    path: tuple[float, ...] = ()


def refuse_metric(objective: str, metric: Metric) -> InputError:
    """Return the error for a metric that an objective cannot use."""
    return InputError(
        f"objective {objective!r} cannot use metric {metric.name.lower()!r}: it needs gradients by counts of n-grams",
        remedy="use BLEU, or an objective on lists such as mert, mira or expected",
    )


@dataclass(frozen=True, eq=False)
class TuningProblem:
    """Examples and the weights to find, which are as good as the hypotheses that they choose are by the metric."""

    examples: Examples
    start: Weights
    space: WeightSpace
    threads: int | None

    @property
    def metric(self) -> Metric:
        """Return the metric to tune for."""
        return self.examples.metric

    @property
    def lists(self) -> HypothesisLists:
        """Return the examples as lists with statistics; refuse lattices and forests."""
        return self.examples.lists

    @property
    def unit(self) -> float:
        """Return what counts as one per cent of the metric."""
        return self.lists.range.unit

    @cached_property
    def rows(self) -> Rows:
        """Return the features of all hypotheses or edges."""
        return finite_rows(self.examples.forest)

    def score(self, values: Vector) -> float:
        """Return the metric's score of the best hypotheses; here of lists."""
        return corpus_score(self.lists, row_scores(self.rows, values, self.threads))

    def gain(self, values: Vector) -> float:
        """Return the score with a minus sign for an error rate."""
        return sign(self.metric) * self.score(values)

    def at_norm_of_start(self, values: Vector) -> Vector:
        """Scale free weights to the norm of those at the start, if that costs nothing."""
        return self.space.prefer_norm_of_start(values, self.gain)[0]

    def tuned(
        self, values: Vector, objective: float | None = None, details: Mapping[str, float] | None = None
    ) -> Tuned:
        """Return the result; the objective is the metric's score if nothing else was maximized."""
        weights = self.start.updated(self.space.names, values)
        score = self.score(self.space.clipped(values))
        gain = sign(self.metric) * score if objective is None else objective
        return Tuned(weights, gain, {self.metric.name: score, **(details or {})})


def tuning_problem(examples: Examples, start: Weights, threads: int | None = None) -> TuningProblem:
    """Put examples beside the weights to begin with."""
    return TuningProblem(examples, start, weight_space(examples.forest, start), threads)


class Tuner(ABC):
    """Base of tuners: a subclass has a name and solves problems."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name under which the tuner is registered."""

    @property
    def wants(self) -> SearchSpace:
        """Return which search spaces the loop must collect: n-best lists, or whole lattices and forests."""
        return "lists"

    def check_metric(self, metric: Metric) -> None:  # noqa: B027 (most accept any metric)
        """Refuse a metric that the tuner cannot tune for."""

    def tune(
        self,
        examples: Examples,
        start: Weights,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tuned:
        """Find better weights for all that the search has found so far; the same seed gives the same weights."""
        self.check_metric(examples.metric)
        return self.solve(tuning_problem(examples, start, threads), seed, progress)

    @abstractmethod
    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the weights for a problem."""


class ListTuner(Tuner):
    """Base of tuners that work on lists alone, with any metric."""
