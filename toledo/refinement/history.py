"""The history of a refinement, and its state on disk, so that an interrupted one goes on to the same model.

    DIRECTORY/history.json      the baseline and all iterations so far
    DIRECTORY/state-3           parameters and weights of an iteration: the last one and the best one

The history is written last: what it names is complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from toledo import storage
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.refinement.distributions import Vector
from toledo.resumption import require_same
from toledo.weights import Weights

FORMAT = 1
HISTORY, STATE = "history.json", "state.toml"
SAME = "give the same options and files, or start anew in another --work directory"
ANEW = "start anew in another --work directory, or remove this one"


@dataclass(frozen=True)
class Iteration:
    """One step of all trained families, new weights, and what they are worth; number 0 is the baseline.

    `families` are those that were trained: a family whose weight is 0 is not. `objective` is O before and after the
    step, at the weights before it. `expected` is U per sentence (0 to 1): mean expected BLEU of sentences, or BLEU of
    expected statistics, as the utility is. `best` is the corpus BLEU of the best hypotheses, `entropy` that of a
    sentence in nats, `divergence` the distance to the baseline; all after the step. `validation` is the BLEU of
    translations of the validation set by the model with its new weights. Seconds are CPU time of this process.
    """

    number: int
    stage: int
    families: tuple[str, ...]
    weights: Mapping[str, float]
    validation: float
    objective: tuple[float, float] | None = None
    expected: float | None = None
    best: float | None = None
    entropy: float | None = None
    divergence: float | None = None
    caution: float | None = None
    seconds: float = 0.0
    tuning_seconds: float = 0.0


@dataclass(frozen=True)
class RefinementHistory:
    """The baseline and all iterations; `finished` stages are done."""

    iterations: tuple[Iteration, ...] = ()
    finished: int = 0
    stopped: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Iteration:
        """The iteration with the highest validation score, of equal ones the first."""
        return max(self.iterations, key=lambda one: one.validation)

    @property
    def last(self) -> Iteration:
        """The last iteration."""
        return self.iterations[-1]

    def with_iteration(self, iteration: Iteration) -> RefinementHistory:
        """One more."""
        return replace(self, iterations=(*self.iterations, iteration))

    def to_json(self) -> dict[str, Any]:
        """For a file or a report."""
        return {"format": FORMAT, **asdict(self), "best": self.best.number}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RefinementHistory:
        """What `to_json` gave."""
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, this version reads {FORMAT}")
        iterations = tuple(
            Iteration(
                **{
                    **one,
                    "families": tuple(one["families"]),
                    "objective": None if one["objective"] is None else tuple(one["objective"]),
                }
            )
            for one in content["iterations"]
        )
        return cls(iterations, content["finished"], content["stopped"], content["configuration"])


@dataclass(frozen=True, eq=False)
class State:
    """Where a refinement is: the shares of all families, and the weights."""

    values: Mapping[str, Vector]
    weights: Weights


@dataclass(frozen=True)
class Checkpoint:
    """A directory with history and states; `configuration` is all that the result depends on."""

    directory: Path
    configuration: Mapping[str, Any]

    def load(self) -> RefinementHistory | None:
        """The history to go on from, or None."""
        file = self.directory / HISTORY
        if not file.is_file():
            return None
        try:
            history = RefinementHistory.from_json(json.loads(file.read_text(encoding="utf-8")))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"is no history of a refinement: {error}", file=file, remedy=ANEW) from None
        require_same(history.configuration, self.configuration, self.directory, SAME)
        return history

    def load_state(self, number: int) -> State:
        """Parameters and weights of an iteration."""
        directory = self.directory / f"state-{number}"
        content, arrays = storage.load(directory, STATE)
        return State(arrays, Weights.from_table(content, directory / STATE))

    def save(self, history: RefinementHistory, state: State | None = None) -> None:
        """Keep the last iteration (its state, if it is new), and drop states that nothing needs any more."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if state is not None:
            content = state.weights.to_table()
            storage.save(self.directory / f"state-{history.last.number}", STATE, content, dict(state.values))
        with atomic_writer(self.directory / HISTORY) as stream:
            json.dump(history.to_json(), stream, indent=1, ensure_ascii=False)
            stream.write("\n")
        needed = {f"state-{history.last.number}", f"state-{history.best.number}"}
        for path in self.directory.glob("state-*"):
            if path.name not in needed:
                shutil.rmtree(path)
