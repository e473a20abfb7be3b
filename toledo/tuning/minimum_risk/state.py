"""Where stochastic training stands: the number of steps, the weights, and their gains by name, also on disk.

    DIRECTORY/history.json        rounds, with the mean weights of each
    DIRECTORY/round-3             the state after the last round, until the run has ended

Batches and samples depend on the seed and the number of the step alone, so there is no other state.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.errors import InputError
from toledo.tuning.checkpoint import HISTORY, Checkpoint
from toledo.tuning.history import ANEW, History
from toledo.tuning.minimum_risk.adaptation import Gains
from toledo.tuning.rounds import require_no_more

log = logging.getLogger(__name__)

Arrays = Mapping[str, NDArray[Any]]
DESCRIPTION = "state.toml"
FIELDS = ("first", "values", "means", "squares")


@dataclass(frozen=True, eq=False)
class TrainingState:
    """So many steps are done and led to `weights` (None: the start); `gains` are those of the weights `names`."""

    step: int = 0
    weights: Mapping[str, float] | None = None
    names: tuple[str, ...] = ()
    gains: Gains = Gains.none(0)  # noqa: RUF009 (frozen)

    def gains_of(self, names: tuple[str, ...]) -> Gains:
        """The gains of some weights; none yet for those that were never seen."""
        if names == self.names:
            return self.gains
        place = {name: number for number, name in enumerate(self.names)}
        places = np.array([place.get(name, len(self.names)) for name in names], np.int64)
        return self.gains.mapped(lambda array: np.append(array, 0.0)[places])

    def after(self, weights: Mapping[str, float], names: tuple[str, ...], gains: Gains) -> TrainingState:
        """One step more, with new gains of some weights."""
        if names == self.names or not self.names:
            return TrainingState(self.step + 1, weights, names, gains)
        known = set(self.names)
        everything = (*self.names, *(name for name in names if name not in known))
        own = replace(self.gains_of(everything).mapped(np.copy), steepness=gains.steepness)
        place = {name: number for number, name in enumerate(everything)}
        places = np.array([place[name] for name in names], np.int64)
        for field in FIELDS:
            getattr(own, field)[places] = getattr(gains, field)
        return TrainingState(self.step + 1, weights, everything, own)


def run_rounds(
    checkpoint: Checkpoint | None,
    rounds: int,
    first: Callable[[], History],
    take_round: Callable[[History, TrainingState], tuple[History, TrainingState]],
    put: Callable[[Arrays], None] = lambda arrays: None,
) -> History:
    """All rounds, or those after the one at which a checkpoint stands; `put` gets all arrays that were saved there."""
    history, state = checkpoint.load() if checkpoint else None, TrainingState()
    if history is None:
        if checkpoint:
            checkpoint.begin()
        history = first()
    elif history.stopped:
        require_no_more(history, rounds)  # its gains are gone
    elif checkpoint and history.rounds:
        state, arrays = load_state(checkpoint, history)
        put(arrays)
        log.info("going on after round %d", len(history.rounds))
    while not history.stopped:
        history, state = take_round(history, state)
    return history


def save_round(checkpoint: Checkpoint, history: History, state: TrainingState, others: Arrays | None = None) -> None:
    """Keep a round, with other arrays if there are any; the history comes last, so what it names is complete."""
    directory, number = checkpoint.directory, len(history.rounds)
    directory.mkdir(parents=True, exist_ok=True)
    if not history.stopped:
        arrays = {field: getattr(state.gains, field) for field in FIELDS}
        content = {
            "step": state.step,
            "names": list(state.names),
            "steepness": state.gains.steepness,
            "weights": dict(state.weights or {}),
        }
        storage.save(_place(directory, number), DESCRIPTION, content, {**arrays, **(others or {})})
    history.save(directory / HISTORY)
    if history.stopped:
        checkpoint.tidy()
    elif (before := _place(directory, number - 1)).exists():
        shutil.rmtree(before)


def load_state(checkpoint: Checkpoint, history: History) -> tuple[TrainingState, Arrays]:
    """The state after the last round of a history, and all arrays that were saved with it."""
    place = _place(checkpoint.directory, len(history.rounds))
    try:
        content, arrays = storage.load(place, DESCRIPTION)
        first, values, means, squares = (np.array(arrays[field]) for field in FIELDS)
        gains = Gains(first, values, means, squares, content["steepness"])
        names, step, weights = tuple(content["names"]), content["step"], content["weights"]
    except InputError as error:
        raise InputError(error.message, file=error.file, remedy=ANEW) from None
    except KeyError as error:
        raise InputError(f"has no {error}", file=place / DESCRIPTION, remedy=ANEW) from None
    if (
        not isinstance(step, int)
        or not weights.keys() >= set(names)
        or any(getattr(gains, field).shape != (len(names),) for field in FIELDS)
    ):
        raise InputError("is no state of a training", file=place / DESCRIPTION, remedy=ANEW)
    return TrainingState(step, weights, names, gains), arrays


def _place(directory: Path, number: int) -> Path:
    return directory / f"round-{number}"
