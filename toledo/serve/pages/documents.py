"""Documents: a search over a whole text, step by step, and which terms are translated in one way or in several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import View, ViewRequest, known_model, parts
from toledo.serve.pages.examples import example_button
from toledo.serve.pages.standalone import standalone
from toledo.serve.work_types import AboutResult, DocumentsRequest, DocumentsResult, DocumentStep, JobResult, Term
from toledo.view.controls import Slider, button, select
from toledo.view.curves import Lines, Series
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.network import letter
from toledo.view.page import card
from toledo.view.plots import WIDE, Bar, Bars, figure
from toledo.view.shell import Shell
from toledo.view.states import Alert, Meter, alert, empty, nothing, progress
from toledo.view.tables import Cell, fixed, shown, table
from toledo.view.text import against

ABOUT = "A whole document at once: models that look beyond the sentence, and the text as it changes."
COMMAND = "toledo document translate model text.txt"
STARTS = {"beam": "sentence by sentence", "random": "at random"}
STEPS, SEED, MOST_STEPS = 20_000, 1, 10_000_000
PARTS = ("problem", "progress", "course", "document", "terms", "models")
THIRD_COLUMN = 330  # pixels


def frame(engine: Engine) -> str:
    """Return the page before anything was asked."""
    names = {name: name for name in engine.models}
    model = select("model", names, next(iter(names), ""), "Model") if len(names) > 1 else None
    entry = card(
        "Document",
        tag("textarea", name="document", id="document-text", rows=6, spellcheck="false", dir="auto",
            aria_label="Document to translate, a sentence on each line"),
        tag("div", model, select("start", STARTS, "beam", "Start"), _field("steps", "Steps", STEPS),
            _field("seed", "Seed", SEED), class_="row"),
        tag("section", id="document-models", hidden=True),
        tag("div", button("Run", "main", data_do="go", title="Ctrl-Enter"),
            tag("span", "a sentence on each line; a text file can be dropped here", class_="note"), class_="row"),
        level=2, fold=True, open=True, id="entry",
    )  # fmt: skip
    left = tag("div", entry, _start(engine), *nothing("progress", "course", "document"), class_="stack wide")
    right = tag("div", nothing("terms", "models"), class_="stack wide")
    return Shell("documents", ABOUT, ask=True, ready=engine.ready).html(
        *nothing("problem"), tag("div", left, right, class_="main-side")
    )


def _field(name: str, label: str, value: float | None) -> Markup:
    field = tag("input", type="number", name=name, id=f"field-{name}", value=None if value is None else f"{value:g}",
                step="any", data_quiet=True)  # fmt: skip
    return tag("label", label, " ", field, class_="row note")


def _start(engine: Engine) -> Markup:
    text = empty(
        "No document yet", "Write or drop a text above.", command=COMMAND, action=example_button(engine, "documents")
    )
    return tag("section", text, id="start", class_="card")


@dataclass(frozen=True)
class ShownDocument:
    """A document at one of its steps; `terms` have letters."""

    result: DocumentsResult
    asked: ViewRequest
    place: int  # among the steps
    ended: bool

    @property
    def step(self) -> DocumentStep:
        """The step that is shown."""
        return self.result.steps[self.place]

    @property
    def before(self) -> DocumentStep:
        """The step before it, or the first itself."""
        return self.result.steps[max(self.place - 1, 0)]

    @property
    def is_last(self) -> bool:
        """Whether it is the text as it is now, which terms are counted in."""
        return self.place == len(self.result.steps) - 1

    @property
    def marked_terms(self) -> list[tuple[int, Term]]:
        """The terms that are marked in the text: those translated in several ways, and the one that is selected."""
        terms = enumerate(self.result.terms)
        return [(number, one) for number, one in terms if len(one.translations) > 1 or one is self.term]

    @property
    def term(self) -> Term | None:
        """The term that is selected."""
        return next((one for one in self.result.terms if one.source == self.asked.text("term")), None)


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for a document."""
    about = await actions.about(engine, None, call, {})
    lines = asked.lines("document")
    job = None if asked.fresh and lines else asked.kept.get("job")
    models = _model_fields(asked, about)
    if job is None and (not lines or not about.models or not asked.fresh):
        return parts(*nothing(*PARTS), _start(engine), models)
    if job is None:
        job = (await actions.documents(engine, _request(asked, about, lines), call, {})).job
    found = await actions.job(engine, None, call, {"id": job})
    return _drawn(asked, found, models)


def _request(asked: ViewRequest, about: AboutResult, lines: list[str]) -> DocumentsRequest:
    steps, seed = asked.number("steps") or STEPS, asked.number("seed")
    return DocumentsRequest(
        segments=lines,
        model=known_model(about, asked.text("model")),
        document_models={name: value for name, value in asked.numbers("document.").items() if value},
        start="random" if asked.text("start") == "random" else "beam",
        steps=min(max(int(steps), 1), MOST_STEPS),
        seed=SEED if seed is None else int(seed),
    )


def _model_fields(asked: ViewRequest, about: AboutResult) -> Markup:
    """Return a weight for each document model."""
    fields = [_field(f"document.{name}", name, asked.number(f"document.{name}")) for name in about.document_models]
    note = tag("span", "weights of document models; empty: not used", class_="note")
    return tag("section", tag("div", fields, class_="row"), note, id="document-models", class_="stack")


def _drawn(asked: ViewRequest, job: JobResult, models: Markup) -> View:
    """Return how far the search is, and its text at the step that is chosen."""
    state = _state(job)
    if not isinstance(job.result, DocumentsResult) or not job.result.steps:
        return parts(*nothing("start", *PARTS[2:]), *state, models)
    steps = job.result.steps
    place = asked.place("step", len(steps), len(steps) - 1)
    found = ShownDocument(job.result, asked, place, job.state not in ("waiting", "running"))
    drawn = [_course(found), _document(found), _terms(found), _models(found)]
    return standalone("Documents", ABOUT, drawn) if asked.save else parts(*nothing("start"), *state, *drawn, models)


def _state(job: JobResult) -> list[Markup]:
    kept = f"job={job.job}"
    if job.problem is not None:
        return [alert(Alert(job.problem.title, job.problem.detail)), *nothing("progress")]
    if job.state in ("waiting", "running"):
        meter = Meter("Searching", job.done, job.total, job.rate, job.left, "steps", job.job)
        drawn = progress(meter, events=f"/api/v1/jobs/{job.job}/events")
        return [*nothing("problem"), tag("section", drawn, id="progress", data_kept=kept)]
    return [*nothing("problem"), tag("section", id="progress", hidden=True, data_kept=kept)]


def _course(found: ShownDocument) -> Markup:
    """Return the score by step, and a slider through the steps."""
    result = found.result
    points = [(float(one.step), one.score) for one in result.steps]
    lines = Lines([Series("score", points, ended=found.ended)], "step", "score",
                  (float(found.step.step), "shown"), whole=True, height=200, named=False)  # fmt: skip
    last = len(result.steps) - 1
    slider = Slider("step", "The text after step", found.place, 0, max(last, 1), 1, f"{found.step.step:,}")
    now = button("Now", "quiet", data_set="step=", disabled=found.is_last)
    note = f"step {result.steps[-1].step:,} of {result.total:,}"
    bleu = "" if result.bleu is None else f", BLEU {fixed(result.bleu)}"
    return card(
        "Score",
        figure(lines, WIDE),
        tag("div", tag("div", slider.draw(long=True), class_="grow"), now, class_="row"),
        note=note + bleu,
        level=2,
        id="course",
    )


def _document(found: ShownDocument) -> Markup:
    """Return source and translation beside each other; terms have letters, changed words are marked."""
    rows = [
        tag("div", tag("div", _source(place, found), dir="auto", class_="quiet"),
            tag("div", _target(place, found), dir="auto"))
        for place in range(len(found.step.texts))
    ]  # fmt: skip
    changed = len(found.step.changed)
    note = f"{changed} segments changed in this step" if found.place else "as it began"
    key = tag("p", tag("span", tag("ins", "marked"), " changed in this step"),
              tag("span", "letters: terms translated in several ways, and the one selected"), class_="key")  # fmt: skip
    return card("Text", tag("div", rows, class_="document"), key, note=note, level=2, id="document")


def _source(segment: int, found: ShownDocument) -> Markup:
    marks = {}
    for number, term in found.marked_terms:
        for where, first, end in term.places:
            if where == segment:
                marks[first] = (end, number)
    return join(_lettered(found.result.sources[segment], marks, found))


def _lettered(words: Sequence[str], marks: Mapping[int, tuple[int, int]], found: ShownDocument) -> Iterator[Child]:
    """Yield words; a term has its letter, and the one selected is marked."""
    place = 0
    while place < len(words):
        end, number = marks.get(place, (place + 1, -1))
        text = " ".join(words[place:end])
        if number >= 0:
            here = found.result.terms[number] is found.term
            yield tag("span", text, tag("sup", letter(number), class_="letter"), class_="term here" if here else "term")
        else:
            yield text
        yield " "
        place = end


def _target(segment: int, found: ShownDocument) -> Markup:
    words, before = found.step.texts[segment].split(), found.before.texts[segment].split()
    if found.place and words != before:
        return against(words, before)
    marks = {}
    if found.is_last:
        for number, term in found.marked_terms:
            for one in term.translations:
                for where, first, end in one.places:
                    if where == segment:
                        marks[first] = (end, number)
    return join(_lettered(words, marks, found))


def _terms(found: ShownDocument) -> Markup:
    """Return terms with their translations and how often each is used."""
    terms = found.result.terms
    if not terms:
        return nothing("terms")[0]
    rows: list[list[Cell]] = [
        [
            join(tag("sup", letter(number), class_="letter"), " ", term.source),
            join(*(f"{one.text} ({len(one.places)}×)" for one in term.translations), between=", "),
        ]
        for number, term in enumerate(terms)
    ]
    picks = [f"term={quote(term.source)}" for term in terms]
    best = next((place for place, term in enumerate(terms) if term is found.term), -1)
    several = sum(len(term.translations) > 1 for term in terms)
    content = table(["term", "translations"], rows, description="terms", best=best, picks=picks)
    return card("Consistency", tag("p", f"{several} of {len(terms)} in several ways", class_="note"), content, level=2,
                fold=True, open=True, id="terms")  # fmt: skip


def _models(found: ShownDocument) -> Markup:
    """Return what each model says: at the start, and now."""
    start, now = found.result.start, {**(found.result.now if found.is_last else {}), **found.step.models}
    changed = [Bar(name, [now.get(name, 0.0) - start.get(name, 0.0)]) for name in now]
    rows: list[list[Cell]] = [[name, shown(start.get(name, 0.0)), shown(now[name])] for name in now]
    plot = tag("div", Bars(changed, "change", sign=True).draw(THIRD_COLUMN), class_="plot")
    return card("Models: start → now", plot, table(["model", "start", "now"], rows, description="models"), level=2,
                fold=True, open=True, id="models")  # fmt: skip
