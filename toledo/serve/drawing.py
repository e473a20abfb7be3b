"""The picture of a kept forest: placed once for a threshold, then sent in windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from toledo.forest.assemble import prune_by_posterior
from toledo.forest.drawing import drawn_edges, to_dot, to_svg
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import distribution
from toledo.serve.deciding import DecidableForest
from toledo.serve.problems import too_large
from toledo.serve.types import ForestRequest, ForestWindow, PlacedEdge, PlacedNode, six
from toledo.view.forest import DISTANCE, GAP, MARGIN, boxes_of
from toledo.view.layout import Point, place

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

MOST_EDGES = 5000  # that are placed
MOST_DRAWINGS = 4  # kept with a forest
BYTES_PER_EDGE = 2000  # of a drawing
LONGEST_TEXT = 200


@dataclass(frozen=True, eq=False)
class ForestLayout:
    """The likeliest part of a forest with all its places."""

    forest: Forest
    scores: Scores
    share: float
    width: float
    height: float
    nodes: list[PlacedNode]
    edges: list[PlacedEdge]


def window_of(engine: Engine, key: str, asked: ForestRequest) -> ForestWindow:
    """Return what is seen of the drawing of a kept forest in a window."""
    space = engine.forests.get(key)
    layout = _kept_layout(engine, key, space, asked)
    window = (asked.x, asked.y, asked.width, asked.height)
    return ForestWindow(
        id=key, nodes=space.forest.nodes, edges=space.forest.edges, drawn=len(layout.edges), share=layout.share,
        width=layout.width, height=layout.height, view=asked.view, goal=layout.forest.nodes - 1, window=window,
        placed_nodes=[one for one in layout.nodes if _inside(window, [(one.x, one.y)])],
        placed_edges=[_seen(one, asked) for one in layout.edges if _inside(window, _points(one))],
    )  # fmt: skip


def _kept_layout(engine: Engine, key: str, space: DecidableForest, asked: ForestRequest) -> ForestLayout:
    """Return the drawing for a threshold and a scale; the last ones are kept with the forest."""
    scale = asked.scale or space.own_scale or 1.0
    place = asked.posterior, scale
    layout: ForestLayout | None = space.drawings.get(place)
    if layout is None:
        layout = _place(space, asked.posterior, scale)
        if len(space.drawings) >= MOST_DRAWINGS:
            space.drawings = {}
        else:
            engine.forests.grow(key, BYTES_PER_EDGE * len(layout.edges))
        space.drawings[place] = layout
    return layout


def picture_of(engine: Engine, key: str, asked: ForestRequest) -> str:
    """Return the drawing as a file: SVG, or Graphviz' language."""
    layout = _kept_layout(engine, key, engine.forests.get(key), asked)
    return (to_svg if asked.format == "svg" else to_dot)(layout.forest, layout.scores)


def _place(space: DecidableForest, posterior: float, scale: float) -> ForestLayout:
    scores = scale * space.scores(space.weights)
    forest, share = _pruned(space.forest, scores, posterior)
    own = scale * forest.scores(space.weights, 1)
    if forest.edges > MOST_EDGES:
        title = f"{forest.edges} edges are too many to draw"
        too_large("too-many-edges", title, f"At most {MOST_EDGES}; raise the posterior.", "/posterior")
    drawn = drawn_edges(forest, own, MOST_EDGES)
    boxes, lines = boxes_of(forest.nodes, drawn)
    found = place(boxes, lines, GAP, DISTANCE)
    paths: dict[int, list[list[Point]]] = {}
    for (start, end), path in zip(lines, found.lines, strict=True):
        paths.setdefault(max(start, end), []).append([_moved(point) for point in path])
    shown = [one for one in drawn if one.shown]
    edges = [
        PlacedEdge(
            number=one.number, label=one.label, text=one.text[:LONGEST_TEXT], posterior=six(one.posterior or 0.0),
            best=one.best, x=_moved(found.centers[box])[0], y=_moved(found.centers[box])[1], width=boxes[box].width,
            height=boxes[box].height, tails=list(one.tails), head=one.head, lines=paths.get(box, []),
        )
        for box, one in enumerate(shown, start=forest.nodes)
    ]  # fmt: skip
    nodes = [
        PlacedNode(number=number, x=_moved(center)[0], y=_moved(center)[1])
        for number, center in enumerate(found.centers[: forest.nodes])
    ]
    width, height = found.width + 2 * MARGIN, found.height + 2 * MARGIN
    return ForestLayout(forest, own, share, round(width, 1), round(height, 1), nodes, edges)


def _pruned(forest: Forest, scores: Scores, posterior: float) -> tuple[Forest, float]:
    """Return the likeliest part of a forest, and how much of the probability it holds."""
    if not posterior:
        return forest, 1.0
    pruned = prune_by_posterior(forest, scores, posterior)
    return pruned, 1.0 if pruned.edges == forest.edges else _share(forest, scores, posterior)


def _share(forest: Forest, scores: Scores, posterior: float) -> float:
    given = distribution(forest.shape, scores, threads=1)
    kept = prune_by_posterior(_numbered(forest), scores, posterior).provenance
    own = np.full(forest.edges, -np.inf)
    if kept is not None:
        own[kept] = scores[kept]
    left = distribution(forest.shape, own, threads=1).log_partition[0]
    return six(min(1.0, float(np.exp(left - given.log_partition[0]))))


def _numbered(forest: Forest) -> Forest:
    """Return a forest whose edges remember their numbers."""
    return replace(forest, provenance=np.arange(forest.edges))


def _moved(point: Point) -> Point:
    return round(point[0] + MARGIN, 1), round(point[1] + MARGIN, 1)


def _points(edge: PlacedEdge) -> list[Point]:
    return [(edge.x, edge.y), *(point for line in edge.lines for point in line)]


def _inside(window: tuple[float, float, float, float], points: list[Point]) -> bool:
    """Whether the box around some points touches the window."""
    left, top, width, height = window
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs) <= left + width and max(xs) >= left and min(ys) <= top + height and max(ys) >= top


def _seen(edge: PlacedEdge, asked: ForestRequest) -> PlacedEdge:
    """Return an edge as it is seen: without its words from far."""
    if asked.view == "near":
        return edge
    return msgspec.structs.replace(edge, label="", text="")
