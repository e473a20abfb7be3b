"""What a page shows before, during and in place of a result: nothing yet, progress, what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toledo.view.controls import button
from toledo.view.markup import Child, Markup, tag
from toledo.view.tables import fixed

MINUTE = 60.0


def empty(sentence: str, *advice: Child, command: str = "", action: Child = None) -> Markup:
    """Return one sentence about what is missing, what can be dropped here, a button, and the command for it."""
    code = tag("p", tag("code", command)) if command else None
    return tag("div", tag("strong", sentence), tag("p", *advice), action, code, class_="state")


@dataclass(frozen=True)
class Alert:
    """What is wrong, where, what to do, and what was kept."""

    title: str
    detail: str = ""
    where: str = ""
    kept: str = ""
    line: int | None = None  # of the input, to go there


def alert(one: Alert, place: str = "problem") -> Markup:
    """Return an error, to which a page moves the focus."""
    go = None if one.line is None else button(f"Go to line {one.line}", data_do="line", data_line=one.line)
    return tag(
        "section",
        tag(
            "div",
            tag("strong", one.title),
            tag("p", one.detail) if one.detail else None,
            tag("p", one.where, class_="note") if one.where else None,
            tag("p", one.kept) if one.kept else None,
            go,
            class_="alert",
            role="alert",
            tabindex=-1,
        ),
        id=place,
    )


@dataclass(frozen=True)
class Meter:
    """How far work is: `rate` is in `unit` a second; `left` are seconds."""

    what: str
    done: float
    total: float | None = None
    rate: float | None = None
    left: float | None = None
    unit: str = "segments"
    job: str = ""  # what Stop ends


def progress(one: Meter, events: str = "", place: str = "progress") -> Markup:
    """Return a meter, with rate and time left where they are known; `events` is where news of it are read."""
    total = "" if one.total is None else f" of {one.total:,.0f}"
    share = 0.0 if not one.total else 100 * min(one.done / one.total, 1.0)
    meter = tag(
        "svg", tag("rect", width=100, height=6, class_="track"), tag("rect", width=share, height=6, class_="bar"),
        viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true", class_="meter",
    )  # fmt: skip
    stop = button("Stop", data_do="stop", data_job=one.job, data_key="Escape") if one.job else None
    words = [] if one.rate is None else [f"{fixed(one.rate, 1 if one.rate < 10 else 0)} {one.unit} a second"]
    words += [] if one.left is None else [f"{duration(one.left)} to go"]
    return tag(
        "section",
        tag("div", tag("span", one.what), tag("span", f"{one.done:,.0f}{total}"), class_="row spread"),
        meter,
        tag("div", tag("span", ", ".join(words), class_="note"), stop, class_="row spread"),
        class_="card progress",
        id=place,
        data_events=events or None,
        role="status",
    )


def duration(seconds: float) -> str:
    """Return a time in words that do not change too often."""
    if seconds < MINUTE:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / MINUTE)} min"


def nothing(*places: str) -> Sequence[Markup]:
    """Return empty parts, which take what was there off a page."""
    return [tag("section", id=place, hidden=True) for place in places]
