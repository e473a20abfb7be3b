"""Searches that were interrupted: Ctrl-C is noticed between steps, and states are kept to go on from."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM
from toledo.resumption import require_same
from toledo.search.document.state import DocumentResult, Record

DESCRIPTION, FORMAT = "states.toml", 2
SIGNALS = (signal.SIGINT, signal.SIGTERM)

Arrays = Mapping[str, NDArray[Any]]


@contextmanager
def noticed_signals(begun: threading.Event) -> Iterator[list[int]]:
    """The numbers of signals that came, to be looked at between steps; the second one has its usual effect.

    So has the first until something has `begun` that is worth keeping: compiling may take long before the first step.
    """
    noticed: list[int] = []
    usual = {number: signal.getsignal(number) for number in SIGNALS}

    def notice(number: int, frame: FrameType | None) -> None:
        _restore(usual)
        handler = usual[signal.Signals(number)]
        if begun.is_set() or not callable(handler):
            noticed.append(number)
        else:
            handler(number, frame)

    if threading.current_thread() is threading.main_thread():
        for number, handler in usual.items():
            if handler is not signal.SIG_IGN:  # as a shell does for what runs in the background
                signal.signal(number, notice)
    try:
        yield noticed
    finally:
        if threading.current_thread() is threading.main_thread():
            _restore(usual)


def _restore(usual: Mapping[signal.Signals, Any]) -> None:
    for number, handler in usual.items():
        signal.signal(number, handler)


def with_records(result: DocumentResult, arrays: Arrays) -> DocumentResult:
    """A result with the records that were made before an interruption."""
    names, bleu = json.loads(arrays["record_names"].tobytes()), arrays["record_bleu"]
    records = tuple(
        Record(step, score, dict(zip(names, values, strict=True)), bleu[place] if bleu.size else None, None)
        for place, (step, score, values) in enumerate(
            zip(*(arrays[f"record_{name}"].tolist() for name in ("steps", "scores", "features")), strict=True)
        )
    )
    known = {one.step for one in records}  # a document that was not begun has recorded its start twice
    return replace(result, records=(*records, *(one for one in result.records if one.step not in known)))


def _records(result: DocumentResult) -> dict[str, NDArray[Any]]:
    """The recorded states, their texts left out."""
    records = result.records
    names = [*dict.fromkeys(name for one in records for name in one.features)]  # sparse ones are not in all
    bleu = [one.bleu for one in records if one.bleu is not None]
    values = [[one.features.get(name, 0.0) for name in names] for one in records]
    return {
        "record_names": np.frombuffer(json.dumps(names).encode(), np.uint8),
        "record_steps": np.array([one.step for one in records], np.int64),
        "record_scores": np.array([one.score for one in records], np.float64),
        "record_features": np.array(values, np.float64),
        "record_bleu": np.array(bleu, np.int64),
    }


@dataclass(frozen=True)
class SavedStates:
    """Where the states of an interrupted search are kept; `configuration` is all that its result depends on."""

    output: str
    configuration: Mapping[str, Any]

    @property
    def directory(self) -> Path | None:
        """Beside the output; for standard output there is none."""
        return None if self.output == STANDARD_STREAM else Path(f"{self.output}.states")

    def begin(self, resume: bool) -> list[dict[str, NDArray[Any]]] | None:
        """The states to go on from, or None for a new search; those of an interrupted one are not lost unasked."""
        there = self.directory is not None and (self.directory / DESCRIPTION).is_file()
        if not resume:
            if there:
                raise InputError(
                    "holds an interrupted search", file=self.directory, remedy="go on with --resume, or remove it"
                )
            return None
        if self.directory is None:
            raise InputError("nothing is kept for standard output", remedy="give the --output FILE of before")
        if not there:
            raise InputError(
                "no interrupted search to go on with", file=self.directory, remedy="leave --resume out to begin anew"
            )
        return self._load(self.directory)

    def save(self, results: Sequence[DocumentResult]) -> Path | None:
        """Keep states and records; gives the place, if there is one."""
        if self.directory is not None:
            arrays = {
                f"d{number}.{name}": array
                for number, one in enumerate(results)
                for name, array in {**one.state.to_arrays(), **_records(one)}.items()
            }
            own = json.dumps(self.configuration, ensure_ascii=False)  # TOML has no null
            content = {"format": FORMAT, "configuration": own, "documents": len(results)}
            storage.save(self.directory, DESCRIPTION, content, arrays)
        return self.directory

    def remove(self) -> None:
        """The search has come to its end."""
        if self.directory is not None and (self.directory / DESCRIPTION).is_file():
            for file in [*self.directory.glob("d*.npy"), self.directory / DESCRIPTION]:
                file.unlink()
            self.directory.rmdir()

    def _load(self, directory: Path) -> list[dict[str, NDArray[Any]]]:
        content, arrays = storage.load(directory, DESCRIPTION)
        remedy = "give the same command again, or remove it and begin anew"
        if content.get("format") != FORMAT:
            raise InputError("was kept by another version of Toledo", file=directory, remedy=remedy)
        require_same(json.loads(content["configuration"]), self.configuration, directory, remedy)
        found: list[dict[str, NDArray[Any]]] = [{} for _ in range(content["documents"])]
        for name, array in arrays.items():
            number, _, rest = name.partition(".")
            found[int(number.removeprefix("d"))][rest] = array
        return found
