"""Scores with their intervals, and differences with their significance."""

from __future__ import annotations

from collections.abc import Sequence

from toledo.view.axes import Scale
from toledo.view.markup import Markup, join, tag
from toledo.view.plots import Dot, interval
from toledo.view.svg import drawing
from toledo.view.tables import fixed

SIGNIFICANT = 0.05
LEAST_P = 0.001  # what a test with a thousand samples can tell
WIDTH, HEIGHT, ROOM = 88, 22, 5


def score(value: float, half_width: float | None = None, digits: int = 2) -> Markup:
    """Return a score with half the width of its interval: **39.31** ± 1.6."""
    beside = None if half_width is None else tag("small", f" ± {fixed(half_width, 1)}")
    return tag("span", tag("b", fixed(value, digits)), beside, class_="score")


def badge(difference: float, p: float | None, higher_is_better: bool = True, digits: int = 2) -> Markup:
    """Return a difference with its p: green if it is significantly better, red if worse, gray if neither.

    The sign is always there. Below, a page has to say which test it was, and how p was corrected for several systems.
    """
    better = (difference > 0) == higher_is_better and difference != 0
    sure = p is not None and p < SIGNIFICANT
    kind = "badge better" if sure and better else "badge worse" if sure and difference else "badge"
    return tag(
        "span", join(fixed(difference, digits, sign=True), None if p is None else f" · {p_text(p)}"), class_=kind
    )


def p_text(p: float) -> str:
    """Return p as text."""
    return f"p ≤ {LEAST_P:g}" if p <= LEAST_P else f"p = {p:.3f}"


def interval_cell(dot: Dot, ends: tuple[float, float], baseline: float | None = None) -> Markup:
    """Return a small drawing of a score and its interval for a cell; `ends` are common to all cells of a column."""
    across = Scale(*ends, ROOM, WIDTH - ROOM)
    hairline = None
    if baseline is not None:
        x = across.place(baseline)
        hairline = tag("line", x1=x, x2=x, y1=0, y2=HEIGHT, class_="axis")
    return drawing(WIDTH, HEIGHT, fixed(dot.value), hairline, interval(dot, across, HEIGHT / 2), class_="spark")


def common_ends(dots: Sequence[Dot]) -> tuple[float, float]:
    """Return the least and the largest value of dots and their intervals."""
    values = [end for one in dots for end in (one.value, one.low, one.high) if end is not None]
    return (min(values), max(values)) if values else (0.0, 1.0)
