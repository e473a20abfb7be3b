"""The page about a user's runs: a part for each, whatever kind of run it is, and tunings beside one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toledo.reports.documents import Course, add_courses
from toledo.reports.networks import legend
from toledo.reports.page import Page
from toledo.reports.posteriors import Example, add_examples
from toledo.reports.sampling import add_summary
from toledo.reports.scores import Scores
from toledo.reports.tuning import add_refinement, add_runs, add_trajectories
from toledo.runs.history import History


@dataclass(frozen=True)
class TuningRuns:
    """One tuning with one seed or several."""

    name: str
    histories: tuple[History, ...]
    kind = "Tuning"

    @property
    def task(self) -> tuple[str, str]:
        """What seeds of one tuning have in common."""
        first = self.histories[0]
        plain = {name: value for name, value in first.configuration.items() if name != "seed"}
        return first.tuner, repr(sorted(plain.items())) if plain else self.name

    @property
    def best(self) -> History:
        """The best seed."""
        sign = 1.0 if self.histories[0].higher_is_better else -1.0
        return max(self.histories, key=lambda one: sign * one.best_score)

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        add_runs(page, self.histories)


@dataclass(frozen=True)
class Documents:
    """A search of documents."""

    name: str
    courses: Sequence[Course]
    kind = "Documents"

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        add_courses(page, self.courses)


@dataclass(frozen=True)
class Refining:
    """A refinement of a model."""

    name: str
    history: History
    kind = "Refinement"

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        add_refinement(page, self.history)


@dataclass(frozen=True)
class Combination:
    """A combination of systems: shares, weights of features, and BLEU where it is known."""

    name: str
    shares: Mapping[str, float]
    weights: Mapping[str, float]
    bleu: Mapping[str, float]
    kind = "Combination"

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        if self.bleu:
            page.paragraph("BLEU on the tuning set:")
            page.bars(list(self.bleu.items()))
        page.paragraph("What the vote of each system is worth:")
        page.markup(legend(self.shares))
        page.bars(list(self.shares.items()))
        page.table(["feature", "weight"], [[name, float(weight)] for name, weight in self.weights.items() if weight])


@dataclass(frozen=True)
class Samples:
    """How well a sampler sampled."""

    name: str
    summary: Mapping[str, Any]
    kind = "Samples"

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        add_summary(page, self.summary)


@dataclass(frozen=True)
class Lists:
    """The first segments of n-best lists."""

    name: str
    examples: Sequence[Example]
    scale: float
    kind = "Hypotheses"

    def add_to(self, page: Page) -> None:
        """Its part of a page."""
        page.paragraph(
            "For each segment what scores best, and what consensus decoding chooses; colours are probabilities over the"
            f" whole list, from scores times {self.scale:g}."
        )
        add_examples(page, self.examples)


Run = TuningRuns | Documents | Refining | Scores | Combination | Samples | Lists


def runs_page(title: str, runs: Sequence[Run]) -> Page:
    """All runs, those of one kind together; before the first of several tunings they are compared."""
    page = Page(title)
    tunings = {run.name: run.best for run in runs if isinstance(run, TuningRuns)}
    kinds = list(dict.fromkeys(run.kind for run in runs))
    for run in sorted(runs, key=lambda run: kinds.index(run.kind)):
        if len(tunings) > 1 and isinstance(run, TuningRuns) and run.name == next(iter(tunings)):
            page.heading("Tunings side by side")
            add_trajectories(page, tunings)
        page.heading(f"{run.kind}: {run.name}")
        run.add_to(page)
    return page
