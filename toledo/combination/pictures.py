"""Pictures of confusion networks: columns of words, their votes and voters, and the path of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from toledo.combination.combiner import Combiner
from toledo.combination.lines import CombinedLine
from toledo.combination.network import NULL, Arcs, NetworkPath, arc_votes
from toledo.forest.drawing import text_width
from toledo.reports.page import Page
from toledo.text.vocabulary import Vocabulary

NOTHING = "–"
LINE, BOX, GAP, MARGIN, DOT, STEP, PADDING, NUMBER = 40.0, 26.0, 10.0, 12.0, 2.6, 5.8, 14.0, 26.0
ROW = 920.0  # width of a page
COLORS = (
    "#3b6fb6", "#c8452f", "#4f9d57", "#8a5bb0", "#c28a1d", "#2a9aa8", "#b54d86", "#7a7a7a", "#8c5a3c", "#1d3f73",
    "#e88f7d", "#9fd08f", "#c9a8e8", "#f0c95a", "#8fdbe3", "#f2a3cd", "#bdbdbd", "#5b7d1e", "#7a1f1f", "#000000",
)  # fmt: skip
STYLE = """
  text { font: 13px "Helvetica Neue", Helvetica, Arial, "Noto Sans", sans-serif; fill: #22304a; text-anchor: middle; }
  .votes { font-size: 9px; fill: #66728a; }
  .nothing { fill: #8b94a7; }
  .box { stroke: #c3cee3; }
  .chosen { stroke: #c8452f; stroke-width: 2; }
  .way { fill: none; stroke: #c8452f; stroke-width: 1.5; opacity: .5; }
"""

EXPLANATION = (
    "The dots below a word are the systems that vote for it. The share of a system is the weight of its vote (a good"
    " system that agrees with another one needs no large share); the number below a word is the sum of the shares of"
    " its systems. – means no word. Red frames mark the path of the result. Of all networks of a segment, that of the"
    " result is shown."
)


@dataclass(frozen=True)
class ShownArc:
    """A word (or none) in a column: its votes, its systems, and whether it is on the path of the result."""

    word: str
    votes: float
    systems: tuple[int, ...]
    chosen: bool


@dataclass(frozen=True)
class ShownSegment:
    """A combined segment with its network and the texts beside it."""

    number: int
    text: str
    columns: Sequence[Sequence[ShownArc]]
    outputs: Mapping[str, str]
    references: Sequence[str] = ()
    source: str = ""


def columns_of(path: NetworkPath, vocabulary: Vocabulary, shares: Sequence[float]) -> list[list[ShownArc]]:
    """Return the columns of a network, in each the arcs with most votes first."""
    arcs: Arcs = path.network.arcs()
    votes, chosen = arc_votes(arcs, np.asarray(shares)), set(path.arcs)
    columns: list[list[ShownArc]] = [[] for _ in range(path.network.columns)]
    for arc, word in enumerate(arcs.words.tolist()):
        systems = arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]].tolist()
        shown = NOTHING if word == NULL else vocabulary.word(word)
        columns[arcs.columns[arc]].append(ShownArc(shown, float(votes[arc]), tuple(systems), arc in chosen))
    return [sorted(column, key=lambda one: -one.votes) for column in columns]


def shown_segment(combiner: Combiner, number: int, line: CombinedLine, beside: Sequence[Sequence[str]]) -> ShownSegment:
    """Return a combined segment for the page; `beside` are the lines of the source, then those of each reference."""
    path = combiner.path(line.combined)
    columns = columns_of(path, combiner.vocabulary, combiner.second.weights.sigma.tolist()) if path else []
    outputs = {
        name: " ".join(own[0].words) if own else "" for name, own in zip(combiner.systems, line.outputs, strict=True)
    }
    source, *references = ([*text[number : number + 1], ""][0] for text in beside)
    return ShownSegment(number, line.text, columns, outputs, references, source)


def network_svg(columns: Sequence[Sequence[ShownArc]], systems: Sequence[str]) -> str:
    """Return the picture of one network: the more votes a box has, the darker it is; its dots are the systems."""
    widths = [max(map(_width, column), default=0.0) for column in columns]
    lefts = np.concatenate([[MARGIN], MARGIN + np.cumsum([width + GAP for width in widths])]).tolist()
    height = 2 * MARGIN + LINE * max((len(column) for column in columns), default=1)
    parts, way = [], []
    for left, width, column in zip(lefts, widths, columns, strict=False):
        for row, one in enumerate(column):
            top = MARGIN + LINE * row
            parts.append(_box(one, left, top, width, systems))
            if one.chosen:
                way.append(f"{left:.0f},{top + BOX / 2:.0f} {left + width:.0f},{top + BOX / 2:.0f}")
    line = f'<polyline class="way" points="{" ".join(way)}"/>' if way else ""
    total = lefts[-1] + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {total:.0f} {height:.0f}" role="img" aria-label="confusion network of {len(columns)} columns">\n'
        f"<style>{STYLE}</style>\n{line}\n" + "\n".join(parts) + "\n</svg>"
    )


def network_page(
    title: str, segments: Sequence[ShownSegment], shares: Mapping[str, float], weights: Mapping[str, float]
) -> Page:
    """Return a page with the networks of segments, the shares of systems and the weights of features."""
    page = Page(title)
    page.paragraph(EXPLANATION)
    page.markup(legend(shares))
    for segment in segments:
        page.heading(f"Segment {segment.number}")
        add_segment(page, segment, list(shares))
    page.heading("Weights")
    page.table(["feature", "weight"], [[name, weight] for name, weight in weights.items() if weight])
    return page


def add_segment(page: Page, segment: ShownSegment, systems: Sequence[str]) -> None:
    """Add the network of a segment, in rows, and the texts beside it."""
    for part in _rows(segment.columns):
        page.picture(network_svg(part, systems), "confusion network")
    rows = [["combination", segment.text], *([["source", segment.source]] if segment.source else [])]
    rows += [["reference", text] for text in segment.references]
    page.table(["", "text"], [*rows, *([name, text] for name, text in segment.outputs.items())])


def _rows(columns: Sequence[Sequence[ShownArc]]) -> list[Sequence[Sequence[ShownArc]]]:
    """Return a network in pieces that are as wide as a page."""
    rows: list[list[Sequence[ShownArc]]] = [[]]
    left = ROW
    for column in columns:
        width = max(map(_width, column), default=0.0) + GAP
        if width > left and rows[-1]:
            rows.append([])
            left = ROW
        rows[-1].append(column)
        left -= width
    return [*rows]


def _width(one: ShownArc) -> float:
    """Return room for the word, and below it for a dot of each system and a number."""
    return max(text_width(one.word) + PADDING, STEP * len(one.systems) + NUMBER)


def legend(shares: Mapping[str, float]) -> str:
    """Return the colors of systems and their shares."""
    parts = (
        f'<span style="white-space: nowrap; margin-right: 1.2rem"><svg width="12" height="12">'
        f'<circle cx="6" cy="6" r="5" fill="{COLORS[number % len(COLORS)]}"/></svg> {escape(name)}: {share:.3f}</span>'
        for number, (name, share) in enumerate(shares.items())
    )
    return f"<p>{' '.join(parts)}</p>"


def _box(one: ShownArc, left: float, top: float, width: float, systems: Sequence[str]) -> str:
    names = ", ".join(systems[number] for number in one.systems)
    strength = min(max(one.votes, 0.0), 1.0)
    fill = f"rgb({246 - 90 * strength:.0f},{248 - 62 * strength:.0f},{252 - 14 * strength:.0f})"
    kind = "box chosen" if one.chosen else "box"
    middle = left + width / 2
    dots = "".join(
        f'<circle cx="{left + DOT + 1.0 + place * STEP:.1f}" cy="{top + BOX + 6:.1f}" r="{DOT}"'
        f' fill="{COLORS[system % len(COLORS)]}"/>'
        for place, system in enumerate(one.systems)
    )
    return (
        f"<g><title>{escape(one.word)}: {one.votes:.3f} ({escape(names)})</title>"
        f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BOX}" rx="5" fill="{fill}"/>'
        f'<text class="{"nothing" if one.word == NOTHING else "word"}" x="{middle:.1f}" y="{top + 17:.1f}">'
        f'{escape(one.word)}</text><text class="votes" x="{left + width - 12:.1f}" y="{top + BOX + 9:.1f}">'
        f"{one.votes:.2f}</text>{dots}</g>"
    )
