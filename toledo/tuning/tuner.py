"""What a tuner is: from tuning examples and weights to better weights.

Tuners on lists begin with the same problem: lists, their features as rows, and the weights to find.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from toledo.errors import InputError
from toledo.forest.linear import Rows, Vector, row_scores
from toledo.metrics.metric import Metric
from toledo.progress import Progress, silent
from toledo.tuning.examples import Examples, HypothesisLists, corpus_score, sign
from toledo.tuning.weight_space import WeightSpace, finite_rows, weight_space
from toledo.weights import Weights

SearchSpace = Literal["lists", "forests"]


@dataclass(frozen=True)
class Tuned:
    """What a tuner found: weights, and what it maximized there.

    `details` are further figures for the history, `path` is the objective after each step of those who make steps.
    """

    weights: Weights
    objective: float
    details: Mapping[str, float] = field(default_factory=dict)
    path: tuple[float, ...] = ()


class Tuner(Protocol):
    """A way to find weights. `wants` says which search spaces the loop must collect for it."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def wants(self) -> SearchSpace:
        """N-best lists, or whole lattices and forests."""
        ...

    def check_metric(self, metric: Metric) -> None:
        """Refuse a metric that it cannot tune for."""
        ...

    def tune(self, examples: Examples, start: Weights, *, seed: int, threads: int | None, progress: Progress) -> Tuned:
        """Find better weights for all that the search has found so far; the same seed gives the same weights."""
        ...


def refuse_metric(objective: str, metric: Metric) -> InputError:
    """Return the error for a metric that an objective cannot use."""
    return InputError(
        f"objective {objective!r} cannot use metric {metric.name.lower()!r}",
        remedy="use BLEU, or an objective on lists such as mert, mira or expected",
    )


@dataclass(frozen=True, eq=False)
class TuningProblem(ABC):
    """The weights to find, and how good they are: by the metric of the hypotheses that they choose."""

    start: Weights
    space: WeightSpace
    metric: Metric
    threads: int | None

    @abstractmethod
    def score(self, values: Vector) -> float:
        """Return the metric's score of the best hypotheses."""

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


@dataclass(frozen=True, eq=False)
class ListProblem(TuningProblem):
    """Lists, and their features as rows."""

    lists: HypothesisLists
    rows: Rows

    def score(self, values: Vector) -> float:
        """Return the metric's score of the best hypotheses."""
        return corpus_score(self.lists, row_scores(self.rows, values, self.threads))


def list_problem(examples: Examples, start: Weights, threads: int | None) -> ListProblem:
    """Put the lists of some examples beside the weights to begin with."""
    lists = examples.lists
    space, rows = weight_space(lists.forest, start), finite_rows(lists.forest)
    return ListProblem(start, space, lists.metric, threads, lists, rows)


class ListTuner(ABC):
    """A tuner that works on lists alone, with any metric: it says how to solve a problem."""

    name: ClassVar[str]
    wants: ClassVar[Literal["lists"]] = "lists"

    def check_metric(self, metric: Metric) -> None:  # noqa: B027 (nothing to check)
        """Accept any metric."""

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
        return self.solve(list_problem(examples, start, threads), seed, progress)

    @abstractmethod
    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """Return the weights for these lists."""
