"""Scores of several systems side by side: a table with p values, and a bar for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toledo.metrics.evaluation import TITLES
from toledo.reports.page import CPU_SECONDS, Page

LOWER_IS_BETTER = ("TER",)
SIGNIFICANT = 0.05
SECONDS = f"{CPU_SECONDS}: processor seconds of all threads, without compilation."


@dataclass(frozen=True)
class SystemScores:
    """A system with its scores by metric, and p values where it was compared with the first system.

    `widths` are half the widths of confidence intervals. `seconds` is CPU time without compilation, if it is known.
    """

    name: str
    scores: Mapping[str, float]
    p_values: Mapping[str, float]
    widths: Mapping[str, float]
    length_ratio: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ScoreTable:
    """Systems with the signatures of metrics, and the test that p values come from."""

    systems: Sequence[SystemScores]
    signatures: Mapping[str, str]
    test: str = ""

    @property
    def metrics(self) -> list[str]:
        """Return all metrics that some system has a score of."""
        return list(dict.fromkeys(metric for one in self.systems for metric in one.scores))

    def add_to(self, page: Page) -> None:
        """Add the table, and bars of the first metric."""
        add_table(page, self)
        if self.metrics and len(self.systems) > 1:
            first = self.metrics[0]
            page.paragraph(f"{first}, the best in red:")
            shown = [(one.name, one.scores[first]) for one in self.systems if first in one.scores]
            page.bars(shown, first not in LOWER_IS_BETTER)


def score_table(content: Mapping[str, Any], name: str, seconds: Mapping[str, float] | None = None) -> ScoreTable:
    """Return the scores of an evaluation or a comparison, from what its `to_dict` returned."""
    systems = content.get("systems", {name: content})
    keys = {key: one for system in systems.values() for key, one in system["scores"].items()}
    tests: Sequence[Mapping[str, Any]] = content.get("tests", ())
    found = []
    for title, system in systems.items():
        scores = system["scores"].values()
        p_values = {keys[one["metric"]]["name"]: one["p_corrected"] for one in tests if one["system"] == title}
        intervals = {one["name"]: one["interval"] for one in scores if one["interval"]}
        widths = {metric: (one["high"] - one["low"]) / 2 for metric, one in intervals.items()}
        found.append(
            SystemScores(
                title,
                {one["name"]: float(one["score"]) for one in scores},
                p_values,
                {} if tests else widths,
                system["length_ratio"],
                (seconds or {}).get(title),
            )
        )
    return ScoreTable(found, {one["name"]: one["signature"] for one in keys.values()}, _test(tests, keys))


def add_table(page: Page, table: ScoreTable) -> None:
    """Add a table of systems and metrics, notes on its columns, and signatures."""
    names, columns = zip(*_columns(table), strict=True)
    page.table(names, list(zip(*columns, strict=True)))
    if notes := " ".join(_notes(table)):
        page.paragraph(notes)
    for metric, signature in table.signatures.items():
        page.small(f"{metric}|{signature}")


def _test(tests: Sequence[Mapping[str, Any]], scores: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the test that p values come from, with its correction."""
    signatures = "|".join(one["signature"] for one in scores.values())
    title = TITLES["randomization" if "|ar:" in signatures else "bootstrap"]
    return f"{title}, Holm's correction" if any(one["p"] != one["p_corrected"] for one in tests) else title


def _columns(table: ScoreTable) -> Iterator[tuple[str, list[str]]]:
    """Yield headers and cells; empty columns are left out."""
    systems = table.systems
    yield "system", [one.name for one in systems]
    for metric in table.metrics:
        tested = any(metric in one.p_values for one in systems)
        yield f"{metric}\np" if tested else metric, [_cell(one, metric, tested) for one in systems]
    if any(one.length_ratio is not None for one in systems):
        yield "length", [_number(one.length_ratio, 3) for one in systems]
    if any(one.seconds is not None for one in systems):
        yield CPU_SECONDS, [_number(one.seconds, 1) for one in systems]


def _notes(table: ScoreTable) -> Iterator[str]:
    """Yield what a reader has to know about the columns."""
    if any(one.p_values for one in table.systems):
        yield f"p: {table.test} against “{table.systems[0].name}”; * p < {SIGNIFICANT:g}."
    if any(one.widths for one in table.systems):
        yield "±: half the width of the confidence interval."
    if lower := [metric for metric in table.metrics if metric in LOWER_IS_BETTER]:
        yield f"{', '.join(lower)}: less is better."
    if any(one.seconds is not None for one in table.systems):
        yield SECONDS


def _cell(one: SystemScores, metric: str, tested: bool) -> str:
    """Return the score, with p or the width of the interval beside it."""
    score = _number(one.scores.get(metric), 2)
    if metric in one.widths:
        return f"{score}\n± {one.widths[metric]:.2f}"
    if not tested or metric not in one.scores:
        return score
    star = " *" if one.p_values.get(metric, 1.0) < SIGNIFICANT else ""
    return f"{score}\n{_number(one.p_values.get(metric), 3)}{star}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
