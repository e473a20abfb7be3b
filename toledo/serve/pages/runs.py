"""Runs: scores by round of all runs below some directories, as they grow, and what one run did to its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import View, ViewRequest, parts, tsv
from toledo.serve.pages.standalone import standalone
from toledo.serve.work_types import RunResult, RunsRequest, RunsResult, RunSummary
from toledo.view.controls import button
from toledo.view.curves import Lines, Series, spark
from toledo.view.markup import Markup, tag
from toledo.view.page import card, columns
from toledo.view.plots import NARROW, figure
from toledo.view.shell import Shell
from toledo.view.states import empty, nothing
from toledo.view.tables import Cell, fixed, shown, table

ABOUT = "Tunings and refinements, round by round, while they run."
MOST_CURVES, MOST_STREAMS, MOST_WEIGHTS, MOST_COMPARED = 6, 4, 15, 6
AROUND = 80  # pixels around a plot
STATES = {"running": "running", "done": "done", "broken": "cut off"}
PARTS = ("problem", "chart", "runs", "detail")


def frame(engine: Engine) -> str:
    """Return the page; what it shows is there already."""
    search = tag("input", type="search", name="filter", id="filter", data_key="/", aria_label="Filter by name",
                 placeholder="Filter by name or regular expression ( / )")  # fmt: skip
    return Shell("runs", ABOUT, ask=True, ready=engine.ready).html(
        *nothing("problem"), tag("div", search, tag("output", id="count", class_="note"), class_="row"),
        *nothing("start", "chart", "runs", "detail", "streams"),
    )  # fmt: skip


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for the runs that match."""
    found = await actions.runs(engine, RunsRequest(filter=asked.text("filter")), call, {})
    if not found.runs:
        return parts(_start(found, asked), *nothing(*PARTS, "streams"), _count(found))
    if asked.save == "runs":
        return _saved(found.runs)
    chosen = next((one for one in found.runs if one.id == asked.text("run")), found.runs[0])
    compared = [await actions.run(engine, None, call, {"id": one.id}) for one in _compared(found.runs, chosen)]
    drawn = [_chart(found.runs, chosen, asked.width - AROUND), _table(found.runs, chosen), _detail(compared)]
    if asked.save:
        return standalone("Runs", ABOUT, drawn)
    return parts(*nothing("problem", "start"), _count(found), *drawn, _streams(found.runs))


def _compared(runs: Sequence[RunSummary], chosen: RunSummary) -> list[RunSummary]:
    """Return the run that is shown, then others to compare its settings with."""
    return [chosen, *(one for one in runs if one is not chosen and one.state != "broken")][:MOST_COMPARED]


def _start(found: RunsResult, asked: ViewRequest) -> Markup:
    if asked.text("filter"):
        text = empty("No run matches", "Change the filter above.")
    elif found.directories:
        text = empty("There are no runs yet", "They appear here as soon as a tuning writes its first round.")
    else:
        text = empty("No directory of runs is served", "Name folders of tunings when the server is started.")
    return tag("section", text, id="start", class_="card")


def _count(found: RunsResult) -> Markup:
    running = sum(one.state == "running" for one in found.runs)
    return tag("output", f"{running} running, {len(found.runs) - running} ended", id="count", class_="note")


def _chart(runs: Sequence[RunSummary], chosen: RunSummary, room: int) -> Markup:
    """Return the scores of runs by round: those of one metric, the first few in color, others thin."""
    same = [one for one in runs if one.metric == chosen.metric and one.scores]
    ranked = sorted(same, key=lambda one: one is not chosen)
    curves = [
        Series(one.name if place < MOST_CURVES else "", list(enumerate(one.scores)), ended=one.state != "running")
        for place, one in enumerate(ranked)
    ]
    named = [one for one in curves if one.name]
    lines = Lines([*(one for one in curves if not one.name), *named], "round (0: start)", chosen.metric,
                  (float(chosen.best_round), f"best of {chosen.name}"), whole=True)  # fmt: skip
    others = len(runs) - len(same)
    note = f"dashed: running{f'; {others} runs have other metrics' if others else ''}"
    content = figure(lines, max(room, NARROW)) if same else tag("p", "No round has ended yet.", class_="note")
    return card(f"{chosen.metric} by round", content, note=note, level=2, id="chart")


def _table(runs: Sequence[RunSummary], chosen: RunSummary) -> Markup:
    rows: list[list[Cell]] = [
        [
            one.name,
            one.tuner,
            "" if one.best_score is None else fixed(one.best_score),
            f"{one.best_round} of {one.rounds}",
            fixed(one.cpu_seconds, 1),
            _state(one),
        ]
        for one in runs
    ]
    best = next(place for place, one in enumerate(runs) if one is chosen)
    header = ["run", "tuner", "best", "round", "CPU s", "state"]
    picks = [f"run={quote(one.id)}" for one in runs]
    found = table(header, rows, description="runs", optional=[1, 3, 4], best=best, picks=picks)
    save = button("TSV", "quiet", data_do="save", data_part="runs", data_name="runs.tsv", aria_label="Save as TSV")
    return card("Runs", found, note=save, level=2, id="runs")


def _state(one: RunSummary) -> Markup:
    kind = {"running": "ready", "done": "ready done", "broken": "ready broken"}[one.state]
    return tag("span", STATES[one.state], class_=kind, title=one.note or None)


def _detail(compared: Sequence[RunResult]) -> Markup:
    """Return the weights of a run by round, and the settings in which it differs from others."""
    run = compared[0]
    cut = tag("p", run.summary.note, class_="note") if run.summary.note else None
    weights = card(f"Weights of {run.summary.name}", cut, _weights(run), level=2)
    different = differing_settings(compared)
    names = [one.summary.name for one in compared]
    rows: list[list[Cell]] = [[name, *(shown_setting(one) for one in values)] for name, values in different.items()]
    if rows:
        settings = card("Settings that differ", table(["", *names], rows, description="settings"), level=2)
    else:
        settings = card("Settings", _settings(run.settings), level=2)
    return tag("section", columns(weights, settings), id="detail")


def _weights(run: RunResult) -> Markup:
    last = run.rounds[-1].weights if run.rounds else {}
    names = sorted(last, key=lambda name: (-abs(last[name]), name))[:MOST_WEIGHTS]
    rows: list[list[Cell]] = []
    for name in names:
        course = [one.weights.get(name, 0.0) for one in run.rounds]
        change = fixed(course[-1] - course[0], 4, sign=True)
        rows.append([name, fixed(course[0], 4), fixed(course[-1], 4), change, spark(course)])
    if not rows:
        return tag("p", "No round has ended yet.", class_="note")
    return table(["weight", "start", "now", "change", "by round"], rows, description="weights", optional=[1])


def _settings(settings: Mapping[str, Any]) -> Markup:
    rows: list[list[Cell]] = [[name, shown_setting(value)] for name, value in flat(settings).items()]
    return table(["setting", "value"], rows, description="settings")


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings with names such as `search.beam`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def differing_settings(runs: Sequence[RunResult]) -> dict[str, list[Any]]:
    """Return settings that are not the same in all runs, with their value in each (None where there is none)."""
    each = [flat(one.settings) for one in runs]
    names = dict.fromkeys(name for own in each for name in own)
    values = {name: [own.get(name) for own in each] for name in names}
    return {name: own for name, own in values.items() if any(one != own[0] for one in own)}


def shown_setting(value: Any) -> str:
    """Return a setting as text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shown(value) if isinstance(value, int | float | str) else ", ".join(map(str, value))


def _streams(runs: Sequence[RunSummary]) -> Markup:
    """Name the events that the page follows: those of runs that have not ended."""
    running = [one for one in runs if one.state == "running"][:MOST_STREAMS]
    spans = [tag("span", data_events=f"/api/v1/runs/{quote(one.id)}/events") for one in running]
    return tag("section", spans, id="streams", hidden=True)


def _saved(runs: Sequence[RunSummary]) -> View:
    rows = [
        [one.name, one.tuner, one.metric, one.best_score, one.best_round, one.rounds, one.cpu_seconds, one.state]
        for one in runs
    ]
    return tsv("runs.tsv", [["run", "tuner", "metric", "best", "round", "rounds", "CPU seconds", "state"], *rows])
