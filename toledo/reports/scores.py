"""Scores of several systems side by side: a table, and a bar for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toledo.reports.page import Page

LOWER_IS_BETTER = ("TER",)
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Scored:
    """A system with its scores by metric; p values where it was compared with the first system."""

    name: str
    scores: Mapping[str, float]
    p_values: Mapping[str, float]
    length_ratio: float | None = None


def add_scores(page: Page, systems: Sequence[Scored], signatures: Mapping[str, str]) -> None:
    """A table of all metrics, bars of the first one, and signatures."""
    metrics = list(dict.fromkeys(metric for one in systems for metric in one.scores))
    lengths = any(one.length_ratio is not None for one in systems)
    rows = [
        [
            one.name,
            *(_shown(one, metric) for metric in metrics),
            *(["" if one.length_ratio is None else f"{one.length_ratio:.3f}"] if lengths else []),
        ]
        for one in systems
    ]
    page.table(["system", *metrics, *(["length"] if lengths else [])], rows)
    if any(one.p_values for one in systems):
        page.paragraph(f"p: against {systems[0].name}; * p < {SIGNIFICANT:g}.")
    if metrics and len(systems) > 1:
        page.paragraph(f"{metrics[0]}{' (less is better)' if metrics[0] in LOWER_IS_BETTER else ''}:")
        shown = [(one.name, one.scores[metrics[0]]) for one in systems if metrics[0] in one.scores]
        page.bars(shown, metrics[0] not in LOWER_IS_BETTER)
    for metric, signature in signatures.items():
        page.small(f"{metric}|{signature}")


def _shown(one: Scored, metric: str) -> str:
    if metric not in one.scores:
        return ""
    p_value = one.p_values.get(metric)
    test = "" if p_value is None else f" (p = {p_value:.3f}){'*' if p_value < SIGNIFICANT else ''}"
    return f"{one.scores[metric]:.2f}{test}"
