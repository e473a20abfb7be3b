"""Results of experiments: a line of experiments/results/NAME.jsonl for each run, and what tables make of them.

A line has what identifies the run (`key`), its origin (version, commit, hash of the code, options, hashes of data
files), CPU seconds without compilation, scores, and for each test the statistics of all segments, so that any test of
significance can be made without a new run. A later line of the same key replaces an earlier one; two processes should
not store runs of the same experiment at the same time.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from differences import compare
from numpy.typing import NDArray
from origin import ROOT, code_hash, commit, data_hashes

import toledo
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.significance.paired import holm
from toledo.runs.history import spread

FOLDER = ROOT / "experiments" / "results"
CORPUS_BLEU = BLEU(smooth_method="none")
LARGEST = 1 << 24  # numbers in the statistics of one text
Run = dict[str, Any]
Rows = NDArray[np.float64]


def add_options(parser: ArgumentParser) -> None:
    """Where results are stored, and what to do with what is there."""
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of results; another one for a quick look")
    parser.add_argument("--stale", action="store_true", help="run nothing; list what is missing or made by other code")
    parser.add_argument("--table", action="store_true", help="run nothing; only print the tables")


class Stored:
    """The results of one experiment."""

    def __init__(
        self,
        script: str | Path,
        folder: Path = FOLDER,
        *,
        listing: bool = False,
        closed: bool = False,
        name: str | None = None,
    ) -> None:
        self.script, self.listing, self.closed = Path(script).resolve(), listing, closed
        self.file = folder / f"{name or self.script.stem}.jsonl"

    @classmethod
    def of(cls, script: str | Path, options: Namespace, quick: Iterable[str] = ()) -> Stored:
        """By options; results of a quick look, with one of `quick` set, are not stored among the others."""
        used = [f"--{name.replace('_', '-')}" for name in quick if getattr(options, name) is not None]
        if used and options.results == FOLDER:
            raise SystemExit(f"{', '.join(used)}: give another folder for such results, --results DIR")
        return cls(script, options.results, listing=options.stale, closed=options.table)

    @property
    def code(self) -> str:
        """The hash of the code as it is now."""
        return code_hash(self.script)

    def work(self, folder: Path) -> Path:
        """Where to keep models and other files on the way: apart from those of other code."""
        place = folder / self.code
        place.mkdir(parents=True, exist_ok=True)
        return place

    def all(self) -> list[Run]:
        """The last line of each run."""
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        return [*{_identity(run["key"]): run for run in map(json.loads, lines)}.values()]

    def find(self, **key: object) -> list[Run]:
        """All runs with these values in their keys, by seed."""
        found = [run for run in self.all() if all(run["key"].get(name) == value for name, value in key.items())]
        return sorted(found, key=lambda run: run["key"].get("seed", 0))

    def done(self, **key: object) -> bool:
        """Whether nothing is to do for a run: it is there and made by this code, or runs are only listed or shown."""
        if self.closed:
            return True
        there = next((run for run in self.all() if _identity(run["key"]) == _identity(key)), None)
        fresh = there is not None and there["code"] == self.code
        if self.listing and not fresh:
            print(f"{self.script.stem}: {_identity(key)}: {'missing' if there is None else 'made by other code'}")
        return fresh or self.listing

    def add(
        self,
        key: Mapping[str, Any],
        *,
        data: Iterable[Path],
        scores: Mapping[str, Any],
        seconds: Mapping[str, float] | None = None,
        statistics: Mapping[str, Rows] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Store a run: `seconds` of CPU time without compilation, `statistics` of segments by text."""
        run = {
            "key": dict(key),
            "version": toledo.__version__,
            "commit": commit(),
            "code": self.code,
            "options": dict(options or {}),
            "data": data_hashes(data),
            "seconds": {name: round(value, 2) for name, value in (seconds or {}).items()},
            "scores": rounded(scores),
            "statistics": {name: pack(rows) for name, rows in (statistics or {}).items()},
        }
        line = json.dumps(run, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        others = [one for one in self._lines() if _identity(json.loads(one)["key"]) != _identity(key)]
        _write(self.file, "".join(f"{one}\n" for one in (*others, line)))

    def _lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []


def _identity(key: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(key.items()))


def _write(file: Path, text: str) -> None:
    """Atomically: a reader sees the old lines or the new ones."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def rounded(value: Any) -> Any:
    """The same with six significant digits in all numbers: results are compared and kept, not computed with."""
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float | np.floating) else value


def pack(rows: Rows) -> str:
    """Whole numbers as text: "rows x columns type base64", of differences between columns, column by column."""
    whole = np.rint(rows).astype(np.int64)
    if whole.ndim != 2 or whole.size > LARGEST or not np.array_equal(whole, rows):
        raise ValueError("statistics are rows of whole numbers")
    columns = np.diff(whole.T, axis=0, prepend=0)
    kind = next(kind for kind in ("i1", "<i2", "<i4", "<i8") if np.array_equal(columns.astype(kind), columns))
    data = base64.b64encode(zlib.compress(columns.astype(kind).tobytes(), 9)).decode()
    return f"{whole.shape[0]}x{whole.shape[1]} {kind} {data}"


def unpack(text: str) -> Rows:
    """What `pack` was given."""
    shape, kind, data = text.split(" ")
    height, width = map(int, shape.split("x"))
    size = height * width * np.dtype(kind).itemsize
    if kind not in ("i1", "<i2", "<i4", "<i8") or not 0 < height * width <= LARGEST:
        raise ValueError(f"not packed statistics: {text[:40]}")
    content = zlib.decompressobj().decompress(base64.b64decode(data, validate=True), size + 1)
    if len(content) != size:
        raise ValueError(f"{len(content)} bytes of statistics instead of {size}")
    columns = np.frombuffer(content, kind).reshape(width, height).astype(np.int64)
    return np.cumsum(columns, axis=0).T.astype(np.float64)


def statistics_of(runs: Sequence[Run], texts: Sequence[str]) -> list[Rows]:
    """For each run the statistics of the segments of some texts, one text after the other."""
    return [np.concatenate([unpack(run["statistics"][text]) for text in texts]) for run in runs]


def differences(
    groups: Mapping[str, Sequence[Run]], base: str, texts: Sequence[str], metric: Metric = CORPUS_BLEU
) -> dict[str, str]:
    """For each group of runs two cells: what it has more than the base (95 % interval), and p.

    p is corrected for the number of groups by Holm.
    """
    others = {name: runs for name, runs in groups.items() if name != base and runs}
    if not groups.get(base):
        return dict.fromkeys(groups, " | ")
    start = statistics_of(groups[base], texts)
    found = [compare(metric, statistics_of(runs, texts), start) for runs in others.values()]
    corrected = holm([one.p for one in found])
    cells = {name: one.text(p) for name, one, p in zip(others, found, corrected, strict=True)}
    return {name: cells.get(name, "– | –") for name in groups}


def mean_text(values: Sequence[float], digits: int = 2) -> str:
    """The mean, and σ where there are several."""
    one = spread(values)
    return f"{one.mean:.{digits}f}" + (f" ± {one.deviation:.{digits}f}" if one.runs > 1 else "")


def markdown(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in lines)


def made_by(runs: Sequence[Run]) -> str:
    """A line under a table: how many runs the experiment has, and of which commits."""
    commits = sorted({f"`{run['commit']}`" for run in runs})
    return f"Stored runs of this experiment: {len(runs)}, made at {', '.join(commits)}.\n" if runs else ""
