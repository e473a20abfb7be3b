"""The history of a tuning: what each round found, for people, for reports, and to go on from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.weights import Weights

FORMAT = 1
ANEW = "tune anew in another --work directory, or remove this one"


@dataclass(frozen=True)
class Round:
    """One round: search with the weights so far, tune, search with the new weights.

    `before` and `after` are scores of the best translations of the tuning set with the old and the new weights,
    `held_out` that of the held-out set with the new ones. `objective` is what the tuner maximised, on all that had been
    found: `hypotheses` entries of lists or edges of lattices, `new` of which this round added; `path` is the objective
    after each step of gradient tuners. Seconds are CPU time of
    this process, all threads together.
    """

    number: int
    weights: Mapping[str, float]
    objective: float
    before: float
    after: float
    held_out: float | None
    hypotheses: int
    new: int
    empty: int
    change: float
    search_seconds: float
    tuning_seconds: float
    details: Mapping[str, float] = field(default_factory=dict)
    path: tuple[float, ...] = ()

    @property
    def norm(self) -> float:
        """The sum of the absolute weights."""
        return math.fsum(map(abs, self.weights.values()))

    @property
    def euclidean_norm(self) -> float:
        """The square root of the sum of the squared weights."""
        return math.hypot(*self.weights.values())


@dataclass(frozen=True)
class History:
    """All rounds of one run. `stopped` says why it ended, and is empty as long as it has not."""

    tuner: str
    metric: str
    higher_is_better: bool
    seed: int
    start: Weights
    start_score: float
    start_held_out: float | None
    start_empty: int
    rounds: tuple[Round, ...] = ()
    stopped: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scores(self) -> list[float]:
        """What rounds are chosen by, from the start (round 0): held-out scores, or else those of the tuning set."""
        if self.start_held_out is not None:
            return [self.start_held_out, *(one.held_out or 0.0 for one in self.rounds)]
        return [self.start_score, *(one.after for one in self.rounds)]

    @property
    def best(self) -> int:
        """The round with the best score; of equal ones the first."""
        sign = 1.0 if self.higher_is_better else -1.0
        scores = [sign * score for score in self.scores]
        return scores.index(max(scores))

    @property
    def best_score(self) -> float:
        """The score that chose the round."""
        return self.scores[self.best]

    @property
    def seconds(self) -> float:
        """CPU time of all rounds."""
        return math.fsum(one.search_seconds + one.tuning_seconds for one in self.rounds)

    def weights(self, number: int) -> Weights:
        """The weights that a round ended with; 0 is the start."""
        if not number:
            return self.start
        return replace(self.start, values_by_name=dict(self.rounds[number - 1].weights))

    def with_round(self, one: Round) -> History:
        """One round more."""
        return replace(self, rounds=(*self.rounds, one))

    def with_stop(self, reason: str) -> History:
        """The same history with the reason why it ends here, if it does."""
        return replace(self, stopped=reason)

    def to_json(self) -> dict[str, Any]:
        """The content of history.json."""
        chosen = "tuning set" if self.start_held_out is None else "held-out set"
        return {
            "format": FORMAT,
            "tuner": self.tuner,
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "seed": self.seed,
            "start": _without_infinity(self.start.to_table()),
            "start_score": self.start_score,
            "start_held_out": self.start_held_out,
            "start_empty": self.start_empty,
            "rounds": [{**asdict(one), "norm": one.norm, "euclidean_norm": one.euclidean_norm} for one in self.rounds],
            "best": self.best,
            "best_score": self.best_score,
            "chosen_by": chosen,
            "stopped": self.stopped,
            "configuration": dict(self.configuration),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], file: str | Path) -> History:
        """Check and take the content of history.json."""
        if content.get("format") != FORMAT:
            raise InputError(
                f"history format {content.get('format')}, this version reads {FORMAT}", file=file, remedy=ANEW
            )
        known = [name for name in cls.__dataclass_fields__ if name not in ("start", "rounds")]
        fields = list(Round.__dataclass_fields__)
        try:
            return cls(
                start=Weights.from_table(_with_infinity(content["start"]), file),
                rounds=tuple(
                    Round(**{name: one[name] for name in fields} | {"path": tuple(one["path"])})
                    for one in content["rounds"]
                ),
                **{name: content[name] for name in known},
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no history of a tuning: {error}", file=file, remedy=ANEW) from None

    def save(self, path: str | Path) -> None:
        """Write history.json atomically."""
        with atomic_writer(path) as stream:
            json.dump(self.to_json(), stream, indent=1, ensure_ascii=False)
            stream.write("\n")

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read history.json."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, UnicodeDecodeError) as error:
            raise InputError(f"not valid JSON: {error}", file=path, remedy=ANEW) from None
        if not isinstance(content, dict):
            raise InputError("not a JSON object", file=path, remedy=ANEW)
        return cls.from_json(content, path)


def _without_infinity(table: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: where there is no bound it has null."""
    bounds = {
        name: [None if math.isinf(one) else one for one in pair] for name, pair in table.get("bounds", {}).items()
    }
    return {**table, "bounds": bounds} if bounds else dict(table)


def _with_infinity(table: Mapping[str, Any]) -> dict[str, Any]:
    none = (-math.inf, math.inf)
    bounds = {
        name: [end if one is None else one for one, end in zip(pair, none, strict=True)]
        for name, pair in table.get("bounds", {}).items()
    }
    return {**table, "bounds": bounds}


@dataclass(frozen=True)
class Spread:
    """How far apart the results of several runs are; σ is that of a sample (n − 1), 0 for one run."""

    runs: int
    minimum: float
    maximum: float
    mean: float
    deviation: float


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0
    return Spread(len(values), min(values), max(values), mean, deviation)
