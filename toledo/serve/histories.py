"""Runs below the directories that the command line named: tunings round by round, also while they go on."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from toledo.errors import ToledoError
from toledo.runs.checkpoint import RUN
from toledo.runs.history import History, Round
from toledo.serve.problems import ServeError
from toledo.serve.types import six
from toledo.serve.work_types import RunResult, RunRound, RunsRequest, RunsResult, RunSummary

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

MOST_RUNS = 1000
KEPT = 256  # histories
EVERY = 1.0  # seconds between two looks at a file
ALIVE = 15.0
SEPARATOR = re.compile(r"[\s,]*")
ROUNDS = re.compile(r'"rounds":\s*\[')


@dataclass(frozen=True, eq=False)
class ReadRun:
    """A history as far as it could be read, and what was wrong with the rest."""

    history: History
    note: str = ""


def list_runs(engine: Engine, asked: RunsRequest) -> RunsResult:
    """Return all runs whose names match."""
    try:
        wanted = re.compile(asked.filter, re.IGNORECASE)
    except re.error as error:
        title = f"This is not a regular expression: {error}"
        raise ServeError(422, "wrong-value", title, where="/filter") from None
    if _nested(asked.filter):
        raise ServeError(422, "wrong-value", "The expression repeats what repeats", where="/filter")
    found = []
    for root, file in _files(engine.runs):
        name = _name(root, file)
        if wanted.search(name) and (read := _read(file)) is not None:
            found.append(_summary(file, name, read))
    return RunsResult(runs=found, directories=[root.name for root in engine.runs])


def show_run(engine: Engine, key: str) -> RunResult:
    """Return a run round by round."""
    file, name, read = _run(engine, key)
    history = read.history
    configuration = json.loads(json.dumps(dict(history.configuration), default=str))
    settings: dict[str, Any] = {"seed": history.seed, **configuration}
    rounds = [_round(one, history) for one in history.all_rounds]
    return RunResult(summary=_summary(file, name, read), rounds=rounds, settings=settings)


async def run_events(engine: Engine, key: str, after: int, client: str) -> AsyncIterator[bytes]:
    """Yield the rounds of a run after a number as they are written, until it ends."""
    _run(engine, key)
    engine.jobs.streams[client] += 1
    quiet = 0.0
    try:
        while not engine.closing:
            _, _, read = _run(engine, key)
            for one in read.history.all_rounds[after + 1 :]:
                after, quiet = one.number, 0.0
                data = msgspec.json.encode(_round(one, read.history))
                yield b"id: %d\nevent: round\ndata: %s\n\n" % (one.number, data)
            if read.history.stopped:
                yield b"event: done\ndata: %s\n\n" % msgspec.json.encode({"stopped": read.history.stopped})
                return
            await asyncio.sleep(EVERY)
            quiet += EVERY
            if quiet >= ALIVE:
                quiet = 0.0
                yield b": alive\n\n"
    finally:
        engine.jobs.streams[client] -= 1


def _nested(expression: str) -> bool:
    """Whether an expression has repetitions within repetitions, which may take forever."""
    return re.search(r"[*+}]\)?\s*[*+{]|\([^)]*[*+][^)]*\)[*+{]", expression) is not None


def _files(roots: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return the files of runs, with the directory that was named."""
    found = [(root, file) for root in roots for file in sorted(root.rglob(RUN)) if file.is_file()]
    return found[:MOST_RUNS]


def _name(root: Path, file: Path) -> str:
    return "/".join((root.name, *file.parent.relative_to(root).parts))


def _key(file: Path) -> str:
    return hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]


def _run(engine: Engine, key: str) -> tuple[Path, str, ReadRun]:
    for root, file in _files(engine.runs):
        if _key(file) == key and (read := _read(file)) is not None:
            return file, _name(root, file), read
    raise ServeError(404, "not-found", "There is no such run")


def _read(file: Path) -> ReadRun | None:
    """Read a history; None if it is that of something else."""
    try:
        found = file.stat()
        return _read_once(file, found.st_mtime_ns, found.st_size)
    except OSError:
        return None


@lru_cache(maxsize=KEPT)
def _read_once(file: Path, _time: int, _size: int) -> ReadRun | None:
    try:
        return ReadRun(History.load(file))
    except (ToledoError, UnicodeDecodeError):
        return _salvaged(file)


def _salvaged(file: Path) -> ReadRun | None:
    """Return the rounds before the place where a file was cut off."""
    text = file.read_text(encoding="utf-8", errors="replace")
    begin = ROUNDS.search(text)
    if begin is None:
        return None
    decoder, rounds, place = json.JSONDecoder(), [], begin.end()
    while True:
        try:
            one, place = decoder.raw_decode(text, SEPARATOR.match(text, place).end())  # type: ignore[union-attr]
        except ValueError:
            break
        rounds.append(one)
    head = text[: begin.end()] + "]}"
    try:
        return ReadRun(msgspec.convert({**json.loads(head), "rounds": rounds}, History), "The file is cut off.")
    except (ValueError, msgspec.ValidationError):
        return None


def _summary(file: Path, name: str, read: ReadRun) -> RunSummary:
    history = read.history
    state: Literal["running", "done", "broken"] = "done" if history.stopped else "running"
    return RunSummary(
        id=_key(file), name=name, kind=history.kind, tuner=history.tuner, metric=history.metric,
        higher_is_better=history.higher_is_better, rounds=len(history.rounds), best_round=history.best,
        best_score=_finite(history.best_score), scores=[_finite(one) or 0.0 for one in history.scores],
        cpu_seconds=round(history.seconds, 1), state="broken" if read.note else state,
        note=read.note or history.stopped,
    )  # fmt: skip


def _round(one: Round, history: History) -> RunRound:
    scores = {"tune": _finite(one.score), "dev": _finite(one.dev_score)}
    return RunRound(
        number=one.number, objective=_finite(one.objective),
        scores={name: value for name, value in scores.items() if value is not None},
        weights={name: six(value) for name, value in one.weights.items()}, seconds=round(one.seconds, 2),
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else six(value)
