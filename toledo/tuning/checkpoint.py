"""A tuning on disk after each round, so that an interrupted one goes on to the very same result.

    DIRECTORY/history.json      all rounds so far
    DIRECTORY/round-1, …        what each round's search found, until the run has ended

The history is written last: whatever it names is complete. Random numbers depend on the seed and the number of the
round alone, and a search on the weights alone, so there is no other state.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from toledo.errors import InputError
from toledo.forest.assemble import join, split
from toledo.forest.forest import Forest, Yields
from toledo.forest.saving import load_forest, save_forest
from toledo.resumption import require_same
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.history import ANEW, History

log = logging.getLogger(__name__)

HISTORY = "history.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is kept. `configuration` is all that its result depends on (files, options, model)."""

    directory: Path
    configuration: Mapping[str, Any]
    resume: bool = False

    def load(self) -> History | None:
        """The history to go on from, or None for a new run. An interrupted run is not thrown away unasked."""
        file = self.directory / HISTORY
        if not file.is_file():
            return None
        history = History.load(file)
        if not self.resume:
            if history.stopped:
                log.warning("%s holds a tuning that has ended: the new one replaces it", self.directory)
                return None
            done = len(history.rounds)
            raise InputError(
                f"holds an interrupted tuning of {done} round{'' if done == 1 else 's'}",
                file=self.directory,
                remedy="go on with --resume, name another --work directory, or remove this one",
            )
        remedy = "give the same options and files, or start anew in another --work directory"
        require_same(history.configuration, self.configuration, self.directory, remedy)
        return history

    def load_found(self, number: int, vocabulary: Vocabulary) -> list[Forest]:
        """What the search of a round found, in the words of a vocabulary (which grows by those it does not have)."""
        try:
            loaded = load_forest(self._round(number))
        except InputError as error:
            raise InputError(error.message, file=error.file, remedy=ANEW) from None
        ids = np.array([vocabulary.add(word) for word in loaded.vocabulary], np.int32)
        words = loaded.yields.words
        renamed = np.where(words < 0, words, ids[np.maximum(words, 0)]).astype(np.int32)
        own = replace(loaded, yields=Yields(loaded.yields.offsets, renamed), vocabulary=vocabulary)
        return [part for part, _, _ in split(own)]

    def save(self, history: History, found: Sequence[Forest]) -> None:
        """Keep a round."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not history.stopped:
            save_forest(join(list(found)), self._round(len(history.rounds)))
        history.save(self.directory / HISTORY)
        if history.stopped:
            self.tidy()

    def begin(self) -> None:
        """Refuse a place that cannot be written before any work is done for it, and clear an ended run away."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / HISTORY).unlink(missing_ok=True)
        self.tidy()

    def tidy(self) -> None:
        """Drop what no history needs: forests of an ended run, and half-written files of a killed one."""
        for path in [*self.directory.glob("round-*"), *self.directory.glob(".round-*")]:
            shutil.rmtree(path)
        for path in self.directory.glob(f".{HISTORY}.*"):
            path.unlink()

    def _round(self, number: int) -> Path:
        return self.directory / f"round-{number}"
