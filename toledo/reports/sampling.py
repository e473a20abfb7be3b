"""Diagnostics of a sampler on a page: traces, R-hat, effective sample sizes, move rates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from toledo.files import atomic_writer
from toledo.reports.page import COLORS, Page
from toledo.search.gibbs.diagnostics import STUCK, SUSPICIOUS, Diagnostics, shown_r_hat
from toledo.search.settings import OPERATORS

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
    add_summary(page, summary(notes))
    if notes:
        page.heading("Segments whose chains agree least")
        page.paragraph("Model scores of samples, a line for each chain, for the segments with the largest R-hat.")
        worst = sorted(range(len(notes)), key=lambda number: -np.nan_to_num(notes[number].r_hat, posinf=np.inf))
        page.figure(_traces(notes, worst[:TRACES]))
        page.figure(_spread(notes))
        header = ["segment", "R-hat", "effective size", "entropy", "derivations", "translations", "best score"]
        page.table(header, [_row(number, notes[number]) for number in worst[:WORST]])
    page.save(path)


def add_summary(page: Page, found: Mapping[str, Any]) -> None:
    """Add what `summary` returned."""
    flat = [(name, value) for name, value in found.items() if not isinstance(value, Mapping)]
    rows = [[name.replace("_", " "), "-" if value is None else value] for name, value in flat]
    page.table(["", "all segments"], rows)
    page.subheading("Operators")
    page.paragraph("Share of the draws with more than one possibility that changed the derivation.")
    page.table(["operator", "moved"], [[name, float(rate)] for name, rate in found["move_rates"].items()])


def _traces(notes: Sequence[Diagnostics], chosen: Sequence[int]) -> Figure:
    figure = Figure(figsize=(8, 1.8 * len(chosen)), layout="constrained")
    for axes, number in zip(np.ravel(figure.subplots(len(chosen), 1, squeeze=False)), chosen, strict=True):
        for place, trace in enumerate(notes[number].trace):
            axes.plot(trace, linewidth=0.7, color=COLORS[place % len(COLORS)])
        axes.set_ylabel(f"segment {number}")
    return figure


def _spread(notes: Sequence[Diagnostics]) -> Figure:
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    shown = (
        ("R-hat", [note.r_hat for note in notes if not note.r_hat > STUCK]),
        ("effective size", [note.effective_size for note in notes]),
        ("entropy", [note.entropy for note in notes]),
    )
    for axes, (name, values) in zip(figure.subplots(1, 3), shown, strict=True):
        axes.hist([value for value in values if np.isfinite(value)], bins=30, color=COLORS[0])
        axes.set_xlabel(name)
    return figure


def _row(number: int, note: Diagnostics) -> list[object]:
    r_hat = "stuck" if note.r_hat > STUCK else f"{note.r_hat:.3f}"
    values = (note.effective_size, note.entropy)
    counts = (note.derivations, note.translations)
    return [number, r_hat, *(f"{value:.3f}" for value in values), *counts, f"{note.best_score:.3f}"]


def _mean(values: Sequence[float]) -> float:
    return _rounded(float(np.mean(values))) if values else 0.0


def _rounded(value: float) -> float:
    return round(float(value), 4)
