"""Small forests: nodes are circles, the goal a double one; edges lead from left to right through the words they write.

An edge with several tails gathers them at its words, where ①, ② … stand for the text of its tails. With scores, every
edge shows its posterior probability, lines are as strong as it, and the best derivation is in color.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toledo.view.layout import Box, Placement, Point, place
from toledo.view.markup import Markup, tag
from toledo.view.svg import Drawing, drawing, label, text_width

RADIUS, DOT, LINE = 7.0, 3.0, 18.0
WORD, SMALL = 13.0, 10.5  # sizes of letters
MARGIN, GAP, DISTANCE = 12.0, 26.0, 14.0


@dataclass(frozen=True)
class Drawn:
    """An edge as it is shown."""

    number: int
    head: int
    tails: tuple[int, ...]
    label: str  # "" if the edge writes no words
    text: str  # the whole of it, with features
    posterior: float | None
    best: bool
    shown: bool  # an edge that only says that something begins here is not

    @property
    def value(self) -> str:
        """The posterior as text."""
        return "" if self.posterior is None else f"{self.posterior:.2f}"


def forest_drawing(nodes: int, edges: Sequence[Drawn]) -> Drawing:
    """Return the picture of a forest with that many nodes, in which children come before their parents."""
    boxes, lines = boxes_of(nodes, edges)
    placement = place(boxes, lines, GAP, DISTANCE)
    parts = _parts(nodes, edges, boxes, lines, placement)
    return drawing(
        placement.width + 2 * MARGIN,
        placement.height + 2 * MARGIN,
        f"forest with {len(edges)} edges",
        tag("defs", _arrow("arrow"), _arrow("best-arrow")),
        tag("g", parts, transform=f"translate({MARGIN:.0f},{MARGIN:.0f})"),
        class_="forest",
    )


def _arrow(name: str) -> Markup:
    return tag(
        "marker", tag("path", d="M0,1 L7,4 L0,7 Z", class_=name), id=name, viewBox="0 0 8 8", refX=7, refY=4,
        markerWidth=8, markerHeight=8, markerUnits="userSpaceOnUse", orient="auto",
    )  # fmt: skip


def boxes_of(nodes: int, edges: Sequence[Drawn]) -> tuple[list[Box], list[tuple[int, int]]]:
    """Return boxes of nodes, then of edges; lines from tails to edges, and from edges to heads."""
    depths = [0] * nodes
    for edge in edges:  # children come first
        if edge.shown:
            depths[edge.head] = max([depths[edge.head], 1, *(depths[tail] + 1 for tail in edge.tails)])
    boxes = [Box(2 * depth, 2 * RADIUS, 2 * RADIUS) for depth in depths]
    lines = []
    for edge in edges:
        if not edge.shown:
            continue
        box = len(boxes)
        width = text_width(edge.label, WORD) + 18 if edge.label else max(text_width(edge.value, SMALL), 4 * DOT)
        height = LINE + 4 if edge.label else 3 * DOT
        boxes.append(Box(2 * depths[edge.head] - 1, width, height + (11 if edge.value else 0)))
        lines += [(tail, box) for tail in edge.tails]
        lines.append((box, edge.head))
    return boxes, lines


def _parts(
    nodes: int, edges: Sequence[Drawn], boxes: list[Box], lines: list[tuple[int, int]], placement: Placement
) -> Iterator[Markup]:
    """Yield lines first, so that labels and nodes lie above them; the best derivation above the others."""
    shown = [edge for edge in edges if edge.shown]
    points: dict[int, list[tuple[int, int, list[Point]]]] = {}
    for (start, end), path in zip(lines, placement.lines, strict=True):
        points.setdefault(max(start, end), []).append((start, end, path))
    numbered = sorted(enumerate(shown, start=nodes), key=lambda pair: (pair[1].best, pair[1].posterior or 0.0))
    for box, edge in numbered:
        yield _group(edge, _edge_lines(edge, box, boxes, placement.centers, points.get(box, [])))
    for box, edge in numbered:
        yield _group(edge, _edge_label(edge, boxes[box], placement.centers[box]))
    for node in range(nodes):
        x, y = placement.centers[node]
        yield tag("circle", cx=x, cy=y, r=RADIUS, class_="node")
        if node == nodes - 1:
            yield tag("circle", cx=x, cy=y, r=RADIUS - 3, class_="node")


def _group(edge: Drawn, parts: Iterable[Markup]) -> Markup:
    return tag("g", tag("title", edge.text), parts, class_="best" if edge.best else None)


def _edge_lines(
    edge: Drawn, box: int, boxes: list[Box], centers: list[Point], paths: list[tuple[int, int, list[Point]]]
) -> Iterator[Markup]:
    strength = 0.5 if edge.posterior is None else math.sqrt(max(edge.posterior, 0.0))
    side, rise = boxes[box].width / 2 if edge.label else DOT, _rise(edge)
    x, y = centers[box]
    for start, end, path in paths:
        marker = None
        if start == box:
            tip = centers[end][0] - RADIUS - 1, path[-1][1]
            points = [(x + side, y - rise), (path[0][0], y - rise), *path[1:-1], tip]
            marker = f"url(#{'best-' if edge.best else ''}arrow)"
        else:
            ends = (path[-1][0], y - rise), (x - side, y - rise)
            points = [(centers[start][0] + RADIUS, path[0][1]), *path[:-1], *ends]
        yield tag(
            "path", d=_curve(points), class_="line", stroke_width=1 + 2 * strength, opacity=0.35 + 0.65 * strength,
            marker_end=marker,
        )  # fmt: skip


def _rise(edge: Drawn) -> float:
    """Return how far a label lies above the middle of its box, whose lower part is for the number."""
    return 5.5 if edge.value and edge.label else 0.0


def _curve(points: list[tuple[float, float]]) -> str:
    """Return a smooth line that is level at every point."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x, y), (next_x, next_y) in pairwise(points):
        if abs(y - next_y) < 0.05 or abs(x - next_x) < 0.05:
            parts.append(f"L{next_x:.1f},{next_y:.1f}")
            continue
        middle = (x + next_x) / 2
        parts.append(f"C{middle:.1f},{y:.1f} {middle:.1f},{next_y:.1f} {next_x:.1f},{next_y:.1f}")
    return " ".join(parts)


def _edge_label(edge: Drawn, box: Box, center: tuple[float, float]) -> Iterator[Markup]:
    x, y = center[0], center[1] - _rise(edge)
    if edge.label:
        width, height = box.width, LINE + 4
        yield tag("rect", x=x - width / 2, y=y - height / 2, width=width, height=height, rx=height / 2, class_="label")
        yield label(edge.label, x, y + 4.5, "word")
    else:
        yield tag("circle", cx=x, cy=y, r=DOT, class_="dot")
    if edge.value:
        yield label(edge.value, x, y + ((LINE + 4) / 2 + 10 if edge.label else DOT + 10), "value")


@dataclass(frozen=True)
class WindowEdge:
    """An edge with its place in a drawing: the middle of its label, and a line from each tail, then one to the head."""

    label: str
    text: str
    posterior: float
    best: bool
    center: Point
    width: float
    lines: Sequence[Sequence[Point]]


def forest_window(
    nodes: Sequence[Point], edges: Sequence[WindowEdge], size: tuple[float, float], goal: Point | None, name: str
) -> Markup:
    """Return what a window shows of a placed forest; `size` is that of the whole drawing, `name` that of the forest."""
    ranked = sorted(edges, key=lambda one: (one.best, one.posterior))
    lines = [
        tag("g", tag("title", one.text), _placed_lines(one), class_="best" if one.best else None) for one in ranked
    ]
    labels = [
        tag("g", tag("title", one.text), _placed_label(one), class_="best" if one.best else None) for one in ranked
    ]
    circles = [tag("circle", cx=x, cy=y, r=RADIUS, class_="node") for x, y in nodes]
    inner = None if goal is None else tag("circle", cx=goal[0], cy=goal[1], r=RADIUS - 3, class_="node")
    return tag(
        "svg", tag("defs", _arrow("arrow"), _arrow("best-arrow")), lines, labels, circles, inner, class_="forest",
        role="img", aria_label=f"the likeliest {len(edges)} edges of the forest", data_width=size[0],
        data_height=size[1], data_name=name, data_own="viewBox",
    )  # fmt: skip


def _placed_lines(one: WindowEdge) -> Iterator[Markup]:
    strength = math.sqrt(max(one.posterior, 0.0))
    for number, line in enumerate(one.lines):
        marker = f"url(#{'best-' if one.best else ''}arrow)" if number == len(one.lines) - 1 else None
        yield tag(
            "path", d=_curve(list(line)), class_="line", stroke_width=1 + 2 * strength,
            opacity=0.35 + 0.65 * strength, marker_end=marker,
        )  # fmt: skip


def _placed_label(one: WindowEdge) -> Iterator[Markup]:
    (x, y), height = one.center, LINE + 4
    if one.label:
        yield tag("rect", x=x - one.width / 2, y=y - height / 2, width=one.width, height=height, rx=height / 2,
                  class_="label")  # fmt: skip
        yield label(one.label, x, y + 4.5, "word")
    else:
        yield tag("circle", cx=x, cy=y, r=DOT, class_="dot")
    yield label(f"{one.posterior:.2f}", x, y + (height / 2 + 10 if one.label else DOT + 10), "value")
