"""Combine: the network of several outputs with its votes, the result, and how both follow the shares of systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import NamedText, View, ViewRequest, lines_of, parts
from toledo.serve.pages.examples import example_button
from toledo.serve.pages.given_files import file_table, roles_of
from toledo.serve.pages.standalone import standalone
from toledo.serve.types import CombinedSegment, CombineRequest, CombineResult, SystemScore
from toledo.view.controls import Slider, button, select, sliders, step_buttons
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.network import NOTHING, ShownArc, letter, network, network_drawing
from toledo.view.page import card
from toledo.view.scores import badge
from toledo.view.shell import Shell
from toledo.view.states import empty, nothing
from toledo.view.svg import svg_file
from toledo.view.tables import Cell, fixed, table
from toledo.view.text import against, segment, written_words
from toledo.view.translations import ShownWord, shown_text

ROLES = {"system": "system", "reference": "reference"}
METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
ABOUT = "Outputs of several systems, word by word: who votes for what, and the text that wins."
COMMAND = "toledo combine run combination a.en b.en c.en"
PARTS = ("problem", "result", "outputs", "shares", "features", "scores")
AROUND, LEAST_ROOM = 200, 560  # pixels around the network, and those that it has at least
MOST_SHARE = 1.0
REACH = 2.0  # a weight can be moved that far from zero, at least


def frame(engine: Engine) -> str:
    """Return the page before anything was asked."""
    left = tag("div", _entry(ViewRequest(), engine), _start(engine), nothing("result", "outputs"), class_="stack wide")
    right = tag("div", nothing("shares", "features", "scores"), class_="stack wide")
    return Shell("combine", ABOUT, ready=engine.ready).html(
        *nothing("problem"), tag("div", left, right, class_="main-side")
    )


def _entry(asked: ViewRequest, engine: Engine) -> Markup:
    names = {"": "equal shares", **{name: name for name in engine.combinations}}
    tuned = select("combination", names, asked.text("combination"), "Weights") if engine.combinations else None
    return card("Files", file_table(asked, ROLES), tuned, level=2, fold=True, open=True, id="entry")


def _start(engine: Engine) -> Markup:
    advice = "Drop the outputs of two systems or more here, and a reference if there is one."
    text = empty("Nothing to combine yet", advice, command=COMMAND, action=example_button(engine, "combine"))
    return tag("section", text, id="start", class_="card")


@dataclass(frozen=True)
class ShownCombination:
    """A segment of a combination; `place` is its place among all."""

    result: CombineResult
    segment: CombinedSegment
    asked: ViewRequest
    place: int
    number: int
    reference: str | None

    @property
    def columns(self) -> list[list[ShownArc]]:
        """The network as it is drawn: without systems that have no share, and words that only they have."""
        names, shares = self.result.systems, self.result.shares
        voting = {place for place, name in enumerate(names) if shares.get(name, 1.0) > 0}
        drawn = [
            [
                ShownArc(arc.word or NOTHING, arc.votes, tuple(sorted(voting.intersection(arc.systems))), arc.chosen)
                for arc in column
            ]
            for column in self.segment.columns
        ]
        kept = [[arc for arc in column if arc.systems or arc.chosen] for column in drawn]
        return [column for column in kept if any(arc.word != NOTHING for arc in column)]


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for outputs."""
    request = _request(asked)
    if request is None:
        return parts(*nothing(*PARTS), _start(engine), _entry(asked, engine))
    number = max(len(texts) for texts in request.systems.values())
    place = max(asked.place("segment", number + 1, 1) - 1, 0)
    reference = request.references[place] if request.references and place < len(request.references) else None
    if asked.quick:
        result = await actions.combine(engine, _only(request, place), call, {})
        shown = ShownCombination(result, result.segments[0], asked, place, number, reference)
        return parts(_result(shown), _outputs(shown))
    result = await actions.combine(engine, request, call, {})
    shown = ShownCombination(result, result.segments[place], asked, place, number, reference)
    if asked.save == "network":
        return View(content=svg_file(network_drawing(shown.columns, result.systems)), name="network.svg",
                    media="image/svg+xml")  # fmt: skip
    if asked.save == "text":
        lines = "".join(f"{one.text}\n" for one in result.segments)
        return View(content=lines, name="combined.txt", media="text/plain; charset=utf-8")
    drawn = [_result(shown), _outputs(shown), _shares(shown), _features(shown), _scores(result)]
    return (
        standalone("Combine", ABOUT, drawn)
        if asked.save
        else parts(*nothing("problem", "start"), _entry(asked, engine), *drawn)
    )


def _request(asked: ViewRequest) -> CombineRequest | None:
    """Return what the files ask for, or None if there are too few."""
    roles = roles_of(asked, ROLES)
    systems = [one for one in asked.files if roles[one.name] == "system"]
    references: Sequence[NamedText] = [one for one in asked.files if roles[one.name] == "reference"]
    if len(systems) < 2:
        return None
    return CombineRequest(
        systems={one.name: lines_of(one.text) for one in systems},
        references=lines_of(references[0].text) if references else None,
        combination=asked.text("combination") or None,
        shares=asked.numbers("share."),
        weights=asked.numbers("weight."),
    )


def _only(request: CombineRequest, place: int) -> CombineRequest:
    """Return the request for one segment, as a slider that moves asks for it."""
    return CombineRequest(
        systems={name: texts[place : place + 1] for name, texts in request.systems.items()},
        combination=request.combination, shares=request.shares, weights=request.weights,
    )  # fmt: skip


def _result(shown: ShownCombination) -> Markup:
    one, room = shown.segment, max(shown.asked.width - AROUND, LEAST_ROOM)
    words = [ShownWord(word, [votes]) for word, votes in zip(one.words, one.votes, strict=True)]
    texts: list[tuple[Child, Child]] = [("reference", shown.reference)] if shown.reference else []
    note = tag(
        "span", step_buttons(shown.place, shown.number),
        button("SVG", "quiet", data_do="save", data_part="network", data_name="network.svg", aria_label="Save as SVG"),
        button("Text", "quiet", data_do="save", data_part="text", data_name="combined.txt",
               aria_label="Save all results as text"),
        class_="row",
    )  # fmt: skip
    key = tag(
        "p", tag("span", "letters: who votes; number: their shares; frame: the result; – : no word here"), class_="key"
    )
    reference = tag("div", segment(None, texts, quiet=[0]), class_="segments") if texts else None
    return card("Result", tag("div", shown_text(words), class_="choice"), reference,
                network(shown.columns, shown.result.systems, room), key, note=note, level=2, id="result")  # fmt: skip


def _outputs(shown: ShownCombination) -> Markup:
    words = written_words(shown.segment.text)
    references = [written_words(shown.reference)] if shown.reference else []
    texts: list[tuple[Child, Child]] = [
        (join(tag("span", letter(place), class_="tag"), " ", name), against(written_words(text), words, references))
        for place, (name, text) in enumerate(zip(shown.result.systems, shown.segment.outputs, strict=True))
    ]
    note = "marked words differ from the result" + ("; bold ones are in the reference" if references else "")
    return card("Outputs", tag("div", segment(None, texts), class_="segments"), note=note, level=2, id="outputs")


def _shares(shown: ShownCombination) -> Markup:
    shares = shown.result.shares
    each = [
        Slider(f"share.{name}", f"{letter(place)} {name}", shares.get(name, 0.0), 0.0, MOST_SHARE, 0.01)
        for place, name in enumerate(shown.result.systems)
    ]
    clear = "&".join(f"{quote(f'share.{name}')}=" for name in shown.result.systems)
    changed = bool(shown.asked.numbers("share."))
    start = "as tuned" if shown.asked.text("combination") else "equal shares"
    return card(
        "Shares of systems", sliders(each), _reset(clear, changed, start), level=2, fold=True, open=True, id="shares"
    )


def _reset(clear: str, changed: bool, start: str = "as tuned") -> Markup:
    return tag(
        "div",
        tag("span", "changed by hand" if changed else start, class_="note"),
        button("Reset", "quiet", data_set=clear, disabled=not changed),
        class_="row spread",
    )


def _features(shown: ShownCombination) -> Markup:
    weights = shown.result.weights
    if not weights:
        return nothing("features")[0]
    reach = max(REACH, math.ceil(2 * max(map(abs, weights.values()))))
    each = [Slider(f"weight.{name}", name, value, -reach, reach, 0.01) for name, value in weights.items()]
    changed = bool(shown.asked.numbers("weight."))
    clear = "&".join(f"{quote(f'weight.{name}')}=" for name in weights)
    return card("Weights of features", sliders(each), _reset(clear, changed), level=2, fold=True, open=True,
                id="features")  # fmt: skip


def _scores(result: CombineResult) -> Markup:
    if not result.scores:
        return nothing("scores")[0]
    rows: list[list[Cell]] = [[_scored(one), fixed(one.score)] for one in result.scores]
    metric = METRICS.get(result.metric or "", result.metric or "")
    found = table(["", metric], rows, description="scores")
    how = f"Badges: what the combination is ahead by. {result.note}" if result.note else None
    note = tag("p", how, class_="note") if how else None
    return card("Scores", found, note, level=2, fold=True, open=True, id="scores")


def _scored(one: SystemScore) -> Markup:
    """Return the name of a system with what the combination is ahead by."""
    ahead = None if one.difference is None else tag("div", badge(one.difference, one.p))
    return tag("div", one.name, ahead)
