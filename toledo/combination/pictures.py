"""Pages on combined segments: their networks, why a text was chosen, what each system says, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toledo.combination.explanation import LEVEL, ExplainedSegment, SystemPart, VotedWord
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.network import NOTHING, letter, letters, network, voters
from toledo.view.page import Page, card, columns
from toledo.view.plots import HALF, Bar, Bars, Dot, Dots, figure
from toledo.view.tables import Cell, fixed, table
from toledo.view.text import against, common_words, segment, written_words

EXPLANATION = (
    "The letters below a word are the systems that vote for it, the number is the sum of their shares, and – means no"
    " word. Frames mark the path of the result. Of all networks of a segment, that of the result is shown."
)
PARTS = (
    "Share: the weight of a system's vote, as tuned. Part in the results: what its votes are of all votes for the words"
    " that were chosen, on average over words; a system that speaks for what is chosen has a larger part than share."
    f" Intervals are from bootstrapping the segments, {LEVEL:.0%}: how much the part depends on which segments were"
    " combined. A good system that agrees with another one needs no large share."
)
SHOWN_TEXTS = 8  # different outputs; further ones are folded
RANKS = ("runner-up", "third", "fourth")


def explanation_page(
    segments: Sequence[ExplainedSegment], systems: Sequence[SystemPart], weights: Mapping[str, float]
) -> Page:
    """Return a page with combined segments, the systems and the weights of features."""
    page = Page("Combined outputs", EXPLANATION)
    for one in segments:
        page.heading(f"Segment {one.number}")
        page.add(*segment_cards(one, [system.name for system in systems]))
    if all(one.part is None for one in systems):
        page.heading("Weights")
        page.add(weight_cards({one.name: one.share for one in systems}, weights))
    else:
        page.heading("Systems", PARTS)
        page.add(columns(part_card(systems), feature_card(weights)))
    return page


def segment_cards(one: ExplainedSegment, systems: Sequence[str]) -> list[Markup]:
    """Return the result of a segment, its network, why it was chosen, and what each system says differently."""
    texts: list[tuple[Child, Child]] = [("combination", tag("p", one.text or tag("i", "empty"), class_="text"))]
    texts += [("source", one.source)] if one.source else []
    texts += [("reference", text) for text in one.references]
    cards = [card("Result", tag("div", segment(None, texts, quiet=range(1, len(texts))), class_="segments"))]
    cards += [card("Network", network(one.columns, systems))] if one.columns else []
    return [*cards, *_why(one, len(systems)), *_outputs(one, systems)]


def part_card(systems: Sequence[SystemPart]) -> Markup:
    """Return the parts of systems in the results, the largest first, with intervals and beside their shares."""
    order = sorted(range(len(systems)), key=lambda place: -(systems[place].part or 0.0))
    dots = [
        Dot(f"{letter(place)} {one.name}", one.part or 0.0, one.low, one.high, fixed(one.share, 3))
        for place, one in ((place, systems[place]) for place in order)
    ]
    return card("Parts and shares of systems", figure(Dots(dots, "part in the results", note="share", digits=3), HALF))


def weight_cards(shares: Mapping[str, float], weights: Mapping[str, float]) -> Markup:
    """Return the shares of systems, with their letters, beside the weights of features."""
    bars = [Bar(f"{letter(place)} {name}", [share]) for place, (name, share) in enumerate(shares.items())]
    return columns(card("Shares of systems", figure(Bars(bars, "share", digits=3), HALF)), feature_card(weights))


def feature_card(weights: Mapping[str, float]) -> Markup:
    """Return the weights of features that are not 0."""
    rows: list[list[Cell]] = [[name, fixed(float(weight), 4)] for name, weight in weights.items() if weight]
    return card("Weights of features", table(["feature", "weight"], rows, description="weights of features"))


def _why(one: ExplainedSegment, systems: int) -> list[Markup]:
    """Return what speaks for the result and against the runner-up, and the scores of all texts that were compared."""
    if one.result is None:
        return []
    paths = [one.result, *one.rivals]
    names = list(dict.fromkeys(name for path in paths for name in path.parts))
    titles = ["result", *RANKS[: len(one.rivals)]]
    rows: list[list[Cell]] = [
        [title, fixed(path.score, 3), *(fixed(path.parts.get(name, 0.0), 3) for name in names)]
        for title, path in zip(titles, paths, strict=True)
    ]
    texts: list[tuple[Child, Child]] = [("result", " ".join(one.result.text))]
    texts += [(title, against(path.text, one.result.text)) for title, path in zip(titles[1:], one.rivals, strict=True)]
    scores = card(
        "Best texts and their scores",
        tag("div", segment(None, texts), class_="segments"),
        table(["", "score", *names], rows, description="scores of texts", best=0),
        note="marked words differ from the result; a score is the sum of its parts",
    )
    if not one.rivals:
        return [scores]
    margin = one.result.score - one.rivals[0].score
    rival = "runner-up" if margin >= 0 else "text with the best score"
    bars = [Bar(name, [value]) for name, value in one.reasons.items() if abs(value) >= 0.0005]
    reasons = card(
        f"Why not the {rival}" if margin >= 0 else "Beside the text with the best score",
        figure(Bars(bars, "difference of scores", digits=3, sign=True), HALF),
        note=f"the result is {'ahead' if margin >= 0 else 'behind'} by {fixed(abs(margin), 3)}",
    )
    chosen: list[list[Cell]] = [[_said(left, systems), _said(right, systems)] for left, right in one.choices]
    choices = card(
        "Where they differ", table(["result", rival], chosen, description=f"words of the result and of the {rival}")
    )
    return [columns(reasons, choices), scores]


def _said(words: Sequence[VotedWord], systems: int) -> Markup:
    """Return words with their votes and voters."""
    parts = [
        join(tag("b", one.word), f" {fixed(one.votes)} ", tag("span", voters(one.systems, systems), class_="note"))
        for one in words
    ]
    return join(*parts, between=" · ") if parts else join(NOTHING)


def _outputs(one: ExplainedSegment, systems: Sequence[str]) -> list[Markup]:
    """Return what the systems say, those with the same words together, the closest to the result first."""
    words, references = written_words(one.text), [written_words(text) for text in one.references]
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(systems):
        if name in one.outputs:
            groups.setdefault(one.outputs[name], []).append(place)
    order = sorted(groups, key=lambda text: (-len(groups[text]), -sum(common_words(written_words(text), words)[0])))
    texts = [(_named(groups[text], systems), against(written_words(text), words, references)) for text in order]
    note = "marked words differ from the combination; bold ones are in a reference"
    shown = [texts[:SHOWN_TEXTS], texts[SHOWN_TEXTS:]]
    cards = [tag("div", segment(None, some), class_="segments") for some in shown if some]
    found = [card("Outputs", cards[0], note=note)] if cards else []
    return [*found, *(card(f"{len(shown[1])} more outputs", more, fold=True) for more in cards[1:])]


def _named(places: Sequence[int], systems: Sequence[str]) -> Markup:
    """Return the letter and the name of a system, or the letters of several and their number."""
    names = ", ".join(systems[place] for place in places)
    number = f"{len(places)} systems" if len(places) > 1 else names
    return tag("span", tag("span", letters(places), class_="tag"), f" {number}", title=names)
