"""What a tuner is: from tuning examples and weights to better weights.

Lists, their features as rows, and the weights to find: what all tuners on lists begin with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from toledo.progress import Progress, silent
from toledo.tuning.examples import Examples, Lists, corpus_score, sign
from toledo.tuning.rows import Parameters, Rows, Vector, parameters, row_scores, rows_of
from toledo.weights import Weights


@dataclass(frozen=True)
class Tuned:
    """What a tuner found: weights, and what it maximised there.

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
        """What the command line calls it."""
        ...

    @property
    def wants(self) -> Literal["lists", "forests"]:
        """N-best lists, or whole lattices and forests."""
        ...

    def tune(self, examples: Examples, start: Weights, *, seed: int, threads: int | None, progress: Progress) -> Tuned:
        """Better weights for all that the search has found so far; the same seed gives the same weights."""
        ...


@dataclass(frozen=True, eq=False)
class ListProblem:
    """What is given, and how good weights are: by the metric of the hypotheses that they choose."""

    lists: Lists
    start: Weights
    parameters: Parameters
    rows: Rows
    threads: int | None

    def score(self, values: Vector) -> float:
        """The metric's score of the best hypotheses."""
        return corpus_score(self.lists, row_scores(self.rows, values, self.threads))

    def gain(self, values: Vector) -> float:
        """The same, more being better."""
        return sign(self.lists.metric) * self.score(values)

    def at_norm_of_start(self, values: Vector) -> Vector:
        """Free weights at the norm of those at the start, if that costs nothing."""
        return self.parameters.prefer_norm_of_start(values, self.gain)[0]

    def tuned(
        self, values: Vector, objective: float | None = None, details: Mapping[str, float] | None = None
    ) -> Tuned:
        """The result; the objective is the metric's score if nothing else was maximised."""
        weights = self.start.updated(self.parameters.names, values)
        score = self.score(self.parameters.clipped(values))
        own = self.gain(self.parameters.clipped(values)) if objective is None else objective
        return Tuned(weights, own, {self.lists.metric.name: score, **(details or {})})


def list_problem(examples: Examples, start: Weights, threads: int | None) -> ListProblem:
    """The lists of some examples beside the weights to begin with."""
    lists = examples.lists
    given = parameters(lists.forest, start)
    return ListProblem(lists, start, given, rows_of(lists.forest, given.names), threads)


class ListTuner(ABC):
    """A tuner that works on lists alone: it says how to solve a problem."""

    name: ClassVar[str]
    wants: ClassVar[Literal["lists"]] = "lists"

    def tune(
        self,
        examples: Examples,
        start: Weights,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tuned:
        """Better weights for all that the search has found so far; the same seed gives the same weights."""
        return self.solve(list_problem(examples, start, threads), seed, progress)

    @abstractmethod
    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """The weights for these lists."""
