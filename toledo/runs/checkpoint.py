"""A run on disk after each step: what it depends on, how far it is, and whether it may be resumed.

    DIRECTORY/history.json      kind, format, configuration, and all steps so far
    DIRECTORY/round-1, …        arrays that the next steps need

The JSON file is written last: whatever it names is complete. A configuration holds everything that the result depends
on: settings as plain values and tables of them, and digests of whatever is too long to be saved.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import signal
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.errors import RunError
from toledo.files import atomic_writer
from toledo.locks import hold_directory

log = logging.getLogger(__name__)

T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]

FORMAT = 2
RUN, STATES, STATE = "history.json", "states", "state.toml"
KIND, DIGEST = "kind", "sha256:"
AGAIN = "start again in another directory, or remove this one"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def digest(content: object) -> str:
    """Return a short digest of JSON-like content."""
    return DIGEST + hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def digest_arrays(*arrays: NDArray[Any]) -> str:
    """Return a short digest of the types, shapes and bytes of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return DIGEST + found.hexdigest()[:16]


def plain(settings: object) -> Any:
    """Return settings as a table of their fields and their kind: the name that they are registered under, or a class.

    Threads are left out, since results do not depend on them.
    """
    if is_dataclass(settings):
        own = {one.name: plain(getattr(settings, one.name)) for one in fields(settings) if one.name != "threads"}
        return {KIND: str(getattr(settings, "name", type(settings).__name__)), **own}
    if isinstance(settings, float) and not math.isfinite(settings):
        return str(settings)  # JSON has no infinity
    if settings is None or (isinstance(settings, bool | int | float | str) and not isinstance(settings, Enum)):
        return settings
    return str(settings)


def require_same(old: Mapping[str, Any], new: Mapping[str, Any], place: Path) -> None:
    """Refuse to resume with other settings or data, and name the first difference."""
    if difference := _difference(dict(old), json.loads(json.dumps(dict(new)))):
        raise RunError(
            f"{place}: cannot resume, settings differ: {difference}",
            remedy="resume with the same settings and data, or start again in another directory",
        )


def _difference(old: dict[str, Any], new: dict[str, Any], path: str = "") -> str:
    """Describe the first difference of two tables; return nothing if there is none."""
    for key in {**old, **new}:
        before, now, name = old.get(key), new.get(key), path + key.replace("_", " ")
        if isinstance(before, dict) and isinstance(now, dict):
            if before.get(KIND) != now.get(KIND):
                return f"{name} was {before.get(KIND)}, is {now.get(KIND)}"
            if inner := _difference(before, now, f"{name}: "):
                return inner
        elif before != now:
            if all(str(value).startswith(DIGEST) for value in (before, now)):
                return f"{name} changed"
            return f"{name} was {_shown(before)}, is {_shown(now)}"
    return ""


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if str(value).startswith(DIGEST):
        return "given"
    return str(value.get(KIND, value)) if isinstance(value, dict) else str(value)


class RunHeader(msgspec.Struct):
    """What every saved run begins with; `stopped` says why it ended, and is empty if it has not."""

    format: int
    kind: str = ""
    configuration: dict[str, Any] = {}
    stopped: str = ""


def read_header(path: Path) -> RunHeader:
    """Read what kind of run a file holds, and with which settings."""
    return _decoded(path, RunHeader)


def read_run(path: Path, of: type[T]) -> T:
    """Read a saved run of this format as an object of a type; errors name the place in the file."""
    if (found := read_header(path).format) != FORMAT:
        raise RunError(f"{path}: saved with format {found}, this version reads {FORMAT}", remedy=AGAIN)
    return _decoded(path, of)


def _decoded(path: Path, of: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=of)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: not a saved run: {error}", remedy=AGAIN) from None


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write JSON atomically."""
    with atomic_writer(path) as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False, allow_nan=False)
        stream.write("\n")


@dataclass(frozen=True)
class Checkpoint:
    """The directory of a run. `configuration` is everything that its result depends on."""

    directory: Path
    configuration: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False

    @property
    def file(self) -> Path:
        """Return the file that says how far the run is."""
        return self.directory / RUN

    def load(self, kind: str, of: type[T]) -> T | None:
        """Return the saved run to resume, or None for a new one; an unfinished run is never replaced."""
        if not self.file.is_file():
            return None
        self._hold()
        header = read_header(self.file)
        if not self.resume:
            if header.stopped:
                log.warning("%s: replacing a finished run", self.directory)
                return None
            raise RunError(
                f"{self.directory}: holds an unfinished run",
                remedy="continue it with `resume=True`, choose another directory, or remove this one",
            )
        found = read_run(self.file, of)
        if header.kind != kind:
            raise RunError(f"{self.directory}: holds a run of another kind ({header.kind}, not {kind})", remedy=AGAIN)
        require_same(header.configuration, self.configuration, self.directory)
        return found

    def begin(self) -> None:
        """Clear the directory of a finished run, and fail early if it cannot be written."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._hold()
        self.file.unlink(missing_ok=True)
        self.keep(())

    def _hold(self) -> None:
        """Refuse a directory that a run of another process is writing to, until this object is gone."""
        weakref.finalize(self, hold_directory(self.directory))

    def save(self, content: Mapping[str, Any]) -> None:
        """Write how far the run is."""
        self.directory.mkdir(parents=True, exist_ok=True)
        write_json(self.file, {"format": FORMAT, **content, "configuration": dict(self.configuration)})

    def step(self, number: int) -> Path:
        """Return the directory for the arrays of a step."""
        return self.directory / f"round-{number}"

    def keep(self, numbers: Collection[int]) -> None:
        """Remove the arrays of all other steps, and what a killed process may have left half written."""
        needed = {self.step(number).name for number in numbers}
        for path in [*self.directory.glob("round-*"), *self.directory.glob(".round-*")]:
            if path.name not in needed:
                shutil.rmtree(path)
        for path in self.directory.glob(f".{RUN}.*"):
            path.unlink()

    def save_states(self, kind: str, states: Sequence[Arrays]) -> None:
        """Save the arrays of several searches that were interrupted together."""
        self.directory.mkdir(parents=True, exist_ok=True)
        arrays = {f"d{number}.{name}": array for number, one in enumerate(states) for name, array in one.items()}
        storage.save(self.directory / STATES, STATE, {"states": len(states)}, arrays)
        self.save({KIND: kind})

    def load_states(self, kind: str) -> list[dict[str, NDArray[Any]]] | None:
        """Return what `save_states` saved, or None for a new run."""
        if self.load(kind, RunHeader) is None:
            return None
        content, arrays = storage.load(self.directory / STATES, STATE)
        found: list[dict[str, NDArray[Any]]] = [{} for _ in range(content["states"])]
        for name, array in arrays.items():
            number, _, rest = name.partition(".")
            found[int(number.removeprefix("d"))][rest] = array
        return found

    def remove(self) -> None:
        """Remove the run; files of others stay."""
        self.keep(())
        self.file.unlink(missing_ok=True)
        shutil.rmtree(self.directory / STATES, ignore_errors=True)
        with suppress(OSError):  # it holds other files, or never existed
            self.directory.rmdir()


@contextmanager
def deferred_signals(begun: threading.Event) -> Iterator[list[int]]:
    """Collect interrupting signals, to be handled between steps; the second one has its usual effect.

    So has the first one until something worth saving has `begun`: compiling may take long before the first step.
    """
    received: list[int] = []
    usual = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:
        _restore(usual)
        handler = usual[signal.Signals(number)]
        if begun.is_set() or not callable(handler):
            received.append(number)
        else:
            handler(number, frame)

    if threading.current_thread() is threading.main_thread():
        for number, handler in usual.items():
            if handler is not signal.SIG_IGN:  # as a shell does for background jobs
                signal.signal(number, handle)
    try:
        yield received
    finally:
        if threading.current_thread() is threading.main_thread():
            _restore(usual)


def _restore(usual: Mapping[signal.Signals, Any]) -> None:
    for number, handler in usual.items():
        signal.signal(number, handler)
