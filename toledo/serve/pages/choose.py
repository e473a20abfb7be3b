"""Choose: the text that agrees most with all others, how much each pair agrees, and the ranking of all texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import View, ViewRequest, lines_of, parts
from toledo.serve.pages.examples import example_button
from toledo.serve.pages.standalone import standalone
from toledo.serve.types import ChooseRequest, ChooseResult, ChooseSegment, ChosenSegment, SkippedLine
from toledo.view.agreement import Agreement
from toledo.view.controls import button, choices, step_buttons
from toledo.view.markup import Markup, tag
from toledo.view.network import letter
from toledo.view.page import card, columns
from toledo.view.shell import Shell
from toledo.view.states import Alert, alert, empty, nothing
from toledo.view.tables import Cell, facts, fixed, table, wide
from toledo.view.text import against, difference, spaced, written_words
from toledo.view.translations import ShownWord, shown_text

METRICS = {"chrf": "chrF", "bleu": "BLEU", "ter": "TER"}
ABOUT = "The text that agrees most with all the others, by expected score. No model and no reference needed."
COMMAND = "toledo choose samples.jsonl"
MOST_SHOWN = 100  # segments of the table
PARTS = ("problem", "choice", "agreement", "pair", "ranking", "segments")


def frame(engine: Engine) -> str:
    """Return the page before anything was asked."""
    entry = tag(
        "details",
        tag("summary", "Samples"),
        tag(
            "div",
            tag("textarea", name="samples", id="samples", rows=8, spellcheck="false", dir="auto",
                aria_label="Samples: lines, JSONL, or a response of an OpenAI-compatible server"),
            tag("details", tag("summary", "Scores of my own"),
                tag("textarea", name="utilities", id="utilities", rows=4, spellcheck="false",
                    aria_label="A matrix of scores: a line for each sample, a number for each sample")),
            tag("div", button("Choose", "main", data_do="go", title="Ctrl-Enter"), _open("Open a file"),
                tag("span", "one text on each line, lists as JSONL, or a response of an OpenAI-compatible server",
                    class_="note"), class_="row"),
            class_="body",
        ),
        class_="card", open=True, id="entry",
    )  # fmt: skip
    middle = columns(tag("div", nothing("agreement", "pair"), class_="stack wide"), nothing("ranking")[0])
    return Shell("choose", ABOUT, ready=engine.ready).html(
        *nothing("problem"), entry, _start(engine), nothing("choice"), middle, nothing("segments")
    )


def _open(text: str, **attributes: str) -> Markup:
    field = tag("input", type="file", aria_label=text, multiple=True, **attributes)
    return tag("label", text, field, class_="button")


def _start(engine: Engine) -> Markup:
    text = empty(
        "Nothing to choose from yet",
        "Drop a file of lists here, or paste texts above.",
        command=COMMAND,
        action=example_button(engine, "choose"),
    )
    return tag("section", text, id="start", class_="card")


@dataclass(frozen=True)
class ShownSamples:
    """A segment as it is shown: its texts with their names and words."""

    result: ChooseResult
    segment: ChosenSegment
    asked: ViewRequest
    place: int

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return METRICS.get(self.result.metric, self.result.metric)

    @property
    def expected(self) -> str:
        """The name of expected scores."""
        return f"exp. {self.metric}"

    @property
    def chosen(self) -> int:
        """The place of the chosen text among the distinct ones."""
        return 0 if self.segment.choice is None else self.segment.places[self.segment.choice]

    @property
    def ranked(self) -> list[int]:
        """The texts, the best first; of equal ones the chosen one, then the first."""
        values, sign = self.segment.expected, -1 if self.result.higher_is_better else 1
        known = [place for place, value in enumerate(values) if value is not None]
        return sorted(known, key=lambda place: (sign * (values[place] or 0.0), place != self.chosen, place))

    @property
    def letters(self) -> dict[int, str]:
        """The letters of texts, in the order of the matrix."""
        order = self.segment.order or range(len(self.segment.texts))
        return {text: letter(place) for place, text in enumerate(order)}

    def name(self, text: int) -> str:
        """Return the name of a text: the samples that it is."""
        own = [place + 1 for place, one in enumerate(self.segment.places) if one == text]
        return f"sample {own[0]}{f' and {len(own) - 1} more' if len(own) > 1 else ''}" if own else f"text {text + 1}"

    @property
    def pair(self) -> tuple[int, int]:
        """The two texts that are shown beside each other: the choice and the last one at first."""
        number = len(self.segment.texts)
        one, _, other = self.asked.text("pair").partition("-")
        if one.isdecimal() and other.isdecimal() and max(int(one), int(other)) < number and one != other:
            return int(one), int(other)
        return self.chosen, (self.ranked or [0])[-1]


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for samples."""
    text = asked.texts.get("samples", "").strip() or "\n".join(one.text for one in asked.files)
    if not text.strip():
        return parts(*nothing(*PARTS), _start(engine))
    result = await actions.choose(engine, _request(asked, text), call, {})
    if not result.segments:
        return parts(*nothing(*PARTS[1:], "start"), _problems(result.problems, 0))
    place = asked.place("segment", len(result.segments) + 1, 1) - 1
    shown = ShownSamples(result, result.segments[max(place, 0)], asked, max(place, 0))
    if asked.save == "nbest":
        return View(content=nbest_list(result), name="choices.nbest", media="text/plain; charset=utf-8")
    drawn = [_problems(result.problems, len(result.segments)), _choice(shown), *_agreement(shown), _ranking(shown)]
    drawn += [_segments(shown)]
    return standalone("Choose", ABOUT, drawn) if asked.save else parts(*nothing("start"), *drawn)


def _request(asked: ViewRequest, text: str) -> ChooseRequest:
    """Read what was pasted or dropped: a response, lists, or plain lines; a matrix of one's own goes with lines."""
    metric = asked.one_of("metric", METRICS, "chrf")
    how: dict[str, Any] = {"metric": metric, "matrix": True, "clusters": True}
    if (responses := _responses(text)) is not None:
        return ChooseRequest(responses=responses, **how)
    if text.lstrip()[0] in '{["':
        return ChooseRequest(text=text, **how)
    lines: list[Any] = [line for line in lines_of(text) if line.strip()]
    utilities = _matrix(asked.texts.get("utilities", ""))
    return ChooseRequest(segments=[ChooseSegment(hypotheses=lines, utilities=utilities)], **how)


def _responses(text: str) -> list[dict[str, Any]] | None:
    """Return responses of an OpenAI-compatible server, alone or in a list, if that is what the text is."""
    if text.lstrip()[0] not in "{[":
        return None
    try:
        found = msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return None
    some = found if isinstance(found, list) else [found]
    return some if some and all(isinstance(one, dict) and "choices" in one for one in some) else None


def _matrix(text: str) -> list[list[float]] | None:
    """Read a matrix of numbers; what is not a number is refused by the library, which names its place."""
    rows = [line.replace(",", " ").split() for line in lines_of(text) if line.strip()]
    return msgspec.convert(rows, list[list[float]], strict=False) if rows else None


def nbest_list(result: ChooseResult) -> str:
    """Return all texts, the best first, as `toledo choose` writes them as an n-best list."""
    lines = []
    for number, segment in enumerate(result.segments):
        shown = ShownSamples(result, segment, ViewRequest(), number)
        texts = ((segment.texts[one].replace("\n", " "), segment.expected[one]) for one in shown.ranked)
        lines += [f"{number} ||| {text} ||| {score:.6f}\n" for text, score in texts]
    return "".join(lines)


def _problems(problems: Sequence[SkippedLine], kept: int) -> Markup:
    """Return what could not be read, and what was kept."""
    if not problems:
        return nothing("problem")[0]
    first, others = problems[0], len(problems) - 1
    where = f"and {others} more" if others else ""
    remains = f"The other {kept:,} segments are kept." if kept else "Nothing is left to choose from."
    title = first.message if first.line is None else f"Line {first.line}: {first.message}"
    return alert(Alert(title, first.remedy, where, remains, first.line))


def _choice(shown: ShownSamples) -> Markup:
    segment, values = shown.segment, shown.segment.expected
    best = values[shown.chosen]
    figures: list[tuple[str, str]] = [
        (f"expected {shown.metric}", "–" if best is None else fixed(best, 1)),
        ("ahead of the next by", "–" if segment.ahead is None else fixed(segment.ahead)),
        ("from", segment.system or shown.name(shown.chosen)),
        ("texts, distinct", f"{len(segment.hypotheses)}, {len(segment.texts)}"),
    ]
    apart = _stands_apart(segment)
    figures += [] if apart is None else [("stands apart", f"{shown.letters[apart]}, {shown.name(apart)}")]
    metric = choices("metric", METRICS, shown.result.metric, "Agreement by")
    text = tag("div", shown_text(_words(segment, shown.chosen)), class_="choice")
    steps = step_buttons(shown.place, len(shown.result.segments), "pair=")
    note = [steps, tag("span", tag("span", "agreement by ", class_="optional"), metric)]
    return card("The choice", text, facts(figures), note=tag("span", note, class_="row"), level=2, id="choice")


def _stands_apart(segment: ChosenSegment) -> int | None:
    """Return the text that the tree joins last, if it is a single one and there are others to stand apart from."""
    if not segment.tree or len(segment.texts) < 3:
        return None
    return next((one for one in segment.tree[-1][:2] if one < len(segment.texts)), None)


def _words(segment: ChosenSegment, chosen: int) -> list[ShownWord]:
    """Return the words of the choice with the probability that a sample has them."""
    owned = [set(written_words(text)) for text in segment.texts]
    words = written_words(segment.texts[chosen])

    def share(word: str) -> float:
        return min(sum(p for p, own in zip(segment.probabilities, owned, strict=True) if word in own), 1.0)

    return [ShownWord(word, [share(word)]) for word in words]


def _agreement(shown: ShownSamples) -> list[Markup]:
    segment = shown.segment
    if segment.matrix is None or len(segment.texts) < 2:
        return list(nothing("agreement", "pair"))
    names = [shown.name(place) for place in range(len(segment.texts))]
    order = segment.order or list(range(len(names)))
    matrix = Agreement(names, segment.matrix, order, segment.tree or [], shown.chosen, shown.pair,
                       higher_is_better=shown.result.higher_is_better)  # fmt: skip
    drawn = wide(matrix.draw(wide=shown.asked.width > 360), "agreement of all pairs")
    note = tag("span", "each row as hypothesis, each column as evidence", class_="optional")
    return [card("Agreement", drawn, matrix.key(shown.metric), note=note, level=2, id="agreement"), _pair(shown)]


def _pair(shown: ShownSamples) -> Markup:
    segment, (one, other) = shown.segment, shown.pair
    texts = difference(written_words(segment.texts[one]), written_words(segment.texts[other]))
    rows = [
        (tag("dt", f"{shown.letters[place]} {shown.name(place)}"), tag("dd", text, dir="auto"))
        for place, text in zip((one, other), texts, strict=True)
    ]
    score = segment.matrix[one][other] if segment.matrix else 0.0
    note = f"{shown.metric} {fixed(score, 1)}; marked words are in one of them only"
    return card("Two texts", tag("dl", rows, class_="pair"), note=note, level=2, id="pair")


def _ranking(shown: ShownSamples) -> Markup:
    segment, order = shown.segment, shown.ranked
    best = segment.expected[order[0]] if order else None
    first = written_words(segment.texts[order[0]]) if order else []
    rows: list[list[Cell]] = []
    for rank, text in enumerate(order, 1):
        value, words = segment.expected[text], written_words(segment.texts[text])
        shown_words = spaced(words) if rank == 1 else against(words, first)
        name = tag("small", f"{shown.letters[text]} {shown.name(text)}")
        behind = "" if rank == 1 or best is None or value is None else fixed(value - best, 2, sign=True)
        rows.append([rank, tag("div", name, tag("div", shown_words, dir="auto")),
                     "" if value is None else fixed(value, 1), behind])  # fmt: skip
    picks = [f"pair={shown.chosen}-{text}" if text != shown.chosen else "pair=" for text in order]
    selected = order.index(shown.pair[1]) if shown.pair[0] == shown.chosen and shown.pair[1] in order else -1
    found = table(["#", "text", shown.expected, ""], rows, description="ranking", best=selected, picks=picks)
    save = button("n-best list", "quiet", data_do="save", data_part="nbest", data_name="choices.nbest")
    return card("Ranking", found, note=save, level=2, id="ranking")


def _segments(shown: ShownSamples) -> Markup:
    """Return the choices of all segments."""
    if len(shown.result.segments) == 1:
        return nothing("segments")[0]
    some = shown.result.segments[:MOST_SHOWN]
    rows: list[list[Cell]] = [
        [number if one.id is None else str(one.id), one.text, len(one.hypotheses),
         "" if one.choice is None else fixed(one.expected[one.places[one.choice]] or 0.0, 1),
         "" if one.ahead is None else fixed(one.ahead)]
        for number, one in enumerate(some, 1)
    ]  # fmt: skip
    head = ["segment", "choice", "texts", shown.expected, "ahead"]
    picks = [f"segment={number}&pair=" for number in range(1, len(rows) + 1)]
    found = table(head, rows, description="all segments", optional=[2, 4], best=shown.place, picks=picks)
    cut = f", the first {MOST_SHOWN}" if len(some) < len(shown.result.segments) else ""
    return card("All segments", found, note=f"{len(shown.result.segments):,}{cut}", level=2, id="segments")
