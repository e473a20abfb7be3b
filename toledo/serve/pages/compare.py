"""Compare: scores with intervals and tests, where two systems differ, and their segments; all follow a filter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from toledo.reports.scores import Difference, ScoreTable, SystemScores, scores
from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import NamedText, View, ViewRequest, lines_of, parts
from toledo.serve.pages.examples import example_button
from toledo.serve.pages.given_files import file_table, roles_of
from toledo.serve.pages.standalone import standalone
from toledo.serve.work_types import (
    ComparedSegment,
    CompareRequest,
    CountedBar,
    GramDifference,
    KeptComparison,
    PlotRequest,
    PlotResult,
    ScoresRequest,
    ScoresResult,
    SegmentsRequest,
    SegmentsResult,
)
from toledo.view.controls import button, chip, select
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.page import card, columns
from toledo.view.plots import THIRD, Dot, Dots, Histogram, Kind, figure
from toledo.view.shell import Shell
from toledo.view.states import Alert, Meter, alert, empty, nothing, progress
from toledo.view.svg import signed_bar
from toledo.view.tables import fixed
from toledo.view.text import ChoiceLink, difference, difference_key, segment, written_words

METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
SORTS = {
    "-difference": "most gained", "difference": "most lost", "number": "as in the text", "-length": "longest",
    "length": "shortest",
}  # fmt: skip
ABOUT = "Outputs of several systems with a reference: scores, tests, and where they differ."
COMMAND = "toledo compare -r ref.en a.en b.en"
ROWS, EXPORTED = 60, 1000
MOST_GRAMS = 8  # won, and as many lost
FAR = 40.0  # a difference whose bar is full
PATIENCE = 0.4  # seconds that a page waits for a comparison before it shows progress
PARTS = ("problem", "progress", "scores", "plots", "segments")
FILTERS = ("query", "gram", "low", "high", "shortest", "longest")


def frame(engine: Engine) -> str:
    """Return the page before anything was asked."""
    entry = card(
        "Files", file_table(ViewRequest(), ROLES), level=2, fold=True, open=True, id="entry",
    )  # fmt: skip
    start = _start(engine)
    return Shell("compare", ABOUT, ready=engine.ready).html(*nothing("problem"), entry, start, *nothing(*PARTS[1:]))


ROLES = {"system": "system", "reference": "reference", "source": "source"}


def _start(engine: Engine) -> Markup:
    """Return what the page shows before there is anything to compare."""
    text = empty("Nothing to compare yet", "Drop a reference and the outputs of two systems or more here.",
                 command=COMMAND, action=example_button(engine, "compare"))  # fmt: skip
    return tag("section", text, id="start", class_="card")


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for a comparison that is kept, that is under way, or that the files ask for."""
    if found := asked.kept.get("comparison"):
        return await _compared(engine, asked, call, found)
    job = None if asked.fresh else asked.kept.get("job")
    entry = card("Files", file_table(asked, ROLES), level=2, fold=True, open=True, id="entry")
    if job is None:
        request = _request(asked)
        if request is None:
            return parts(*nothing(*PARTS), _start(engine), entry)
        job = (await actions.compare(engine, request, call, {})).job
    return await _awaited(engine, asked, call, job, entry)


def _request(asked: ViewRequest) -> CompareRequest | None:
    """Return what the files ask for, or None if something is missing."""
    roles = roles_of(asked, ROLES)
    by_role: dict[str, list[NamedText]] = {
        role: [one for one in asked.files if roles[one.name] == role] for role in ROLES
    }
    systems, references = by_role["system"], by_role["reference"]
    if len(systems) < 2 or not references:
        return None
    sources = lines_of(by_role["source"][0].text) if by_role["source"] else None
    return CompareRequest(
        systems={one.name: lines_of(one.text) for one in systems},
        references=[lines_of(one.text) for one in references],
        sources=sources,
    )


async def _awaited(engine: Engine, asked: ViewRequest, call: Call, job: str, entry: Markup) -> View:
    """Wait a little for a comparison, then show how far it is."""
    end = time.monotonic() + PATIENCE
    while True:
        found = await actions.job(engine, None, call, {"id": job})
        if isinstance(found.result, KeptComparison):
            return await _compared(engine, asked, call, found.result.id, entry)
        if found.problem is not None:
            shown = alert(Alert(found.problem.title, found.problem.detail))
            return parts(shown, *nothing(*PARTS[1:], "start"), entry)
        if found.state == "stopped":
            return parts(*nothing(*PARTS), _start(engine), entry)
        if time.monotonic() > end:
            meter = Meter("Comparing", found.done, found.total, found.rate, found.left, "steps", job)
            shown = progress(meter, events=f"/api/v1/jobs/{job}/events")
            return parts(*nothing("problem", "start"), entry, _keeping(shown, f"job={job}"))
        await asyncio.sleep(0.02)


def _keeping(part: Markup, kept: str) -> Markup:
    return tag("section", part, id="progress", data_kept=kept)


@dataclass(frozen=True)
class ShownComparison:
    """Two systems of a comparison, and the filter."""

    id: str
    asked: ViewRequest
    scores: ScoresResult
    names: Sequence[str]
    a: int
    b: int

    @property
    def one(self) -> str:
        """The name of the first system."""
        return self.names[self.a]

    @property
    def other(self) -> str:
        """The name of the second system, whose gains are shown."""
        return self.names[self.b]


def _filter(asked: ViewRequest) -> dict[str, object]:
    """Return the filter of the address, without the places of systems."""
    found: dict[str, object] = {"query": asked.text("query"), "gram": asked.text("gram")}
    for name in ("low", "high"):
        found[name] = asked.number(name)
    for name in ("shortest", "longest"):
        value = asked.number(name)
        found[name] = None if value is None else max(int(value), 0)
    return {name: value for name, value in found.items() if value not in (None, "")}


async def _compared(engine: Engine, asked: ViewRequest, call: Call, found: str, entry: Markup | None = None) -> View:
    path = {"id": found}
    pair = {"a": asked.place("a", 1000, 0), "b": asked.place("b", 1000, 1)}
    request = SegmentsRequest(**pair, **_filter(asked), **_window(asked))  # type: ignore[arg-type]
    segments = await actions.compare_segments(engine, request, call, path)
    if asked.first is not None:
        return parts(tag("div", [_row(one, segments, asked) for one in segments.segments]))
    filter_ = ScoresRequest(**pair, **_filter(asked))  # type: ignore[arg-type]
    result = await actions.compare_scores(engine, filter_, call, path)
    shown = ShownComparison(found, asked, result, segments.systems, pair["a"], pair["b"])
    plots = [
        await actions.compare_plot(engine, PlotRequest(**pair, **_filter(asked)), call, {**path, "kind": kind})  # type: ignore[arg-type]
        for kind in ("differences", "lengths", "grams")
    ]
    drawn = [_scores(shown), _plots(shown, plots), _segments(shown, segments)]
    if asked.save:
        return standalone("Compare", f"{result.total:,} segments, {len(result.systems)} systems", drawn)
    return parts(*nothing("problem", "start", "progress"), entry, *drawn)


def _window(asked: ViewRequest) -> dict[str, object]:
    sort = asked.one_of("sort", SORTS, "-difference")
    return {"sort": sort, "first": asked.first or 0, "count": EXPORTED if asked.save else ROWS}


def score_table_of(found: ScoresResult) -> ScoreTable:
    """Return the scores as reports draw them."""
    baseline = next(one.name for one in found.systems if one.baseline)
    named = [
        (system, [(METRICS.get(one.metric, one.metric), one) for one in system.scores]) for system in found.systems
    ]
    systems = [
        SystemScores(system.name, {name: one.score for name, one in own},
                     {name: (one.low, one.high) for name, one in own if one.low is not None and one.high is not None})
        for system, own in named
    ]  # fmt: skip
    differences = [
        Difference(system.name, baseline, name, one.difference, one.p)
        for system, own in named for name, one in own
        if not system.baseline and one.difference is not None and one.p is not None
    ]  # fmt: skip
    lower = frozenset(METRICS.get(name, name) for name, higher in found.higher_is_better.items() if not higher)
    signatures = {METRICS.get(name, name): str(value) for name, value in found.signatures.items()}
    return ScoreTable(systems, signatures, differences, "", lower)


def _scores(shown: ShownComparison) -> Markup:
    found = shown.scores
    part = "" if found.segments == found.total else f"{found.segments:,} of {found.total:,} segments: "
    test = tag("p", found.test, class_="note") if found.test else None
    note = f"{part}dot: score; line: 95 % interval"
    return card("Scores", scores(score_table_of(found)), test, note=note, level=2, id="scores",
                data_kept=f"comparison={shown.id}")  # fmt: skip


def _plots(shown: ShownComparison, found: Sequence[PlotResult]) -> Markup:
    differences, lengths, grams = found
    return tag("section", _pair_controls(shown), columns(_histogram(differences), _lengths(lengths), _grams(grams)),
               class_="stack wide", id="plots")  # fmt: skip


def _pair_controls(shown: ShownComparison) -> Markup:
    """Return which two systems are compared below, and a way to swap them."""
    names = {str(place): name for place, name in enumerate(shown.names)}
    swap = button("Swap", data_set=f"a={shown.b}&b={shown.a}")
    first, second = select("a", names, str(shown.a), "From"), select("b", names, str(shown.b), "to")
    return tag("div", first, second, swap, class_="row")


def _histogram(found: PlotResult) -> Markup:
    kinds: list[Kind] = ["even" if _is_even(bar) else "less" if _is_loss(bar) else "more" for bar in found.bars]
    names = [_bar_name(bar, found) for bar in found.bars]
    links = [
        ChoiceLink(f"low={_edge(bar.low)}&high={_edge(bar.high)}", f"{name}: {bar.segments} segments")
        for bar, name in zip(found.bars, names, strict=True)
    ]
    plot = Histogram(
        [_bar_label(bar) for bar in found.bars], [bar.segments for bar in found.bars], f"difference, {found.metric}",
        kinds, left=f"{found.a} better", right=f"{found.b} better", names=names, links=links,
    )  # fmt: skip
    counts = f"better in {found.wins:,}, equal in {found.ties:,}, worse in {found.losses:,}"
    return card("Differences of segments", figure(plot, THIRD), note=counts, level=2)


def _is_even(bar: CountedBar) -> bool:
    return bar.low == bar.high and bar.low is not None


def _is_loss(bar: CountedBar) -> bool:
    return bar.low is None or bar.low < 0


def _bar_label(bar: CountedBar) -> str:
    if _is_even(bar):
        return "equal"
    low, high = sorted((abs(bar.low or 0), abs(bar.high or 0)))
    return f"{high:g}+" if None in (bar.low, bar.high) else f"{low:g}–{high:g}"


def _bar_name(bar: CountedBar, found: PlotResult) -> str:
    if _is_even(bar):
        return "equal"
    better, other = (found.a, found.b) if _is_loss(bar) else (found.b, found.a)
    return f"{better} better than {other} by {_bar_label(bar)}"


def _edge(value: float | None) -> str:
    return "" if value is None else repr(value)


def _lengths(found: PlotResult) -> Markup:
    dots = []
    for bar in found.bars:
        if bar.difference is None:
            continue
        kind: Kind = "more" if bar.difference > 0 else "less" if bar.difference < 0 else "even"
        name = f"{bar.low:g}+ words" if bar.high is None else f"{bar.low or 0:g}–{bar.high - 1:g} words"
        longest = "" if bar.high is None else f"{bar.high - 1:g}"
        link = ChoiceLink(f"shortest={bar.low or 0:g}&longest={longest}", f"{name}: {bar.segments} segments")
        dots.append(Dot(name, bar.difference, bar.difference_low, bar.difference_high, f"{bar.segments:,}", kind, link))
    plot = Dots(dots, f"difference, {found.metric}", 0.0, "segments")
    content = figure(plot, THIRD) if dots else tag("p", "No segment has a reference.", class_="note")
    return card("By length of the reference", content, level=2)


def _grams(found: PlotResult) -> Markup:
    some = [*found.won[:MOST_GRAMS], *found.lost[:MOST_GRAMS]]
    most = max((abs(one.b - one.a) for one in some), default=1)
    rows = [tag("li", _gram(one, most)) for one in some]
    content = tag("ul", rows, class_="plain") if rows else tag("p", "No n-gram differs.", class_="note")
    return card("N-grams won and lost", content, note=f"{found.b} : {found.a}", level=2)


def _gram(one: GramDifference, most: int) -> Markup:
    bar = signed_bar((one.b - one.a) / most, 54, 10)
    return tag("button", tag("span", one.text), tag("small", f"{one.b} : {one.a}"), bar, type="button", class_="choose",
               data_set=f"gram={quote(one.text)}")  # fmt: skip


def _segments(shown: ShownComparison, found: SegmentsResult) -> Markup:
    asked = shown.asked
    search = tag("input", type="search", name="query", id="query", value=asked.text("query"), data_key="/",
                 placeholder="Search in all texts ( / )", aria_label="Search in all texts")  # fmt: skip
    sort = select("sort", SORTS, asked.one_of("sort", SORTS, "-difference"), "Sort")
    chips = tag("span", _chips(asked), class_="chips")
    block = tag("div", [_row(one, found, asked) for one in found.segments], class_="block", data_first="0")
    listed = tag(
        "div", block, id="list", class_="segments", tabindex=0, role="feed", aria_label="Segments", data_list=True,
        data_found=found.found, data_count=ROWS, data_replace=True,
    )  # fmt: skip
    if asked.save:
        listed = tag("div", [_row(one, found, asked) for one in found.segments], class_="segments")
    note = tag("span", f"{found.found:,} of {found.total:,}", role="status")
    content: list[Child] = [tag("div", search, sort, chips, class_="row"), difference_key(shown.one, shown.other)]
    return card("Segments", *content, listed, note=note, level=2, id="segments")


def _chips(asked: ViewRequest) -> list[Markup]:
    """Return the filters, each of which can be taken away."""
    chips = []
    if gram := asked.text("gram"):
        chips.append(chip(f"“{gram}” differs", "gram=", f"show segments without “{gram}”, too"))
    low, high = asked.number("low"), asked.number("high")
    if low is not None or high is not None:
        text = _range(low, high)
        chips.append(chip(f"difference {text}", "low=&high=", "show all differences"))
    short, long = asked.number("shortest"), asked.number("longest")
    if short is not None or long is not None:
        text = f"{short or 0:g}+ words" if long is None else f"{short or 0:g} to {long:g} words"
        chips.append(chip(text, "shortest=&longest=", "show segments of all lengths"))
    return chips


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {fixed(high or 0.0, 0)}"
    if high is None:
        return f"from {fixed(low, 0)}"
    return "none" if low == high else f"{fixed(low, 0)} to {fixed(high, 0)}"


def _row(one: ComparedSegment, found: SegmentsResult, asked: ViewRequest) -> Markup:
    """Return a segment: what it gains, source and references, and the two outputs as they differ."""
    a, b = asked.place("a", len(found.systems), 0), asked.place("b", len(found.systems), 1)
    references = [written_words(text) for text in one.references]
    marked = difference(written_words(one.outputs[a]), written_words(one.outputs[b]), references)
    texts: list[tuple[Child, Child]] = [("source", one.source)] if one.source else []
    texts += [("reference", text) for text in one.references]
    quiet = len(texts)
    for place, text in zip((a, b), marked, strict=True):
        name = join(found.systems[place], " ", tag("small", fixed(one.scores[place], 1)))
        texts.append((name, text or tag("i", "empty", class_="quiet")))
    title = tag("span", tag("b", fixed(one.difference, 1, sign=True)), tag("small", f"line {one.number + 1}"),
                signed_bar(one.difference / FAR, 100, 12))  # fmt: skip
    return segment(title, texts, quiet=range(quiet), tabindex="0")
