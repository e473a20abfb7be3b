"""Tunings and refinements on a page: scores, weights and objectives round by round, for one run or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from toledo.reports.page import BLUE, COLORS, CPU_SECONDS, GRAY, PLOT, RED, Page, ending
from toledo.runs.checkpoint import KIND
from toledo.runs.history import History, Round, spread

MOST_WEIGHTS = 15
MOST_TICKS, MOST_COLUMNS, MOST_ROWS = 12, 8, 50
MARKS = "os^Dvx"


def write_report(path: str | Path, histories: Sequence[History]) -> None:
    """Write an HTML page about one tuning, with one seed or several."""
    page = Page(f"Tuning with {histories[0].tuner}")
    add_runs(page, histories)
    page.save(path)


def best_history(histories: Sequence[History]) -> History:
    """Return the history of the best seed."""
    sign = 1.0 if histories[0].higher_is_better else -1.0
    return max(histories, key=lambda one: sign * one.best_score)


def add_runs(page: Page, histories: Sequence[History]) -> None:
    """Add everything about the runs of one tuner; details are those of the best run."""
    best = best_history(histories)
    chosen = "the tuning set" if best.start.dev_score is None else "the development set"
    page.paragraph(
        f"{best.metric} {best.scores[0]:.2f} at the start, {best.best_score:.2f} after round {best.best} of seed "
        f"{best.seed} ({chosen}). {ending(best.stopped)} {best.seconds:.1f} CPU seconds in all."
    )
    if len(histories) > 1:
        _add_seeds(page, histories)
    page.subheading("Scores round by round")
    with page.plot() as axes:
        _draw_scores(axes, histories, best)
    _add_rounds(page, best)
    page.subheading("The objective and the size of the weights")
    figure = Figure(figsize=(PLOT[0], 4.4), layout="constrained")
    objectives = [one.objective or 0.0 for one in best.rounds], "objective"
    norms = [one.norm for one in best.rounds], "sum of absolute weights"
    for axes, (values, label) in zip(figure.subplots(2, 1), (objectives, norms), strict=True):
        axes.plot([one.number for one in best.rounds], values, color=RED, marker="o")
        axes.set(xlabel="round", ylabel=label)
        _whole_rounds(axes)
    page.figure(figure)
    page.subheading("Weights round by round")
    _add_weights(page, best)


def add_trajectories(page: Page, histories: Mapping[str, History]) -> None:
    """Add several tunings in one plot: the score by which a round was chosen."""
    with page.plot() as axes:
        for number, (name, history) in enumerate(histories.items()):
            color, mark = COLORS[number % len(COLORS)], MARKS[number % len(MARKS)]
            axes.plot(range(len(history.scores)), history.scores, color=color, marker=mark, label=name)
        axes.set(xlabel="round", ylabel=" or ".join(sorted({history.metric for history in histories.values()})))
        _whole_rounds(axes)
        axes.legend()
    rows = [
        [name, f"{one.scores[0]:.2f}", f"{one.best_score:.2f}", one.best, f"{one.seconds:.1f}", one.stopped]
        for name, one in histories.items()
    ]
    page.table(["tuning", "start", "best", "round", CPU_SECONDS, "stopped"], rows)


def _add_seeds(page: Page, histories: Sequence[History]) -> None:
    page.subheading("Runs")
    rows = [
        [one.seed, len(one.rounds), one.best, f"{one.best_score:.2f}", f"{one.seconds:.1f}", one.stopped]
        for one in histories
    ]
    page.table(["seed", "rounds", "best round", histories[0].metric, CPU_SECONDS, "stopped"], rows)
    one = spread([history.best_score for history in histories])
    extremes = f"min {one.minimum:.2f}, max {one.maximum:.2f}, mean {one.mean:.2f}"
    page.paragraph(f"{one.runs} runs: {extremes}, σ {one.deviation:.2f} (of a sample).")


def _draw_scores(axes: Axes, histories: Sequence[History], best: History) -> None:
    for history in histories:
        if history is not best:
            axes.plot(range(len(history.scores)), history.scores, color=GRAY, linewidth=0.8)
    tuning = [one.score for one in best.all_rounds]
    axes.plot(range(len(tuning)), tuning, color=RED, marker="o", label="tuning set")
    if best.start.dev_score is not None:
        axes.plot(range(len(best.scores)), best.scores, color=BLUE, marker="s", label="development set")
    axes.axvline(best.best, color=GRAY, linestyle=":", label="best round")
    axes.set(xlabel="round", ylabel=best.metric)
    _whole_rounds(axes)
    axes.legend()


def _whole_rounds(axes: Axes) -> None:
    """Put ticks at whole rounds only, and not too many."""
    axes.xaxis.set_major_locator(MaxNLocator(nbins=MOST_TICKS, integer=True, min_n_ticks=1))


def _add_rounds(page: Page, history: History) -> None:
    """Add a table of the last rounds and the best."""
    shown = {history.best, *range(len(history.rounds) - MOST_ROWS + 1, len(history.rounds) + 1)}
    before, after = f"{history.metric} before", f"{history.metric} after"
    rows: list[list[object]] = [
        [
            f"{one.number} *" if one.number == history.best else one.number,
            one.objective,
            f"{history.all_rounds[one.number - 1].score:.2f}",
            f"{one.score:.2f}",
            "" if one.dev_score is None else f"{one.dev_score:.2f}",
            one.hypotheses,
            one.new,
            f"{one.search_seconds:.1f}",
            f"{one.tuning_seconds:.1f}",
        ]
        for one in history.rounds
        if one.number in shown
    ]
    page.table(["round", "objective", before, after, "dev", "hypotheses", "new", "search s", "tuning s"], rows)


def _add_weights(page: Page, history: History) -> None:
    """Add a plot and a table of the largest weights."""
    weights, last = history.weights(history.best), len(history.rounds)
    ranked = sorted(weights, key=lambda name: (-abs(weights[name]), name))[:MOST_WEIGHTS]
    names = [name for name in weights if name in set(ranked)]
    figure = Figure(figsize=(PLOT[0], 5.0), layout="constrained")
    axes = figure.subplots()
    for name in names:
        axes.plot([history.weights(number).get(name, 0.0) for number in range(last + 1)], marker=".", label=name)
    axes.axhline(0.0, color=GRAY, linewidth=0.8)
    axes.set(xlabel="round", ylabel="weight")
    _whole_rounds(axes)
    figure.legend(fontsize="small", loc="outside lower center", ncols=2)
    page.figure(figure)
    step = last // MOST_COLUMNS + 1  # a history may have a thousand rounds
    numbers = sorted({0, history.best, *range(last, 0, -step)})
    head = ["weight", *("start" if not number else f"round {number}" for number in numbers)]
    rows = [[name, *(float(history.weights(number).get(name, 0.0)) for number in numbers)] for name in names]
    page.table(head, rows)


def add_refinement(page: Page, history: History) -> None:
    """Add a plot if there are several iterations, and a table."""
    first, best = history.start, history.best_round
    if best.number:
        summary = f"{first.score:.2f} before, {best.score:.2f} after iteration {best.number}"
    else:
        summary = f"{first.score:.2f} before; no iteration is better"
    page.paragraph(f"BLEU on the development set: {summary}. {ending(history.stopped)}")
    settings = history.configuration.get("settings", {})
    if shown := ", ".join(f"{name} {value}" for name, value in settings.items() if name != KIND):
        page.paragraph(f"Settings: {shown}.")
    if len(history.rounds) > 1:  # two points are no curve
        with page.plot() as axes:
            _draw_iterations(axes, history.all_rounds, best.number)
    rows: list[list[object]] = [
        [
            f"{one.number}{' *' if one.number == history.best else ''}",
            ", ".join(one.trained) or "baseline",
            f"{100.0 * one.details['expected']:.2f}" if one.objective is not None else "",
            f"{one.details['best_of_lists']:.2f}" if one.objective is not None else "",
            f"{one.score:.2f}",
            f"{one.seconds:.1f}",
        ]
        for one in history.all_rounds
    ]
    page.table(["iteration", "trained", "expected BLEU", "best of lists", "development BLEU", CPU_SECONDS], rows)


def _draw_iterations(axes: Axes, iterations: Sequence[Round], best: int) -> None:
    axes.plot([one.number for one in iterations], [one.score for one in iterations], "o-", color=RED)
    axes.axvline(best, color=GRAY, linestyle=":")
    axes.set_xlabel("iteration (0: before)")
    axes.set_ylabel("development BLEU", color=RED)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    expected = [(one.number, 100.0 * one.details["expected"]) for one in iterations if "expected" in one.details]
    if expected:
        other = axes.twinx()
        other.plot(*zip(*expected, strict=True), "s--", color=BLUE)
        other.set_ylabel("expected BLEU, training", color=BLUE)
