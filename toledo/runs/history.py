"""The history of a run: what each round found, for people, for reports, and to resume from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from toledo.runs.checkpoint import FORMAT, read_run, write_json
from toledo.weights import Weights

LARGEST = 1e100  # sums and squares of such numbers are finite

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Bound = tuple[Number | None, Number | None]  # JSON has no infinity


@dataclass(frozen=True)
class Round:
    """One round of a run; number 0 is the start.

    `score` is that of the tuning set with the weights of this round, `dev_score` that of the development set.
    `objective` is what was maximized, on all `hypotheses` found so far (entries of lists or edges of lattices), `new`
    of which this round added; `path` is the objective after each step of gradient methods. `empty` counts translations
    that should not be empty. `change` is the largest change of a weight relative to the largest weight. `trained` are
    the parameters trained in this round of `stage`. Seconds are CPU time of this process, all threads together.
    """

    number: int
    weights: Mapping[str, Number]
    score: Number
    dev_score: Number | None = None
    objective: Number | None = None
    hypotheses: int = 0
    new: int = 0
    empty: int = 0
    change: Number = 0.0
    search_seconds: Number = 0.0
    tuning_seconds: Number = 0.0
    details: Mapping[str, Number] = field(default_factory=dict)
    path: tuple[Number, ...] = ()
    stage: int = 0
    trained: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Return the CPU time of the round."""
        return self.search_seconds + self.tuning_seconds

    @property
    def norm(self) -> float:
        """Return the sum of the absolute weights."""
        return math.fsum(map(abs, self.weights.values()))

    @property
    def euclidean_norm(self) -> float:
        """Return the square root of the sum of the squared weights."""
        return math.hypot(*self.weights.values())


@dataclass(frozen=True)
class History:
    """All rounds of one run of some `kind`; `stopped` says why it ended and is empty while it has not."""

    kind: str
    tuner: str
    metric: str
    higher_is_better: bool
    seed: int
    start: Round
    frozen: tuple[str, ...] = ()
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    stopped: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)

    def from_weights(self, weights: Weights) -> History:
        """Return the same history with the names of frozen weights and the bounds of these weights."""
        bounds = {
            name: (None if math.isinf(low) else low, None if math.isinf(high) else high)
            for name, (low, high) in weights.bounds.items()
        }
        return replace(self, frozen=tuple(sorted(weights.frozen)), bounds=bounds)

    @property
    def all_rounds(self) -> tuple[Round, ...]:
        """Return the start and all rounds, so that a round stands at its number."""
        return (self.start, *self.rounds)

    @property
    def summary(self) -> dict[str, Any]:
        """Return what a model keeps about the run that led to it."""
        score = round(self.best_score, 4)
        return {"by": self.tuner, "metric": self.metric, "seed": self.seed, "round": self.best, "score": score}

    @property
    def last(self) -> Round:
        """Return the last round, or the start."""
        return self.all_rounds[-1]

    @property
    def scores(self) -> list[float]:
        """Return the scores that select a round, from the start: of the development set, or else the tuning set."""
        return [one.score if one.dev_score is None else one.dev_score for one in self.all_rounds]

    @property
    def best(self) -> int:
        """Return the number of the round with the best score; of equal ones the first."""
        sign = 1.0 if self.higher_is_better else -1.0
        scores = [sign * score for score in self.scores]
        return scores.index(max(scores))

    @property
    def best_round(self) -> Round:
        """Return the round with the best score."""
        return self.all_rounds[self.best]

    @property
    def best_score(self) -> float:
        """Return the score that selected the round."""
        return self.scores[self.best]

    @property
    def seconds(self) -> float:
        """Return the CPU time of all rounds."""
        return math.fsum(one.seconds for one in self.rounds)

    def weights(self, number: int) -> Weights:
        """Return the weights that a round ended with; 0 is the start."""
        bounds = {
            name: (-math.inf if low is None else low, math.inf if high is None else high)
            for name, (low, high) in self.bounds.items()
        }
        return Weights(dict(self.all_rounds[number].weights), frozenset(self.frozen), bounds)

    def with_round(self, one: Round) -> History:
        """Return the history with one more round."""
        return replace(self, rounds=(*self.rounds, one))

    def to_json(self) -> dict[str, Any]:
        """Return the content of the saved file, with figures that are computed from the rounds."""
        rounds = [{**asdict(one), "norm": one.norm, "euclidean_norm": one.euclidean_norm} for one in self.rounds]
        return {
            "format": FORMAT,
            **asdict(self),
            "rounds": rounds,
            "best": self.best,
            "best_score": self.best_score,
            "selected_by": "tuning set" if self.start.dev_score is None else "development set",
        }

    def save(self, path: str | Path) -> None:
        """Write the history as JSON, atomically."""
        write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what `save` wrote."""
        return read_run(Path(path), cls)


@dataclass(frozen=True)
class Spread:
    """How far apart the results of several runs are; σ is that of a sample (n − 1), 0 for one run."""

    runs: int
    minimum: float
    maximum: float
    mean: float
    deviation: float


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    return Spread(len(values), min(values), max(values), mean, deviation)
