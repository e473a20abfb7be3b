"""Small forests: nodes are circles, the goal a double one; edges lead from left to right through the words they write.

An edge with several tails gathers them at its words, where ①, ② … stand for the text of its tails. With scores, every
edge shows its posterior probability, lines are as strong as it, and the best derivation is in color.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toledo.view.layout import Box, Placement, Point, place
from toledo.view.markup import Markup, join, tag
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
    centers = placement.centers
    ends: dict[int, list[tuple[Point, bool, list[Point]]]] = {}
    for (start, end), path in zip(lines, placement.lines, strict=True):
        ends.setdefault(max(start, end), []).append((centers[min(start, end)], start > end, path))
    numbered = sorted(enumerate(shown, start=nodes), key=lambda pair: (pair[1].best, pair[1].posterior or 0.0))
    for box, edge in numbered:
        yield _group(edge, _edge_lines(edge, boxes[box], centers[box], ends.get(box, [])))
    for box, edge in numbered:
        yield _group(edge, _edge_label(edge, boxes[box], centers[box]))
    for node in range(nodes):
        yield _node(centers[node], node == nodes - 1)


def _node(center: Point, is_goal: bool) -> Markup:
    x, y = center
    inner = tag("circle", cx=x, cy=y, r=RADIUS - 3, class_="node") if is_goal else None
    return join(tag("circle", cx=x, cy=y, r=RADIUS, class_="node"), inner)


def _group(edge: Drawn, parts: Iterable[Markup]) -> Markup:
    return tag("g", tag("title", edge.text), parts, class_="best" if edge.best else None)


def _edge_lines(
    edge: Drawn, box: Box, center: Point, ends: Iterable[tuple[Point, bool, list[Point]]]
) -> Iterator[Markup]:
    """Yield the lines of an edge: `ends` are its nodes, whether each is its head, and the way to or from it."""
    strength = 0.5 if edge.posterior is None else math.sqrt(max(edge.posterior, 0.0))
    side, rise = box.width / 2 if edge.label else DOT, _rise(edge)
    x, y = center
    for node, is_head, path in ends:
        marker = None
        if is_head:
            tip = node[0] - RADIUS - 1, path[-1][1]
            points = [(x + side, y - rise), (path[0][0], y - rise), *path[1:-1], tip]
            marker = f"url(#{'best-' if edge.best else ''}arrow)"
        else:
            points = [(node[0] + RADIUS, path[0][1]), *path[:-1], (path[-1][0], y - rise), (x - side, y - rise)]
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
class PlacedDrawn:
    """An edge with its place in a drawing: its box, the middle of it, a line from each tail, and one to its head."""

    edge: Drawn
    box: Box
    center: Point
    lines: Sequence[Sequence[Point]]


def forest_window(
    nodes: Mapping[int, Point], goal: int, edges: Sequence[PlacedDrawn], size: tuple[float, float], name: str
) -> Markup:
    """Return what a window shows of a placed forest; `size` is that of the whole drawing, `name` that of the forest.

    Nodes are given by their numbers.
    """
    ranked = sorted(edges, key=lambda one: (one.edge.best, one.edge.posterior or 0.0))
    return tag(
        "svg",
        tag("defs", _arrow("arrow"), _arrow("best-arrow")),
        [_group(one.edge, _edge_lines(one.edge, one.box, one.center, _ends(one, nodes))) for one in ranked],
        [_group(one.edge, _edge_label(one.edge, one.box, one.center)) for one in ranked],
        [_node(center, number == goal) for number, center in nodes.items()],
        class_="forest", role="img", aria_label=f"the likeliest {len(edges)} edges of the forest", data_width=size[0],
        data_height=size[1], data_name=name, data_own="viewBox",
    )  # fmt: skip


def _ends(one: PlacedDrawn, nodes: Mapping[int, Point]) -> Iterator[tuple[Point, bool, list[Point]]]:
    """Yield the nodes of an edge that are known, with the ways from its tails and to its head."""
    for node, line in zip((*one.edge.tails, one.edge.head), one.lines, strict=False):
        if node in nodes:
            yield nodes[node], node == one.edge.head, list(line)
