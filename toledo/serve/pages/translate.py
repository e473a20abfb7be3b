"""Translate: what each rule chooses for a sentence and why, its forest and its n-best list, while scores change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import View, ViewRequest, known_model, parts, tsv
from toledo.serve.pages.examples import example_button
from toledo.serve.pages.forests import forest_card
from toledo.serve.pages.standalone import standalone
from toledo.serve.problems import ServeError
from toledo.serve.types import (
    DecideRequest,
    DecideResult,
    ListedText,
    RuleChoice,
    TranslatedSegment,
    TranslateRequest,
    TranslateResult,
)
from toledo.serve.work_types import AboutResult, JobResult, ModelAbout
from toledo.view.controls import Slider, button, choices, select, sliders, step_buttons
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.page import card
from toledo.view.shell import Shell
from toledo.view.states import Meter, empty, nothing, progress
from toledo.view.tables import Cell, facts, fixed, table
from toledo.view.text import common_words
from toledo.view.translations import (
    ListRow,
    ShownChoice,
    ShownWord,
    nbest_table,
    reasons,
    rule_key,
    rule_rows,
    source_text,
)

RULES = {"viterbi": "Best derivation", "mbr": "MBR", "consensus": "Consensus", "lattice-mbr": "Lattice MBR"}
METRICS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
MANY = 100  # of which decimals say nothing
SHOWN = 12  # of the n-best list
WIDEST = 1.5  # powers of ten that the scale may be changed by, up and down
PARTS = ("problem", "progress", "source", "rules", "forest", "nbest", "all", "distribution", "why", "weights")


def frame(engine: Engine) -> str:
    """Return the page before anything was asked."""
    names = {name: name for name in engine.models}
    model = select("model", names, next(iter(names), ""), "Model") if len(names) > 1 else None
    entry = tag(
        "details",
        tag("summary", "Text"),
        tag(
            "div",
            tag("textarea", name="source", id="source-text", rows=4, spellcheck="false", dir="auto",
                aria_label="Text to translate, a sentence on each line"),
            tag("div", button("Translate", "main", data_do="go", title="Ctrl-Enter"), model,
                tag("span", "a sentence on each line; a text file can be dropped here", class_="note"), class_="row"),
            class_="body",
        ),
        class_="card", open=True, id="entry",
    )  # fmt: skip
    left = tag("div", entry, nothing("progress", "source", "rules", "forest", "nbest", "all"), _start(engine),
               class_="stack wide")  # fmt: skip
    right = tag("div", nothing("distribution", "why", "weights"), class_="stack wide")
    return Shell("translate", _note(engine), ready=engine.ready).html(
        *nothing("problem"), tag("div", left, right, class_="main-side")
    )


def _start(engine: Engine) -> Markup:
    if not engine.models:
        text = empty("No model is served", "Start the server with one:", command="toledo serve model")
    else:
        text = empty("Nothing to translate yet", "Write or drop a text above.", command="toledo translate model",
                     action=example_button(engine, "translate"))  # fmt: skip
    return tag("section", text, id="start", class_="card")


def _note(engine: Engine) -> str:
    return ", ".join(engine.models) if engine.models else "no model"


@dataclass(frozen=True)
class ShownSentence:
    """What is known of one sentence: the answer of the engine, the model it is from, and the texts around it."""

    about: AboutResult
    result: TranslateResult | DecideResult
    segment: TranslatedSegment
    asked: ViewRequest
    place: int
    texts: Sequence[str]

    @property
    def model(self) -> ModelAbout:
        """The model that translates."""
        return next(one for one in self.about.models if one.name == self.result.model)

    @property
    def metric(self) -> str:
        """The name of the metric of expected scores."""
        return METRICS.get(self.result.metric, self.result.metric)

    @property
    def favorite(self) -> RuleChoice:
        """The choice whose reasons are shown: that of MBR."""
        return next((one for one in self.segment.choices if "mbr" in one.rules), self.segment.choices[0])

    @property
    def rival(self) -> int:
        """The rank in the list that it is compared with: the one selected, else the best derivation, else the next."""
        texts = [one.text for one in self.segment.nbest]
        first = self.segment.choices[0].text
        default = texts.index(first) if first != self.favorite.text and first in texts else int(len(texts) > 1)
        number = self.asked.number("against")
        return default if number is None else self.asked.place("against", len(texts) + 1) - 1


async def parts_of(engine: Engine, asked: ViewRequest, call: Call, path: dict[str, str]) -> View:
    """Return the parts of the page for a text."""
    texts = asked.lines("source")
    about = await actions.about(engine, None, call, {})
    if not texts or not about.models:
        return parts(*nothing(*PARTS), _start(engine))
    place = asked.place("segment", len(texts) + 1, 1) - 1
    shown = await _analyzed(engine, asked, call, about, texts, max(place, 0))
    if not shown.segment.choices:
        raise ServeError(422, "no-translation", "The model has no translation of this sentence")
    if asked.save == "nbest":
        return _saved_list(shown)
    drawn = _changing(shown)
    if asked.quick:
        return parts(*drawn)
    forest = await forest_card(engine, asked, call, shown.segment.forest)
    whole = await _whole_text(engine, asked, call, shown)
    about_model = tag("p", _title(shown), class_="note", id="about")
    drawn = [*nothing("problem", "start"), about_model, _source(shown), *drawn, forest, _weights(shown), *whole]
    return standalone("Translate", "", drawn) if asked.save else parts(*drawn)


async def _analyzed(
    engine: Engine, asked: ViewRequest, call: Call, about: AboutResult, texts: Sequence[str], place: int
) -> ShownSentence:
    """Decide on the forest that is kept of the sentence, or translate it."""
    deciding: dict[str, Any] = {
        "rules": [name for name in RULES if name in about.rules],
        "metric": asked.text("metric") or None,
        "scale": asked.power_of_ten("scale"),
        "weights": asked.numbers("weight."),
        "nbest": SHOWN,
        "posteriors": 4,
    }
    model = known_model(about, asked.text("model"))
    result: TranslateResult | DecideResult
    if kept := asked.kept.get(f"forest.{model or ''}.{place}"):
        try:
            result = await actions.decide(engine, DecideRequest(**deciding, quick=asked.quick), call, {"id": kept})
            return ShownSentence(about, result, result.segment, asked, place, texts)
        except ServeError as error:
            if error.status not in (404, 410):
                raise
    result = await actions.translate(
        engine, TranslateRequest(segments=[texts[place]], model=model, keep=True, **deciding), call, {}
    )
    return ShownSentence(about, result, result.segments[0], asked, place, texts)


def _changing(shown: ShownSentence) -> list[Markup]:
    """Return the parts that follow a slider."""
    return [_rules(shown), _list(shown), _distribution(shown), _why(shown)]


def _title(shown: ShownSentence) -> str:
    model = shown.model
    known = model.source_language and model.target_language
    languages = f", {model.source_language} to {model.target_language}" if known else ""
    return f"{model.name}{languages} · {model.phrases:,} phrase pairs"


def _source(shown: ShownSentence) -> Markup:
    number, place = len(shown.texts), shown.place
    kept = None
    if shown.segment.forest is not None:
        model = known_model(shown.about, shown.asked.text("model"))
        kept = f"forest.{model or ''}.{place}={shown.segment.forest.id}"
    unknown = ", ".join(shown.segment.unknown)
    note = tag("p", f"Not in the model: {unknown}", class_="note") if unknown else None
    steps = step_buttons(place, number, "against=")
    text = source_text(shown.segment.source, shown.segment.unknown)
    return card("Source", text, note, note=steps, level=2, id="source", data_kept=kept)


def _rules(shown: ShownSentence) -> Markup:
    segment, first = shown.segment, shown.segment.choices[0]
    drawn = [
        ShownChoice(_rule_names(one, shown), _words(one, first), [
            (f"exp. {shown.metric}", "–" if one.expected is None else fixed(one.expected, 1)),
            ("p", "–" if one.probability is None else fixed(one.probability)),
        ])
        for one in segment.choices
    ]  # fmt: skip
    seconds = shown.result.seconds
    milliseconds = 1000 * (seconds.search + seconds.decide)
    note = f"{'searched and decided' if seconds.search else 'decided again'} in {milliseconds:.0f} ms"
    return card("What each rule chooses", rule_rows(drawn), rule_key(), note=note, level=2, id="rules")


def _rule_names(one: RuleChoice, shown: ShownSentence) -> list[str]:
    names = [RULES.get(name, name) for name in one.rules]
    return [f"{name}, {shown.metric}" if name == "MBR" else name for name in names]


def _words(one: RuleChoice, first: RuleChoice) -> list[ShownWord]:
    """Return the words with their probabilities, the source of their phrases, and marks for those not in the first."""
    common = common_words(one.words, first.words)[0]
    sources = {place: phrase.source for phrase in one.phrases for place in range(*phrase.target)}
    return [
        ShownWord(word, one.posteriors[place] if one.posteriors else (), sources.get(place), not common[place])
        for place, word in enumerate(one.words)
    ]


def _list(shown: ShownSentence) -> Markup:
    entries = shown.segment.nbest
    rows = [
        ListRow(one.words, [RULES[name] for choice in shown.segment.choices if choice.text == one.text
                            for name in choice.rules], one.expected, one.probability, one.score, one.score_rank)
        for one in entries
    ]  # fmt: skip
    save = button("TSV", "quiet", data_do="save", data_part="nbest", data_name="nbest.tsv", aria_label="Save as TSV")
    note = join(f"{len(rows)} texts; marked: not in the first, ‸ : missing ", save)
    found = nbest_table(rows, shown.metric, "against", shown.rival + 1)
    return card(f"N-best by expected {shown.metric}", found, note=note, level=2, id="nbest")


def _saved_list(shown: ShownSentence) -> View:
    rows = [
        [rank, one.text, one.expected, one.probability, one.score, one.score_rank]
        for rank, one in enumerate(shown.segment.nbest, 1)
    ]
    head = ["rank", "text", f"expected {shown.metric}", "probability", "score", "rank by score"]
    return tsv("nbest.tsv", [head, *rows])


def _distribution(shown: ShownSentence) -> Markup:
    power = math.log10(shown.result.scale)
    tuned = math.log10(shown.model.scale)
    scale = Slider("scale", "Scale of scores", power, tuned - WIDEST, tuned + WIDEST, 0.02, f"{shown.result.scale:.2g}")
    perplexity = shown.segment.perplexity
    figures = facts([
        ("perplexity of derivations", "–" if perplexity is None else fixed(perplexity, 0 if perplexity >= MANY else 1)),
        ("most probable", fixed(max((one.probability for one in shown.segment.nbest), default=0.0))),
    ])  # fmt: skip
    metric = choices("metric", METRICS, shown.result.metric, "Metric of MBR")
    row = tag("div", tag("span", "MBR compares by", class_="note"), metric, class_="row spread")
    return _side("distribution", "Distribution", scale.draw(long=True), figures, row)


def _why(shown: ShownSentence) -> Markup:
    entries = shown.segment.nbest
    if not 0 <= shown.rival < len(entries):
        return tag("section", id="why", hidden=True)
    rival = entries[shown.rival]
    found = score_parts(shown.favorite, rival, shown.result.weights)
    note = tag(
        "p",
        f"MBR’s choice against no. {shown.rival + 1} of the list: weight × difference of each feature.",
        class_="note",
    )
    return _side("why", "Why this one", note, reasons(found, math.fsum(value for _, value in found)))


def score_parts(one: RuleChoice, other: ListedText, weights: dict[str, float]) -> list[tuple[str, float]]:
    """Return weight × difference of each feature of two texts; they sum to the difference of their scores."""
    names = dict.fromkeys((*one.features, *other.features))
    return [
        (name, weights.get(name, 0.0) * (one.features.get(name, 0.0) - other.features.get(name, 0.0))) for name in names
    ]


def _weights(shown: ShownSentence) -> Markup:
    tuned, now = shown.model.weights, shown.result.weights
    each = [
        Slider(f"weight.{name}", name, now.get(name, value), -_reach(value), _reach(value), 0.01)
        for name, value in tuned.items()
    ]
    changed = [name for name, value in tuned.items() if not math.isclose(now.get(name, value), value)]
    clear = "&".join(f"{quote(f'weight.{name}')}=" for name in tuned)
    below = tag(
        "div",
        tag("span", "changed by hand" if changed else "as tuned", class_="note", id="changed"),
        button("Reset", "quiet", data_set=clear, disabled=not changed),
        class_="row spread",
    )
    return _side("weights", "Weights", sliders(each), below)


def _reach(value: float) -> float:
    """Return how far a weight can be moved from zero."""
    return max(1.0, math.ceil(2 * abs(value)))


async def _whole_text(engine: Engine, asked: ViewRequest, call: Call, shown: ShownSentence) -> list[Markup]:
    """Return all segments of a longer text with their translations; they are made by a job that can be stopped."""
    if len(shown.texts) == 1:
        return list(nothing("all", "progress"))
    job = None if asked.fresh else asked.kept.get("job")
    if job is None:
        request = TranslateRequest(segments=list(shown.texts), model=known_model(shown.about, asked.text("model")))
        job = (await actions.translate_job(engine, request, call, {})).job
    try:
        found = await actions.job(engine, None, call, {"id": job})
    except ServeError as error:
        if error.status not in (404, 410):
            raise
        return list(nothing("all", "progress"))
    return [_all(shown, found), _job_progress(found)]


def _all(shown: ShownSentence, job: JobResult) -> Markup:
    done = job.result.segments if isinstance(job.result, TranslateResult) else []
    rows: list[list[Cell]] = [
        [number, text, done[number - 1].choices[0].text if number <= len(done) and done[number - 1].choices else ""]
        for number, text in enumerate(shown.texts, 1)
    ]
    picks = [f"segment={number}&against=" for number in range(1, len(rows) + 1)]
    found = table(["#", "source", "translation"], rows, description="all segments", best=shown.place, picks=picks)
    state = {"stopped": "stopped; what was done is kept", "failed": "ended with an error"}.get(job.state, "")
    note = f"{len(done):,} of {len(rows):,} translated{'; ' if state else ''}{state}"
    return card("All segments", found, note=note, level=2, id="all", data_kept=f"job={job.job}")


def _job_progress(job: JobResult) -> Markup:
    if job.state not in ("waiting", "running"):
        return nothing("progress")[0]
    shown = Meter("Translating", job.done, job.total, job.rate, job.left, job=job.job)
    return progress(shown, events=f"/api/v1/jobs/{job.job}/events")


def _side(place: str, heading: str, *content: Child) -> Markup:
    """Return a card at the side, which can be folded."""
    return card(heading, *content, fold=True, open=True, id=place)
