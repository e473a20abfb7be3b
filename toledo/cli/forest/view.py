"""What `toledo forest show` prints: tables for people, objects for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from textwrap import shorten
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toledo.forest.derivations import Derivation, Summary, summarise
from toledo.forest.kbest import k_best
from toledo.formats.forest_files import SegmentForest, score_with

WIDE = 160  # columns where no terminal says how many there are
ROWS = 20
MOST_FEATURES = 25
LONGEST = 70  # letters of a translation in a list


def show_one(found: SegmentForest, weights: Mapping[str, float] | None, size: int, as_json: bool) -> None:
    """One segment with its best derivations."""
    scores = score_with(found, weights)
    summary = summarise(found.forest, scores)
    best = list(islice(k_best(found.forest, scores), size))
    if as_json:
        derivations = [_derivation_json(one, summary) for one in best]
        typer.echo(json.dumps({**_summary_json(found, summary), "k_best": derivations}, indent=2, ensure_ascii=False))
        return
    console = _console()
    console.print(_overview(found, summary, weights), highlight=False, markup=False)
    if best:
        console.print(_translations(best, summary))
        console.print()
        console.print(_features(best, found, weights))


def show_all(found: Iterable[SegmentForest], weights: Mapping[str, float] | None, as_json: bool) -> None:
    """A line for each segment."""
    summaries = [(one, summarise(one.forest, score_with(one, weights))) for one in found]
    if as_json:
        content = [_summary_json(one, summary) for one, summary in summaries]
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("segment", "nodes", "edges", "derivations", "entropy", "score"):
        table.add_column(name, justify="right")
    table.add_column("best translation")
    for one, summary in summaries[:ROWS]:
        table.add_row(str(one.segment), *_cells(summary))
    console = _console()
    console.print(table)
    console.print(_totals([summary for _, summary in summaries]), highlight=False)
    console.print("Look at one segment with --segment.", style="dim")


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def _cells(summary: Summary) -> list[str]:
    return [
        f"{summary.nodes:,}",
        f"{summary.edges:,}",
        _count_text(summary.log10_derivations),
        f"{summary.entropy:.2f}",
        "" if summary.best is None else f"{summary.best.score:.4f}",
        "(none)" if summary.best is None else escape(shorten(str(summary.best), LONGEST, placeholder=" …")),
    ]


def _totals(summaries: list[Summary]) -> str:
    edges, entropy = (
        sum(getattr(summary, name) for summary in summaries) / len(summaries) for name in ("edges", "entropy")
    )
    empty = sum(summary.best is None for summary in summaries)
    more = f"… and {len(summaries) - ROWS:,} more. " if len(summaries) > ROWS else ""
    without = f", {empty:,} without a derivation" if empty else ""
    return f"{more}{len(summaries):,} segments{without}; on average {edges:.1f} edges, {entropy:.2f} nats of entropy."


def _overview(found: SegmentForest, summary: Summary, weights: Mapping[str, float] | None) -> str:
    forest = found.forest
    sparse = f" and {len(forest.sparse.names)} sparse" if forest.sparse else ""
    return (
        f"Segment {found.segment}: {summary.nodes:,} nodes, {summary.edges:,} edges, "
        f"{_count_text(summary.log10_derivations)} derivations, {len(forest.feature_names)} dense{sparse} features\n"
        f"Scores: {_score_source(found, weights)}. Entropy {summary.entropy:.4f} nats, "
        f"log partition {summary.log_partition:.4f}\n"
    )


def _score_source(found: SegmentForest, weights: Mapping[str, float] | None) -> str:
    if weights is not None:
        return "features times the weights given"
    if found.weights:
        return "features times the scales of the file"
    if found.weights is not None:
        return "model scores of the file"
    return "all 0, there are no weights" if found.forest.base is None else "base scores, there are no weights"


def _translations(best: list[Derivation], summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "score", "probability"):
        table.add_column(name, justify="right")
    table.add_column("translation")
    for rank, one in enumerate(best, start=1):
        probability = math.exp(one.score - summary.log_partition)
        table.add_row(str(rank), f"{one.score:.4f}", f"{probability:.4f}", escape(str(one)))
    return table


def _features(best: list[Derivation], found: SegmentForest, weights: Mapping[str, float] | None) -> Table:
    chosen = (found.weights if weights is None else weights) or {}
    names = list(dict.fromkeys(name for one in best for name in one.features))
    table = Table("feature", box=None, pad_edge=False, header_style="bold")
    if chosen:
        table.add_column("weight", justify="right")
    for rank in range(1, len(best) + 1):
        table.add_column(str(rank), justify="right")
    for name in names[:MOST_FEATURES]:
        values = [f"{one.features.get(name, 0.0):.4g}" for one in best]
        weight = [f"{chosen[name]:.4g}" if name in chosen else ""] if chosen else []
        table.add_row(escape(name), *weight, *values)
    if len(names) > MOST_FEATURES:
        table.add_row(f"… and {len(names) - MOST_FEATURES} more")
    return table


def _count_text(log10: float) -> str:
    if log10 == -math.inf:
        return "0"
    return f"{round(10**log10):,}" if log10 < 9 else f"10^{log10:.1f}"


def _summary_json(found: SegmentForest, summary: Summary) -> dict[str, Any]:
    return {
        "segment": found.segment,
        "nodes": summary.nodes,
        "edges": summary.edges,
        "log10_derivations": _finite(summary.log10_derivations),
        "log_partition": _finite(summary.log_partition),
        "entropy": round(summary.entropy, 6),
        "best": None if summary.best is None else str(summary.best),
        "score": None if summary.best is None else round(summary.best.score, 6),
    }


def _derivation_json(one: Derivation, summary: Summary) -> dict[str, Any]:
    return {
        "text": str(one),
        "score": round(one.score, 6),
        "probability": round(math.exp(one.score - summary.log_partition), 6),
        "features": {name: float(f"{value:.7g}") for name, value in one.features.items()},
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
