"""The page about a tuning: scores and weights round by round, for one run or several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from toledo.reports.page import Page
from toledo.tuning.history import History, spread

MOST_WEIGHTS = 15
RED, GREY = "#b5462f", "#888888"


def write_report(path: str | Path, histories: Sequence[History]) -> None:
    """An HTML page with plots and tables; the best run comes first."""
    sign = 1.0 if histories[0].higher_is_better else -1.0
    best = max(histories, key=lambda one: sign * one.best_score)
    page = Page(f"Tuning with {best.tuner}")
    chosen = "the tuning set" if best.start_held_out is None else "the held-out set"
    page.paragraph(
        f"{best.metric} {best.scores[0]:.2f} at the start, {best.best_score:.2f} after round {best.best} of seed "
        f"{best.seed} ({chosen}). It stopped because: {best.stopped}. {best.seconds:.1f} CPU seconds in all."
    )
    if len(histories) > 1:
        _runs(page, histories)
    page.heading("Scores round by round")
    page.figure(_scores_plot(histories, best))
    page.table(*_rounds_table(best))
    page.heading("The objective and the size of the weights")
    page.figure(_objective_plot(best))
    page.heading("Weights round by round")
    page.figure(_weights_plot(best))
    page.table(*_weights_table(best))
    page.write(path)


def _runs(page: Page, histories: Sequence[History]) -> None:
    page.heading("Runs")
    rows = [
        [one.seed, len(one.rounds), one.best, f"{one.best_score:.2f}", f"{one.seconds:.1f}", one.stopped]
        for one in histories
    ]
    page.table(["seed", "rounds", "best round", histories[0].metric, "CPU s", "stopped"], rows)
    one = spread([history.best_score for history in histories])
    extremes = f"min {one.minimum:.2f}, max {one.maximum:.2f}, mean {one.mean:.2f}"
    page.paragraph(f"{one.runs} runs: {extremes}, σ {one.deviation:.2f} (of a sample).")


def _scores_plot(histories: Sequence[History], best: History) -> Figure:
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    for history in histories:
        if history is not best:
            axes.plot(range(len(history.scores)), history.scores, color=GREY, linewidth=0.8)
    tuning = [best.start_score, *(one.after for one in best.rounds)]
    axes.plot(range(len(tuning)), tuning, color=RED, marker="o", label="tuning set")
    if best.start_held_out is not None:
        axes.plot(range(len(best.scores)), best.scores, color="#2f6fb5", marker="s", label="held-out set")
    axes.axvline(best.best, color=GREY, linestyle=":", label="best round")
    axes.set(xlabel="round", ylabel=best.metric, xticks=range(len(tuning)))
    axes.legend()
    return figure


def _objective_plot(history: History) -> Figure:
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = [one.number for one in history.rounds]
    left.plot(numbers, [one.objective for one in history.rounds], color=RED, marker="o")
    left.set(xlabel="round", ylabel="objective", xticks=numbers)
    right.plot(numbers, [one.norm for one in history.rounds], color=RED, marker="o")
    right.set(xlabel="round", ylabel="sum of absolute weights", xticks=numbers)
    return figure


def _weights_plot(history: History) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in _largest(history):
        values = [history.weights(number).get(name, 0.0) for number in range(len(history.rounds) + 1)]
        axes.plot(range(len(values)), values, marker=".", label=name)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    axes.set(xlabel="round", ylabel="weight", xticks=range(len(history.rounds) + 1))
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _rounds_table(history: History) -> tuple[list[str], list[list[object]]]:
    metric = history.metric
    head = [
        "round",
        "objective",
        f"{metric} before",
        f"{metric} after",
        "held out",
        "hypotheses",
        "new",
        "search s",
        "tuning s",
    ]
    rows: list[list[object]] = [
        [
            f"{one.number} *" if one.number == history.best else one.number,
            one.objective,
            f"{one.before:.2f}",
            f"{one.after:.2f}",
            "" if one.held_out is None else f"{one.held_out:.2f}",
            one.hypotheses,
            one.new,
            f"{one.search_seconds:.1f}",
            f"{one.tuning_seconds:.1f}",
        ]
        for one in history.rounds
    ]
    return head, rows


def _weights_table(history: History) -> tuple[list[str], list[list[object]]]:
    numbers = range(len(history.rounds) + 1)
    head = ["weight", *("start" if not number else f"round {number}" for number in numbers)]
    rows = [
        [name, *(float(history.weights(number).get(name, 0.0)) for number in numbers)] for name in _largest(history)
    ]
    return head, [list(row) for row in rows]


def _largest(history: History) -> list[str]:
    """The names to show: those with the largest weights, if there are very many."""
    weights = history.weights(history.best)
    ranked = sorted(weights, key=lambda name: (-abs(weights[name]), name))[:MOST_WEIGHTS]
    return [name for name in weights if name in set(ranked)]
