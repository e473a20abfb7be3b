"""Where `toledo tune` puts what it found, and the table that it prints."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, require_output, require_output_directory
from toledo.model import DESCRIPTION, Model
from toledo.reports.tuning import write_report
from toledo.runs.history import History, spread
from toledo.tuning.initial import known_features
from toledo.tuning.loop import TuningResult
from toledo.weights import Weights

log = logging.getLogger(__name__)

SUMMARY = "summary.json"
DIGITS = 4
WIDE = 120  # columns where no terminal says how many there are
FIGURES = {"min": "minimum", "max": "maximum", "mean": "mean", "σ": "deviation"}


@dataclass(frozen=True)
class TuningOutputs:
    """Places for the weights, a page, the model with these weights, and a directory for histories."""

    weights: Path
    report: Path | None
    model: Path | None
    work: Path

    def check(self) -> None:
        """Refuse what cannot be written, before any work is done for it."""
        if str(self.weights) == STANDARD_STREAM:
            raise InputError("the table of runs goes to standard output, weights to a file", remedy="name a file")
        for file in (self.weights, self.report):
            if file:
                require_output(file)
        if self.model:
            require_output_directory(self.model, DESCRIPTION)
        places = [path.resolve() for path in (self.weights, self.report, self.model, self.work) if path]
        if len(set(places)) < len(places):
            raise InputError("two results would go to one place", remedy="name another file for one of them")

    def write(self, results: Sequence[TuningResult], model: Model | None) -> None:
        """The weights of the best run, all that was asked for, and in the work directory a summary."""
        weights, histories = best_run(results).weights, [result.history for result in results]
        with atomic_writer(self.work / SUMMARY) as stream:
            stream.write(summary_json(summarise(histories), indent=1) + "\n")
        weights.save(self.weights)
        if self.model and model:
            model.with_weights(weights).save(self.model)
        if self.report:
            write_report(self.report, histories)

    def tell_of_sparse(self, weights: Weights, model: Path) -> None:
        """Say that weights of new features are of no use with the old model."""
        if not self.model and set(weights) - known_features(Model.load(model)):
            log.warning(
                "%s has weights of sparse features that %s does not have: they do not go together; "
                "the same command with --resume --output-model DIRECTORY writes the model that has them",
                self.weights,
                model,
            )


def best_run(results: Sequence[TuningResult]) -> TuningResult:
    """The run with the best score, of equal ones the first."""
    sign = 1.0 if results[0].history.higher_is_better else -1.0
    return max(results, key=lambda result: sign * result.history.best_score)


def summarise(histories: Sequence[History]) -> dict[str, Any]:
    """Several runs in a table, and how far apart they are (σ of a sample)."""
    rows = [
        {
            "seed": one.seed,
            "rounds": len(one.rounds),
            "best_round": one.best,
            "start": one.start.score,
            "tuning": one.best_round.score,
            "held_out": None if one.start.dev_score is None else one.best_score,
            "cpu_seconds": one.seconds,
            "stopped": one.stopped,
        }
        for one in histories
    ]
    spreads = {"tuning": spread([one.best_round.score for one in histories])}
    if histories[0].start.dev_score is not None:
        spreads["held_out"] = spread([one.best_score for one in histories])
    return {
        "tuner": histories[0].tuner,
        "metric": histories[0].metric,
        "runs": rows,
        "spread": {name: asdict(one) for name, one in spreads.items()},
        "deviation": "of a sample (n - 1)",
    }


def summary_json(summary: Mapping[str, Any], indent: int | None = None) -> str:
    """A summary as JSON. Only here are its numbers rounded: rounded twice, they would differ from what was printed."""
    return json.dumps(_rounded(summary), indent=indent, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def print_runs(summary: dict[str, Any], best: int, as_json: bool) -> None:
    """The runs on standard output, the best one marked."""
    if as_json:
        typer.echo(summary_json({**summary, "best_seed": best}))
        return
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("seed", box=None, pad_edge=False, header_style="bold")
    held_out = "held_out" in summary["spread"]
    names = ["start", "tuning", *(["held_out"] if held_out else [])]
    for name in (*names, "rounds", "best round", "CPU s"):
        label = f"{name.replace('_', ' ')} {summary['metric']}" if name in names else name
        table.add_column(label, justify="right")
    table.add_column("stopped")
    for row in summary["runs"]:
        mark = f"{row['seed']} *" if row["seed"] == best and len(summary["runs"]) > 1 else str(row["seed"])
        numbers = [str(row["rounds"]), str(row["best_round"]), f"{row['cpu_seconds']:.1f}"]
        table.add_row(mark, *(f"{row[name]:.2f}" for name in names), *numbers, row["stopped"])
    console.print(table)
    if len(summary["runs"]) > 1:
        for name, one in summary["spread"].items():
            figures = ", ".join(f"{key} {one[field]:.2f}" for key, field in FIGURES.items())
            console.print(f"{name.replace('_', ' ')}: {figures} (of a sample)", highlight=False)
        console.print("* its weights were written", highlight=False)
