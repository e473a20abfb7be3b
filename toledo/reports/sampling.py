"""Diagnostics of a sampler on a page: traces, R-hat, effective sample sizes, move rates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toledo.files import atomic_writer
from toledo.search.gibbs.diagnostics import STUCK, SUSPICIOUS, Diagnostics, shown_r_hat
from toledo.search.settings import OPERATORS
from toledo.view.curves import Lines, Series
from toledo.view.markup import Markup, tag
from toledo.view.page import Page, card, columns
from toledo.view.plots import HALF, THIRD, figure, histogram
from toledo.view.tables import Cell, fixed, table

TRACES = 4
WORST = 10


def summary(notes: Sequence[Diagnostics]) -> dict[str, Any]:
    """Return figures for all segments together: means, the worst, and move rates over all draws."""
    sized = [note for note in notes if note.derivations > 1]
    hats = np.array([note.r_hat for note in sized if not np.isnan(note.r_hat)])
    sizes = np.array([note.effective_size for note in sized if np.isfinite(note.effective_size)])
    return {
        "segments": len(notes),
        "samples": sum(note.samples for note in notes),
        "mean_entropy": _mean([note.entropy for note in notes]),
        "mean_translation_entropy": _mean([note.translation_entropy for note in notes]),
        "mean_derivations": _mean([note.derivations for note in notes]),
        "mean_translations": _mean([note.translations for note in notes]),
        "median_r_hat": shown_r_hat(float(np.median(hats))) if hats.size else None,
        "worst_r_hat": shown_r_hat(float(hats.max())) if hats.size else None,
        "suspicious": int(np.count_nonzero(hats > SUSPICIOUS)),
        "stuck": int(np.count_nonzero(hats > STUCK)),
        "median_effective_size": _rounded(np.median(sizes)) if sizes.size else None,
        "smallest_effective_size": _rounded(sizes.min()) if sizes.size else None,
        "move_rates": {name: move_rate(notes, name) for name in OPERATORS},
    }


def move_rate(notes: Sequence[Diagnostics], name: str) -> float:
    """Return the share of an operator's draws that changed the derivation, over all segments."""
    rates = [note.operators[name] for note in notes]
    draws = sum(rate.draws for rate in rates)
    return _rounded(sum(rate.draws * rate.moved for rate in rates) / draws) if draws else 0.0


def write_report(path: str | Path, notes: Sequence[Diagnostics]) -> None:
    """Write an HTML page with plots and tables, or numbers if the name of the file ends in .json."""
    if str(path).endswith(".json"):
        content = {"summary": summary(notes), "segments": [note.to_json() for note in notes]}
        with atomic_writer(path) as stream:
            stream.write(json.dumps(content, indent=1) + "\n")
        return
    page = Page("Samples of a Gibbs sampler")
    page.add(*summary_cards(summary(notes), level=2), *(_segment_cards(notes) if notes else ()))
    page.save(path)


def summary_cards(found: Mapping[str, Any], level: int = 3) -> list[Markup]:
    """Return what `summary` returned as cards."""
    flat = [(name, value) for name, value in found.items() if not isinstance(value, Mapping)]
    rows: list[list[Cell]] = [[name.replace("_", " "), "–" if value is None else value] for name, value in flat]
    rates: list[list[Cell]] = [[name, fixed(float(rate), 3)] for name, rate in found["move_rates"].items()]
    moved = "share of the draws with more than one possibility that changed the derivation"
    return [
        columns(
            card("All segments", table(["", "value"], rows, description="all segments"), level=level),
            card("Operators", table(["operator", "moved"], rates, description="operators"), note=moved, level=level),
        )
    ]


def _segment_cards(notes: Sequence[Diagnostics]) -> list[Markup]:
    """Return traces and numbers of the segments whose chains agree least, and how all segments are spread."""
    worst = sorted(range(len(notes)), key=lambda number: -np.nan_to_num(notes[number].r_hat, posinf=np.inf))
    header = ["segment", "R-hat", "effective size", "entropy", "derivations", "translations", "best score"]
    numbers = table(header, [_row(number, notes[number]) for number in worst[:WORST]], description="worst segments")
    spreads = (
        ("R-hat", [note.r_hat for note in notes if not note.r_hat > STUCK]),
        ("Effective size", [note.effective_size for note in notes]),
        ("Entropy", [note.entropy for note in notes]),
    )
    traces = [
        card(f"Segment {number}", figure(_traces(notes[number]), HALF), note="model scores of samples", level=2)
        for number in worst[:TRACES]
    ]
    return [
        card("Segments whose chains agree least", numbers, level=2),
        tag("div", traces, class_="columns-2"),
        columns(*(card(name, figure(histogram(values, name), THIRD), level=2) for name, values in spreads)),
    ]


def _traces(note: Diagnostics) -> Lines:
    """Return a curve for each chain."""
    curves = [
        Series(f"chain {place}", list(enumerate(map(float, trace)))) for place, trace in enumerate(note.trace, start=1)
    ]
    return Lines(curves, "sample", "model score", height=200)


def _row(number: int, note: Diagnostics) -> list[Cell]:
    r_hat = "stuck" if note.r_hat > STUCK else f"{note.r_hat:.3f}"
    values = (note.effective_size, note.entropy)
    counts = (note.derivations, note.translations)
    return [number, r_hat, *(fixed(value, 3) for value in values), *counts, fixed(note.best_score, 3)]


def _mean(values: Sequence[float]) -> float:
    return _rounded(float(np.mean(values))) if values else 0.0


def _rounded(value: float) -> float:
    return round(float(value), 4)
