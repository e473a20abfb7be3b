"""Tunings and refinements: scores, objectives and weights round by round, for one run or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from toledo.reports.scores import CPU_SECONDS
from toledo.runs.checkpoint import KIND
from toledo.runs.history import History, spread
from toledo.view.curves import Lines, Series, spark
from toledo.view.markup import Child, Markup, tag
from toledo.view.page import Page, card, columns, paragraph
from toledo.view.plots import HALF, figure
from toledo.view.tables import Cell, facts, fixed, table

MOST_WEIGHTS, MOST_COLUMNS, MOST_ROWS = 15, 8, 50


def write_report(path: str | Path, histories: Sequence[History]) -> None:
    """Write an HTML page about one tuning, with one seed or several."""
    page = Page(f"Tuning with {histories[0].tuner}")
    page.add(*tuning_cards(histories, level=2))
    page.save(path)


def best_history(histories: Sequence[History]) -> History:
    """Return the history of the best seed."""
    sign = 1.0 if histories[0].higher_is_better else -1.0
    return max(histories, key=lambda one: sign * one.best_score)


def ending(reason: str) -> str:
    """Return why a run ended, as a sentence."""
    return f"It stopped because: {reason}." if reason else "It has not ended yet."


def tuning_cards(histories: Sequence[History], level: int = 3) -> list[Markup]:
    """Return everything about the runs of one tuner: the result, rounds, weights; details are those of the best run."""
    best = best_history(histories)
    objectives = _course(best, [one.objective or 0.0 for one in best.rounds], "objective")
    sizes = _course(best, [one.norm for one in best.rounds], "sum of absolute weights")
    return [
        card("Result", _result(best), *_seeds(histories), level=level),
        columns(
            card("Scores by round", figure(_score_lines(histories, best), HALF), _rounds(best), level=level),
            card("Weights", *_weights(best), note="the largest in the best round", level=level),
        ),
        columns(
            card("Objective", figure(objectives, HALF), level=level),
            card("Size of the weights", figure(sizes, HALF), level=level),
        ),
    ]


def trajectories(histories: Mapping[str, History]) -> Markup:
    """Return several tunings in one plot: the score by which a round was chosen."""
    metrics = " or ".join(sorted({history.metric for history in histories.values()}))
    lines = Lines(
        [Series(name, list(enumerate(one.scores))) for name, one in histories.items()], "round", metrics, whole=True
    )
    rows: list[list[Cell]] = [
        [name, fixed(one.scores[0]), fixed(one.best_score), one.best, fixed(one.seconds, 1), one.stopped]
        for name, one in histories.items()
    ]
    header = ["tuning", "start", "best", "round", CPU_SECONDS, "stopped"]
    return columns(figure(lines, HALF), table(header, rows, description="tunings", optional=[5]))


def _result(best: History) -> Markup:
    chosen = "the tuning set" if best.start.dev_score is None else "the development set"
    gain = best.best_score - best.scores[0]
    return tag(
        "div",
        facts([
            (f"{best.metric} of {chosen}", fixed(best.best_score)),
            ("at the start", fixed(best.scores[0])),
            ("change", fixed(gain, sign=True)),
            ("best round", f"{best.best} of {len(best.rounds)}"),
            ("CPU seconds", fixed(best.seconds, 1)),
        ]),
        paragraph(f"Seed {best.seed}. {ending(best.stopped)}", class_="note"),
        class_="stack",
    )  # fmt: skip


def _seeds(histories: Sequence[History]) -> list[Child]:
    if len(histories) == 1:
        return []
    best = best_history(histories)
    rows: list[list[Cell]] = [
        [one.seed, len(one.rounds), one.best, fixed(one.best_score), fixed(one.seconds, 1), one.stopped]
        for one in histories
    ]
    one = spread([history.best_score for history in histories])
    extremes = f"min {one.minimum:.2f}, max {one.maximum:.2f}, mean {one.mean:.2f}"
    header = ["seed", "rounds", "best round", histories[0].metric, CPU_SECONDS, "stopped"]
    place = next(place for place, history in enumerate(histories) if history is best)
    return [
        paragraph(f"{one.runs} runs: {extremes}, σ {one.deviation:.2f} (of a sample)."),
        table(header, rows, description="runs", optional=[5], best=place),
    ]


def _score_lines(histories: Sequence[History], best: History) -> Lines:
    """Return the curves of the best run, others thin behind them."""
    others = [Series("", list(enumerate(one.scores))) for one in histories if one is not best]
    curves = [Series("tuning set", [(one.number, one.score) for one in best.all_rounds])]
    if best.start.dev_score is not None:
        curves.append(Series("development set", list(enumerate(best.scores))))
    return Lines([*others, *curves], "round", best.metric, (best.best, "best round"), whole=True)


def _rounds(history: History) -> Markup:
    """Return a table of the last rounds and the best."""
    shown = {history.best, *range(len(history.rounds) - MOST_ROWS + 1, len(history.rounds) + 1)}
    kept = [one for one in history.rounds if one.number in shown]
    developed = any(one.dev_score is not None for one in kept)
    header = ["round", "objective", f"{history.metric} before", "after", *(["development"] if developed else [])]
    rows: list[list[Cell]] = [
        [
            one.number,
            one.objective,
            fixed(history.all_rounds[one.number - 1].score),
            fixed(one.score),
            *(["" if one.dev_score is None else fixed(one.dev_score)] if developed else []),
            one.hypotheses,
            one.new,
            fixed(one.search_seconds, 1),
            fixed(one.tuning_seconds, 1),
        ]
        for one in kept
    ]
    best = next((place for place, one in enumerate(kept) if one.number == history.best), -1)
    width = len(header)
    numbers = table(
        [*header, "hypotheses", "new", "search s", "tuning s"], rows, description="rounds",
        optional=range(width, width + 4), best=best,
    )  # fmt: skip
    return tag("details", tag("summary", "all numbers of the rounds"), numbers)


def _course(history: History, values: Sequence[float], name: str) -> Lines:
    points = [(one.number, value) for one, value in zip(history.rounds, values, strict=True)]
    return Lines([Series(name, points)], "round", name, whole=True, height=200, named=False)


def _weights(history: History) -> list[Child]:
    """Return a table of the largest weights with a small curve each, and behind it their values in several rounds."""
    weights, last = history.weights(history.best), len(history.rounds)
    ranked = sorted(weights, key=lambda name: (-abs(weights[name]), name))
    names = ranked[:MOST_WEIGHTS]
    courses = {name: [float(history.weights(number).get(name, 0.0)) for number in range(last + 1)] for name in names}
    rows: list[list[Cell]] = [
        [
            name,
            fixed(own[0], 4),
            fixed(own[history.best], 4),
            fixed(own[history.best] - own[0], 4, sign=True),
            spark(own),
        ]
        for name, own in courses.items()
    ]
    header = ["weight", "start", "best round", "change", "by round"]
    more = f"{len(ranked) - len(names):,} smaller weights are not shown."
    step = last // MOST_COLUMNS + 1  # a history may have a thousand rounds
    numbers = sorted({0, history.best, *range(last, 0, -step)})
    head = ["weight", *("start" if not number else f"round {number}" for number in numbers)]
    values = [[name, *(own[number] for number in numbers)] for name, own in courses.items()]
    return [
        table(header, rows, description="weights", optional=[3]),
        paragraph(more, class_="note") if len(ranked) > len(names) else None,
        tag("details", tag("summary", "weights in single rounds"), table(head, values, description="weights by round"))
        if last > 1
        else None,
    ]


def refinement_cards(history: History) -> list[Markup]:
    """Return the result of a refinement, a plot if there are several iterations, and a table."""
    best = history.best_round
    settings = history.configuration.get("settings", {})
    listed = ", ".join(f"{name} {value}" for name, value in settings.items() if name != KIND)
    result = facts([
        ("BLEU of the development set", fixed(best.score)),
        ("before", fixed(history.start.score)),
        ("change", fixed(best.score - history.start.score, sign=True)),
        ("best iteration", f"{best.number} of {len(history.rounds)}" if best.number else "none is better"),
    ])  # fmt: skip
    return [
        card(
            "Result",
            result,
            paragraph(ending(history.stopped), class_="note"),
            paragraph(f"Settings: {listed}.", class_="note") if listed else None,
        ),
        card(
            "Iterations", figure(_iterations(history)) if len(history.rounds) > 1 else None, _iteration_table(history)
        ),
    ]


def _iterations(history: History) -> Lines:
    """Return the score on the development set beside the expected score on the training set."""
    rounds = history.all_rounds
    expected = [(one.number, 100.0 * one.details["expected"]) for one in rounds if "expected" in one.details]
    curves = [
        Series("development", [(one.number, one.score) for one in rounds]),
        *([Series("expected, training", expected)] if expected else []),
    ]
    return Lines(curves, "iteration (0: before)", "BLEU", (history.best, "best"), whole=True)


def _iteration_table(history: History) -> Markup:
    rows: list[list[Cell]] = [
        [
            one.number,
            ", ".join(one.trained) or "baseline",
            fixed(100.0 * one.details["expected"]) if one.objective is not None else "",
            fixed(one.details["best_of_lists"]) if one.objective is not None else "",
            fixed(one.score),
            fixed(one.seconds, 1),
        ]
        for one in history.all_rounds
    ]
    header = ["iteration", "trained", "expected BLEU", "best of lists", "development BLEU", CPU_SECONDS]
    return table(header, rows, description="iterations", best=history.best)
