"""Scores of several systems side by side: a table with p values, and a bar for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toledo.reports.page import CPU_SECONDS, Page

LOWER_IS_BETTER = ("TER",)
SIGNIFICANT = 0.05
SECONDS = f"{CPU_SECONDS}: processor seconds of all threads, without compilation."
TESTS = {"bootstrap": "paired bootstrap", "randomisation": "approximate randomisation"}


@dataclass(frozen=True)
class Scored:
    """A system with its scores by metric; p values where it was compared with the first system.

    `seconds` are CPU seconds of making it, without compilation, where somebody has counted them.
    """

    name: str
    scores: Mapping[str, float]
    p_values: Mapping[str, float]
    length_ratio: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Scores:
    """An evaluation of systems, with the signatures of metrics and the name of the test that p values come from."""

    name: str
    systems: Sequence[Scored]
    signatures: Mapping[str, str]
    test: str = ""
    kind = "Scores"

    @property
    def metrics(self) -> list[str]:
        """All metrics that some system has a score of."""
        return list(dict.fromkeys(metric for one in self.systems for metric in one.scores))

    def add_to(self, page: Page) -> None:
        """Its part of a page: the table, and bars of the first metric."""
        add_table(page, self)
        if self.metrics and len(self.systems) > 1:
            first = self.metrics[0]
            page.paragraph(f"{first}, the best in red:")
            shown = [(one.name, one.scores[first]) for one in self.systems if first in one.scores]
            page.bars(shown, first not in LOWER_IS_BETTER)


def add_table(page: Page, scores: Scores) -> None:
    """All systems and metrics, what the columns mean, and signatures."""
    names, columns = zip(*_columns(scores), strict=True)
    page.table(names, list(zip(*columns, strict=True)))
    if notes := " ".join(_notes(scores)):
        page.paragraph(notes)
    for metric, signature in scores.signatures.items():
        page.small(f"{metric}|{signature}")


def _columns(scores: Scores) -> Iterator[tuple[str, list[str]]]:
    """Names and cells; those that nobody has anything to say in are left out."""
    systems = scores.systems
    yield "system", [one.name for one in systems]
    for metric in scores.metrics:
        tested = any(metric in one.p_values for one in systems)
        yield f"{metric}\np" if tested else metric, [_score(one, metric, tested) for one in systems]
    if any(one.length_ratio is not None for one in systems):
        yield "length", [_number(one.length_ratio, 3) for one in systems]
    if any(one.seconds is not None for one in systems):
        yield CPU_SECONDS, [_number(one.seconds, 1) for one in systems]


def _notes(scores: Scores) -> Iterator[str]:
    """What a reader has to know of the columns."""
    if any(one.p_values for one in scores.systems):
        test = f"{TESTS[scores.test]} " if scores.test in TESTS else ""
        yield f"p: {test}against “{scores.systems[0].name}”; * p < {SIGNIFICANT:g}."
    if lower := [metric for metric in scores.metrics if metric in LOWER_IS_BETTER]:
        yield f"{', '.join(lower)}: less is better."
    if any(one.seconds is not None for one in scores.systems):
        yield SECONDS


def _score(one: Scored, metric: str, tested: bool) -> str:
    """The score, and p beside it."""
    if not tested or metric not in one.scores:
        return _number(one.scores.get(metric), 2)
    p_value = one.p_values.get(metric, 1.0)
    star = " *" if p_value < SIGNIFICANT else ""
    return f"{one.scores[metric]:.2f}\n{_number(one.p_values.get(metric), 3)}{star}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
