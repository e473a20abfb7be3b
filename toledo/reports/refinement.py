"""What a refinement did: iterations, validation scores, and the expected BLEU of the training text."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from toledo.refinement.history import History, Iteration
from toledo.reports.page import CPU_SECONDS, PLOT, Page, ending

RED, BLUE, GREY = "#b5462f", "#2f6db5", "#888888"


def add_refinement(page: Page, history: History) -> None:
    """A plot if there are several iterations to see, and a table."""
    first, best = history.iterations[0], history.best
    if best.number:
        told = f"{first.validation:.2f} before, {best.validation:.2f} after iteration {best.number}"
    else:
        told = f"{first.validation:.2f} before; no iteration is better"
    page.paragraph(f"BLEU on the validation set: {told}. {ending(history.stopped)}")
    if settings := _settings(history):
        page.paragraph(f"Settings: {settings}.")
    if len(history.iterations) > 2:  # two points are no curve
        page.figure(_plot(history.iterations, best.number))
    page.table(*_table(history))


def _settings(history: History) -> str:
    """What tells several refinements of one work directory apart, under the names of the options."""
    text = str(history.configuration.get("settings", "")).removeprefix("Settings(").removesuffix(")")
    return text.replace("'", "").replace("strength=", "tau=").replace("=", " ")


def _plot(iterations: Sequence[Iteration], best: int) -> Figure:
    figure = Figure(figsize=PLOT, layout="constrained")
    axes = figure.subplots()
    axes.plot([one.number for one in iterations], [one.validation for one in iterations], "o-", color=RED)
    axes.axvline(best, color=GREY, linestyle=":")
    axes.set_xlabel("iteration (0: before)")
    axes.set_ylabel("validation BLEU", color=RED)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    expected = [(one.number, 100.0 * one.expected) for one in iterations if one.expected is not None]
    if expected:
        other = axes.twinx()
        other.plot(*zip(*expected, strict=True), "s--", color=BLUE)
        other.set_ylabel("expected BLEU, training", color=BLUE)
    return figure


def _table(history: History) -> tuple[list[str], list[list[object]]]:
    head = ["iteration", "trained", "expected BLEU", "best of lists", "validation BLEU", CPU_SECONDS]
    rows: list[list[object]] = [
        [
            f"{one.number}{' *' if one.number == history.best.number else ''}",
            ", ".join(one.families) or "baseline",
            "" if one.expected is None else f"{100.0 * one.expected:.2f}",
            "" if one.best is None else f"{one.best:.2f}",
            f"{one.validation:.2f}",
            f"{one.seconds + one.tuning_seconds:.1f}",
        ]
        for one in history.iterations
    ]
    return head, rows
