"""CPU seconds of whole commands with an empty kernel cache, with and without shipped kernels, and with a full cache.

    python benchmarks/cold.py
    python benchmarks/cold.py --wheel dist --json
    python benchmarks/cold.py --before other/venv/bin/python --only choose evaluate
    python benchmarks/cold.py --wheel dist --only tune demo --ways shipped

Inputs are those of the README and the quick start, tokenized. Each command runs in a process of its own, once without
kernels (`cold`), once with those of the wheel and nothing else (`shipped`), and once with what the first run kept
(`warm`); the time is that of the process and of those that it starts. Behind it, in brackets, is the number of compiled
kernels.
`--before` names a Python with Toledo 0.1, whose commands do the same; it runs them with an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SAMPLES = [
    ["The cat sat on the mat.", "A cat sat on the mat.", "The cat is sitting on a mat.", "Cats!"],
    ["He has been waiting for the train for an hour.", "He waited an hour for the train."],
]
DATA = "example-data data --train 2000 --tune 100 --test 100"
REFERENCES = "-r data/test.trg.0 -r data/test.trg.1"
OLD_REFERENCES = "--reference data/test.trg.0 --reference data/test.trg.1"
TRAIN = "train --tokenized -s data/train.src -t data/train.trg -o"
TUNED = "--tokenized -r data/tune.trg.0 --systems tune/A tune/B tune/C -o"


@dataclass(frozen=True)
class Command:
    """What is run, the same in Toledo 0.1, and the goals of the project: seconds with and without shipped kernels."""

    run: str
    before: str
    shipped: float
    cold: float | None = None


WAYS = ("cold", "shipped", "warm")
COMMANDS = {
    "choose": Command("choose samples.jsonl", "consensus --gain chrf samples.jsonl", 1.5, 2),
    "evaluate": Command(
        f"evaluate A.out {REFERENCES} --tokenize none", f"evaluate {OLD_REFERENCES} --tokenize none A.out", 1.5, 2
    ),
    "compare": Command(
        f"compare A.out B.out C.out {REFERENCES} --tokenize none",
        f"evaluate {OLD_REFERENCES} --tokenize none A.out B.out C.out", 1.5, 2,
    ),
    "train": Command(
        f"{TRAIN} new/model", "train --source data/train.src --target data/train.trg --output new/model", 3
    ),
    "translate": Command("translate model data/test.src", "translate old data/test.src --output new/text", 3, 28),
    "combine tune": Command(
        f"combine tune {TUNED} new/combo",
        "combine tune --tokenised --reference data/tune.trg.0 --systems tune/A tune/B tune/C --output new/combo", 8,
    ),
    "combine run": Command(
        "combine run combo --systems tune/A tune/B tune/C", "combine run oldcombo --systems tune/A tune/B tune/C", 8
    ),
    "tune": Command(
        "tune model -s data/tune.src -r data/tune.trg.0 -r data/tune.trg.1 --objective mira --rounds 4 -o new/tuned",
        "tune old --source data/tune.src --reference data/tune.trg.0 --reference data/tune.trg.1 --objective mira"
        " --rounds 4 --output new/tuned.toml", 15,
    ),
    "demo": Command("demo -o new/demo", "demo --output new/demo", 100),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="directory with a wheel of kernels, as make wheels fills it")
    parser.add_argument("--before", type=os.path.abspath, help="a Python with Toledo 0.1, for a first column")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="warm is full only after cold")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="toledo-cold-") as directory:
        folder = Path(directory)
        if arguments.wheel:
            zipfile.ZipFile(newest(arguments.wheel)).extractall(folder / "wheel")
        make_inputs(folder, arguments.before)
        rows = measure_all(folder, arguments)
        if arguments.json:
            print(json.dumps(list(rows), indent=2))
        else:
            print_table(rows)


def newest(folder: Path) -> Path:
    """Return the newest wheel of kernels for this Python in a directory."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheels = sorted(folder.glob(f"toledo_mt_kernels-*-{tag}-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit(f"{folder} has no wheel of kernels for this Python: make wheels builds one")
    return wheels[-1]


def make_inputs(folder: Path, before: str | None) -> None:
    """Write data, models and outputs of three systems, which are variants of a reference."""
    (folder / "samples.jsonl").write_text("".join(json.dumps({"hypotheses": one}) + "\n" for one in SAMPLES))
    run(folder, DATA)
    (folder / "tune").mkdir()
    for part, place in (("tune", "tune/{}"), ("test", "{}.out")):
        lines = (folder / "data" / f"{part}.trg.1").read_text(encoding="utf-8").splitlines()
        for name, change in {"A": sorted, "B": list, "C": lambda words: words[1:]}.items():
            changed = [
                " ".join(change(line.split()) if number % 3 else line.split()) for number, line in enumerate(lines)
            ]
            (folder / place.format(name)).write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    run(folder, f"{TRAIN} model")
    run(folder, f"combine tune {TUNED} combo")
    if before:
        run(folder, "train --source data/train.src --target data/train.trg --output old", python=before)
        run(folder, COMMANDS["combine tune"].before.replace("new/", "old"), python=before)


def run(folder: Path, command: str, *, python: str = sys.executable, **environment: str) -> tuple[float, int]:
    """Run a command; return its CPU seconds and the number of kernels that it compiled."""
    log = folder / "log"
    log.write_text("")
    before = cpu_seconds()
    subprocess.run(
        [python, "-m", "toledo", *shlex.split(command)], cwd=folder, check=True, capture_output=True,
        env={**os.environ, "TOLEDO_KERNELS_LOG": str(log), **environment},
    )  # fmt: skip
    lines = log.read_text(encoding="utf-8").splitlines()
    return cpu_seconds() - before, sum(line.startswith("compiled") for line in lines)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_all(folder: Path, arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    for name in arguments.only:
        command, row = COMMANDS[name], {"command": name}
        kept = str(folder / "cache" / name)
        ways = {"cold": {"TOLEDO_CACHE": kept, "TOLEDO_KERNELS": ""}}
        if arguments.wheel:
            shipped = folder / "wheel" / "toledo_mt_kernels"
            ways["shipped"] = {"TOLEDO_CACHE": f"{kept}-shipped", "TOLEDO_KERNELS": str(shipped)}
        ways["warm"] = ways["cold"]
        if arguments.before:
            row["before"], _ = measure(folder, command.before, arguments.before, TOLEDO_CACHE=f"{kept}-before")
        for way in [one for one in ways if one in arguments.ways]:
            row[way], row[f"{way}_compiled"] = measure(folder, command.run, sys.executable, **ways[way])
        row |= {"goal_shipped": command.shipped, "goal_cold": command.cold}
        yield row


def measure(folder: Path, command: str, python: str, **environment: str) -> tuple[float, int]:
    """Run a command whose outputs are new."""
    for path in sorted((folder / "new").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (folder / "new").mkdir(exist_ok=True)
    seconds, compiled = run(folder, command, python=python, **environment)
    return round(seconds, 2), compiled


def print_table(rows: Iterator[dict[str, object]]) -> None:
    for number, row in enumerate(rows):
        ways = [way for way in ("before", "cold", "shipped", "warm") if way in row]
        if not number:
            print(f"{'CPU seconds':14}", *(f"{way:>14}" for way in ways), f"{'goals':>12}")
        cells = [f"{row[way]:.2f} ({row[f'{way}_compiled']})" if way != "before" else f"{row[way]:.2f}" for way in ways]
        goals = f"{row['goal_shipped']:g} / {row['goal_cold'] or '–'}"
        print(f"{row['command']:14}", *(f"{cell:>14}" for cell in cells), f"{goals:>12}", flush=True)


if __name__ == "__main__":
    main()
