"""Pages on combined segments: their networks, what each system says, and the shares of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toledo.combination.combiner import Combiner
from toledo.combination.streaming import CombinedLine
from toledo.combination.network import NULL, Arcs, NetworkPath, arc_votes
from toledo.text.vocabulary import Vocabulary
from toledo.view.markup import Child, Markup, tag
from toledo.view.network import NOTHING, Columns, ShownArc, letter, network
from toledo.view.page import Page, card, columns
from toledo.view.plots import HALF, Bar, Bars, figure
from toledo.view.tables import Cell, fixed, table
from toledo.view.text import against, segment

EXPLANATION = (
    "The letters below a word are the systems that vote for it, the number is the sum of their shares, and – means no"
    " word. Frames mark the path of the result. The share of a system is the weight of its vote; a good system that"
    " agrees with another one needs no large share. Of all networks of a segment, that of the result is shown."
)


@dataclass(frozen=True)
class ShownSegment:
    """A combined segment with its network and the texts beside it."""

    number: int
    text: str
    columns: Columns
    outputs: Mapping[str, str]
    references: Sequence[str] = ()
    source: str = ""


def columns_of(path: NetworkPath, vocabulary: Vocabulary, shares: Sequence[float]) -> list[list[ShownArc]]:
    """Return the columns of a network, in each the arcs with most votes first."""
    arcs: Arcs = path.network.arcs()
    votes, chosen = arc_votes(arcs, np.asarray(shares)), set(path.arcs)
    found: list[list[ShownArc]] = [[] for _ in range(path.network.columns)]
    for arc, word in enumerate(arcs.words.tolist()):
        systems = arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]].tolist()
        shown = NOTHING if word == NULL else vocabulary.word(word)
        found[arcs.columns[arc]].append(ShownArc(shown, float(votes[arc]), tuple(systems), arc in chosen))
    return [sorted(column, key=lambda one: -one.votes) for column in found]


def shown_segment(combiner: Combiner, number: int, line: CombinedLine, beside: Sequence[Sequence[str]]) -> ShownSegment:
    """Return a combined segment for the page; `beside` are the lines of the source, then those of each reference."""
    path = combiner.path(line.combined)
    found = columns_of(path, line.combined.lattice.forest.vocabulary, combiner.second.weights.sigma.tolist()) if path else []
    outputs = {
        name: " ".join(own[0].words) if own else "" for name, own in zip(combiner.systems, line.outputs, strict=True)
    }
    source, *references = ([*text[number : number + 1], ""][0] for text in beside)
    return ShownSegment(number, line.text, found, outputs, references, source)


def network_page(
    title: str, segments: Sequence[ShownSegment], shares: Mapping[str, float], weights: Mapping[str, float]
) -> Page:
    """Return a page with combined segments, the shares of systems and the weights of features."""
    page = Page(title, EXPLANATION)
    for one in segments:
        page.heading(f"Segment {one.number}")
        page.add(*segment_cards(one, list(shares)))
    page.heading("Weights")
    page.add(weight_cards(shares, weights))
    return page


def segment_cards(one: ShownSegment, systems: Sequence[str]) -> list[Markup]:
    """Return the texts of a segment, with what each system says differently, and its network."""
    words, references = one.text.split(), [text.split() for text in one.references]
    texts: list[tuple[Child, Child]] = [("combination", tag("p", one.text or tag("i", "empty"), class_="text"))]
    texts += [("source", one.source)] if one.source else []
    texts += [("reference", text) for text in one.references]
    beside = range(1, len(texts))
    texts += [
        (_named(place, name), against(one.outputs[name].split(), words, references))
        for place, name in enumerate(systems)
        if name in one.outputs
    ]
    note = "marked words differ from the combination; bold ones are in a reference"
    cards = [card("Texts", tag("div", segment(None, texts, quiet=beside), class_="segments"), note=note)]
    return [*cards, card("Network", network(one.columns, systems))] if one.columns else cards


def weight_cards(shares: Mapping[str, float], weights: Mapping[str, float]) -> Markup:
    """Return the shares of systems, with their letters, beside the weights of features."""
    bars = [Bar(f"{letter(place)} {name}", [share]) for place, (name, share) in enumerate(shares.items())]
    rows: list[list[Cell]] = [[name, fixed(float(weight), 4)] for name, weight in weights.items() if weight]
    return columns(
        card("Shares of systems", figure(Bars(bars, "share", digits=3), HALF)),
        card("Weights of features", table(["feature", "weight"], rows, description="weights of features")),
    )


def _named(place: int, name: str) -> Markup:
    return tag("span", tag("span", letter(place), class_="tag"), f" {name}")
