"""Pictures of small forests: SVG with a layout of our own, and text for Graphviz.

Nodes are circles, the goal a double one; edges lead from left to right through the words they write. An edge with
several tails gathers them at its words, where ①, ② … stand for the text of its tails. With scores, every edge shows its
posterior probability, lines are as strong as it, and the best derivation is in color.

SVG text of a placed forest: curves, labels, circles.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from toledo.errors import InputError
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import distribution
from toledo.forest.layout import Box, Placement, Point, place

RADIUS, DOT = 7.0, 3.0
LETTER, WIDE_LETTER, LINE = 7.3, 13.0, 18.0
MARGIN, GAP, DISTANCE = 24.0, 26.0, 14.0
INK, BEST_INK = "#6f86b5", "#c8452f"

STYLE = """
  text { font: 13px "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; fill: #22304a; text-anchor: middle; }
  .value { font-size: 10px; fill: #66728a; }
  .tail { fill: #8b94a7; }
  .note { font-size: 11px; fill: #66728a; text-anchor: start; }
  .line { fill: none; stroke: #6f86b5; stroke-linecap: round; }
  .label { fill: #eef2fa; stroke: #c3cee3; }
  .node { fill: #ffffff; stroke: #22304a; stroke-width: 1.6; }
  .dot { fill: #6f86b5; }
  .best .line { stroke: #c8452f; }
  .best .label { fill: #fdeeea; stroke: #e3a598; }
  .best .dot { fill: #c8452f; }
"""


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


def svg_text(nodes: int, edges: list[Drawn], note: str) -> str:
    """Return the whole picture, with a note below it."""
    boxes, lines = _boxes(nodes, edges)
    placement = place(boxes, lines, GAP, DISTANCE)
    width = max(placement.width, LETTER * len(note)) + 2 * MARGIN
    height = placement.height + 2 * MARGIN + (LINE if note else 0.0)
    body = "\n".join(_svg_parts(nodes, edges, boxes, lines, placement))
    footer = f'<text class="note" x="{MARGIN}" y="{height - 12:.0f}">{_xml(note)}</text>\n' if note else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="forest with {len(edges)} edges">\n'
        f"<style>{STYLE}</style>\n<defs>{_arrow('arrow', INK)}{_arrow('best-arrow', BEST_INK)}</defs>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n<g transform="translate({MARGIN},{MARGIN})">\n'
        f"{body}\n</g>\n{footer}</svg>\n"
    )


def printable(text: str) -> str:
    """Text without control characters, which neither XML nor people can read."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _arrow(name: str, color: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,1 L7,4 L0,7 Z" fill="{color}"/></marker>'
    )


def _boxes(nodes: int, edges: list[Drawn]) -> tuple[list[Box], list[tuple[int, int]]]:
    """Boxes of nodes, then of edges; lines from tails to edges, and from edges to heads."""
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
        width = text_width(edge.label) + 16 if edge.label else max(text_width(edge.value) * 0.8, 4 * DOT)
        height = LINE + 4 if edge.label else 3 * DOT
        boxes.append(Box(2 * depths[edge.head] - 1, width, height + (11 if edge.value else 0)))
        lines += [(tail, box) for tail in edge.tails]
        lines.append((box, edge.head))
    return boxes, lines


def _svg_parts(
    nodes: int, edges: list[Drawn], boxes: list[Box], lines: list[tuple[int, int]], placement: Placement
) -> Iterator[str]:
    """Lines first, so that labels and nodes lie above them; the best derivation above the others."""
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
        yield f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>'
        if node == nodes - 1:
            yield f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 3}"/>'


def _group(edge: Drawn, parts: Iterable[str]) -> str:
    opening = '<g class="best">' if edge.best else "<g>"
    return f"{opening}<title>{_xml(edge.text)}</title>{''.join(parts)}</g>"


def _edge_lines(
    edge: Drawn, box: int, boxes: list[Box], centers: list[Point], paths: list[tuple[int, int, list[Point]]]
) -> Iterator[str]:
    strength = 0.5 if edge.posterior is None else math.sqrt(max(edge.posterior, 0.0))
    width, opacity = 1 + 2 * strength, 0.35 + 0.65 * strength
    side, rise = boxes[box].width / 2 if edge.label else DOT, _rise(edge)
    x, y = centers[box]
    for start, end, path in paths:
        if start == box:
            tip = centers[end][0] - RADIUS - 1, path[-1][1]
            points = [(x + side, y - rise), (path[0][0], y - rise), *path[1:-1], tip]
            marker = f' marker-end="url(#{"best-" if edge.best else ""}arrow)"'
        else:
            points = [
                (centers[start][0] + RADIUS, path[0][1]),
                *path[:-1],
                (path[-1][0], y - rise),
                (x - side, y - rise),
            ]
            marker = ""
        yield f'<path class="line" d="{_curve(points)}" stroke-width="{width:.1f}" opacity="{opacity:.2f}"{marker}/>'


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


def _edge_label(edge: Drawn, box: Box, center: tuple[float, float]) -> Iterator[str]:
    x, y = center[0], center[1] - _rise(edge)
    if edge.label:
        width, height = box.width, LINE + 4
        yield (
            f'<rect class="label" x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="{height / 2:.1f}"/>'
        )
        yield f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{_xml(edge.label)}</text>'
    else:
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{DOT}"/>'
    if edge.value:
        below = (LINE + 4) / 2 + 10 if edge.label else DOT + 10
        yield f'<text class="value" x="{x:.1f}" y="{y + below:.1f}">{edge.value}</text>'


def text_width(text: str) -> float:
    """Estimate how wide a text is on the page."""
    return sum(WIDE_LETTER if unicodedata.east_asian_width(letter) in "WF" else LETTER for letter in text)


def _xml(text: str) -> str:
    return escape(printable(text))


MOST_EDGES = 200
LONGEST_LABEL = 40


def to_svg(forest: Forest, scores: Scores | None = None) -> str:
    """Return the forest of one segment as an SVG picture; at most 200 edges."""
    note = "" if scores is None else "Numbers: posterior probabilities. Red: the best derivation."
    return svg_text(forest.nodes, _drawn_edges(forest, scores), note)


def to_dot(forest: Forest, scores: Scores | None = None) -> str:
    """Return the forest of one segment in Graphviz' language; at most 200 edges."""
    lines = ["digraph forest {", "  rankdir=LR;", '  node [shape=circle, label="", width=0.15];']
    lines.append(f"  n{forest.nodes - 1} [shape=doublecircle];")
    for edge in _drawn_edges(forest, scores):
        label = "\\n".join(_dot_escape(part) for part in (edge.label, edge.value) if part)
        style = f'label="{label}"' + (", color=red, penwidth=2" if edge.best else "")
        if len(edge.tails) == 1:
            lines.append(f"  n{edge.tails[0]} -> n{edge.head} [{style}];")
        elif edge.shown:
            lines.append(f"  e{edge.number} [shape=point, width=0.05{', color=red' if edge.best else ''}];")
            lines += [f"  n{tail} -> e{edge.number} [arrowhead=none];" for tail in edge.tails]
            lines.append(f"  e{edge.number} -> n{edge.head} [{style}];")
    return "\n".join([*lines, "}", ""])


def _drawn_edges(forest: Forest, scores: Scores | None) -> list[Drawn]:
    if len(forest) != 1:
        raise ValueError("one segment is drawn at a time")
    if forest.edges > MOST_EDGES:
        raise InputError(
            f"{forest.edges} edges are too many to draw",
            remedy=f"prune the forest to at most {MOST_EDGES} edges first: by score, by posterior, or to a density",
        )
    posteriors = None if scores is None else distribution(forest.shape, scores, threads=1).posteriors.tolist()
    best = None if scores is None else viterbi(forest, scores)[0]
    chosen = set() if best is None else set(best.edges.tolist())
    shape, yields = forest.shape, forest.yields
    drawn = []
    for head in range(forest.nodes):
        for edge in range(int(shape.head_edges[head]), int(shape.head_edges[head + 1])):
            tails = shape.tails[shape.tail_offsets[edge] : shape.tail_offsets[edge + 1]].tolist()
            content = yields.words[yields.offsets[edge] : yields.offsets[edge + 1]].tolist()
            label = _label(forest, content, len(tails))
            text = "; ".join(filter(None, (label, *_feature_texts(forest, edge))))
            value = None if posteriors is None else posteriors[edge]
            alone = shape.head_edges[head + 1] - shape.head_edges[head] == 1 and head < forest.nodes - 1
            shown = bool(tails or label) or not alone
            drawn.append(Drawn(edge, head, tuple(tails), _shortened(label), text, value, edge in chosen, shown))
    return drawn


def _label(forest: Forest, content: list[int], arity: int) -> str:
    """Return the words; places of tails only where there is something to tell apart."""
    if not any(part >= 0 for part in content):
        return ""
    if arity == 1 and content[0] < 0:
        content = content[1:]
    return " ".join(_circled(-part) if part < 0 else forest.vocabulary.word(part) for part in content)


def _feature_texts(forest: Forest, edge: int) -> Iterator[str]:
    values = dict(zip(forest.feature_names, forest.features[edge].tolist(), strict=True))
    if forest.sparse is not None:
        offsets, ids, amounts = forest.sparse.arrays
        for place in range(offsets[edge], offsets[edge + 1]):
            values[forest.sparse.names[ids[place]]] = float(amounts[place])
    if forest.base is not None:
        values["base"] = float(forest.base[edge])
    return (f"{name} {value:.4g}" for name, value in values.items() if value)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _circled(number: int) -> str:
    return chr(0x245F + number) if number <= 20 else f"({number})"


def _dot_escape(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
