"""Show runs and results on one HTML page: saved runs name their kind, other files are known by their first keys.

Runs of one kind come together, seeds of one tuning are one run, and several tunings are compared in one plot.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from toledo.api.refine import Refinement
from toledo.api.tune import Tuning
from toledo.combination.combiner import DESCRIPTION as COMBINATION
from toledo.combination.pictures import weight_cards
from toledo.combination.selection import RESULT
from toledo.consensus.decide import Viterbi
from toledo.consensus.fast_consensus import Consensus
from toledo.errors import InputError
from toledo.files import file_error, read_lines, read_toml
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.formats.hypotheses import NBestList
from toledo.formats.jsonl import read_jsonl
from toledo.formats.nbest import read_nbest
from toledo.formats.rows import json_problem
from toledo.metrics.evaluation import Comparison, Evaluation
from toledo.reports.comparison import comparison_page
from toledo.reports.documents import Course, CoursePoint, course_cards, courses_of
from toledo.reports.posteriors import Example, shaded
from toledo.reports.posteriors import examples as example_texts
from toledo.reports.sampling import summary_cards
from toledo.reports.scores import score_table, scores
from toledo.reports.tuning import best_history, refinement_cards, trajectories, tuning_cards
from toledo.results import Result
from toledo.runs.checkpoint import read_run
from toledo.runs.history import History
from toledo.search.document.translation import DocumentTranslation
from toledo.text.vocabulary import Vocabulary
from toledo.view.markup import Markup
from toledo.view.page import Page, card, paragraph
from toledo.view.plots import Dot, Dots, figure
from toledo.weights import Weights

KNOWN = (
    "give an output directory of toledo tune, refine or combine tune, a trace of toledo document translate,"
    " what toledo evaluate or compare printed as JSON, diagnostics of a sampler as JSON, or n-best lists"
)
TRACE = 'a line is {"document": "…", "step": 0, "score": …, "features": {…}}, as toledo document translate writes it'
N_BEST = re.compile(r"\s*\d+ \|\|\|")
NAMELESS = re.compile(r"run|seed-\d+|refinement-.*")  # directories inside the output of a run
SUFFIXES = (".json", ".jsonl", ".nbest", ".gz")
SECONDS = "cpu_seconds"  # of systems, beside the result of a comparison
TUNING = "Tuning"


@dataclass(frozen=True)
class ShownRun:
    """A run or result, and what draws its cards; a tuning has a history for each seed."""

    kind: str
    name: str
    cards: Callable[[], Sequence[Markup]]
    histories: tuple[History, ...] = ()

    @property
    def task(self) -> object:
        """Return what the seeds of one tuning have in common."""
        first = self.histories[0]
        settings = {name: value for name, value in first.configuration.items() if name != "seed"}
        return first.tuner, repr(sorted(settings.items())) if settings else self.name


def runs_page(title: str, runs: Sequence[ShownRun]) -> Page:
    """Return a page with all runs, those of one kind together; several tunings are compared first."""
    page = Page(title)
    shown = _numbered(_with_all_seeds(runs))
    tunings = {run.name: best_history(run.histories) for run in shown if run.kind == TUNING}
    kinds = list(dict.fromkeys(run.kind for run in shown))
    for run in sorted(shown, key=lambda run: kinds.index(run.kind)):
        if len(tunings) > 1 and run.kind == TUNING and run.name == next(iter(tunings)):
            page.heading("Tunings side by side")
            page.add(card("Scores by round", trajectories(tunings)))
        page.heading(f"{run.kind}: {run.name}")
        page.add(*run.cards())
    return page


def read_runs(place: Path, examples: int = 5, scale: float = 1.0) -> list[ShownRun]:
    """Return the run of a file, or all runs in a directory.

    Of n-best lists, `examples` segments are shown, with probabilities proportional to exp(scale · score).
    """
    if not place.is_dir():
        run = _run(place, place.name, examples, scale)
        if run is None:
            raise InputError("is not a run or result that can be shown", file=place, remedy=KNOWN)
        return [run]
    runs = []
    for file in sorted(place.rglob("*"), key=lambda path: (len(path.parts), path)):  # those closest to the top first
        if file.is_file() and (file.suffix in SUFFIXES or file.name == COMBINATION):
            runs.append(_run(file, str(file.relative_to(place)), examples, scale))
    known = [run for run in runs if run is not None]
    if not known:
        raise InputError("there is no run in this directory", file=place, remedy=KNOWN)
    return known


def tuning_run(name: str, histories: Sequence[History]) -> ShownRun:
    """Return a tuning with one seed or several."""
    return ShownRun(TUNING, name, partial(tuning_cards, tuple(histories)), tuple(histories))


def refinement_run(name: str, history: History) -> ShownRun:
    """Return a refinement."""
    return ShownRun("Refinement", name, partial(refinement_cards, history))


def scores_run(name: str, result: Mapping[str, Any], seconds: Mapping[str, float] | None = None) -> ShownRun:
    """Return an evaluation or a comparison, from what its `to_dict` returned."""
    found = score_table(result, name, seconds)
    return ShownRun("Scores", name, lambda: [card("Scores", scores(found))])


def courses_run(name: str, courses: Sequence[Course]) -> ShownRun:
    """Return a document search."""
    return ShownRun("Documents", name, partial(course_cards, courses))


def read_trace(path: str | Path) -> list[Course]:
    """Read the recorded states of all documents from a trace."""
    points: dict[str, list[CoursePoint]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        try:
            state = json.loads(text)
            features = {name: float(value) for name, value in state["features"].items()}
            bleu = float(state["bleu"]) if "bleu" in state else None
            name, point = str(state["document"]), CoursePoint(int(state["step"]), float(state["score"]), features, bleu)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise file_error(path, line, f"not a state of a document: {_explained(error)}", TRACE) from None
        known = points.setdefault(name, [])
        if known and known[-1].step >= point.step:
            raise file_error(path, line, f"step {point.step} of {name} comes after step {known[-1].step}", TRACE)
        known.append(point)
    if not points:
        raise file_error(path, None, "the file is empty", TRACE)
    return [Course(name, 0, tuple(own)) for name, own in points.items()]


def _with_all_seeds(runs: Sequence[ShownRun]) -> list[ShownRun]:
    """Join the seeds of one tuning, in the place of the first."""
    groups: dict[object, list[ShownRun]] = {}
    for number, run in enumerate(runs):
        groups.setdefault(run.task if run.histories else number, []).append(run)
    return [
        own[0] if len(own) == 1 else tuning_run(own[0].name, [history for one in own for history in one.histories])
        for own in groups.values()
    ]


def _numbered(runs: Sequence[ShownRun]) -> list[ShownRun]:
    """Number runs of one kind that have the same name."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for run in runs:
        seen[run.kind, run.name] += 1
        number = seen[run.kind, run.name]
        found.append(run if number == 1 else replace(run, name=f"{run.name} ({number})"))
    return found


def _run(file: Path, name: str, examples: int, scale: float) -> ShownRun | None:
    """Return the run of a file, or None for a file of another kind."""
    if file.name == COMBINATION:
        return _combination(read_toml(file), file, _directory(name, file))
    lines = read_lines(file)
    first = next(lines, "")
    if N_BEST.match(first):
        return _lists(name, read_nbest(file), examples, scale)
    if not first.lstrip().startswith("{"):
        return None
    try:
        content = json.loads(first)
    except ValueError:  # an object of several lines
        content = _json("\n".join(chain([first], lines)), file)
    if {"document", "step"} <= content.keys():
        return courses_run(name, read_trace(file))
    if {"hypotheses", "text", "words"} & content.keys():
        return _lists(name, read_jsonl(file), examples, scale)
    try:
        return _of_object(content, file, name)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        remedy = "write it again with the same version of toledo"
        raise InputError(f"the file is damaged: {_explained(error)}", file=file, remedy=remedy) from None


def _of_object(content: Mapping[str, Any], file: Path, name: str) -> ShownRun | None:
    match content:
        case {"kind": "tuning"}:
            return tuning_run(_directory(name, file), [read_run(file, History)])
        case {"kind": "refinement"}:
            return refinement_run(_directory(name, file), read_run(file, History))
        case {"command": "evaluate" | "compare", "result": result}:
            return scores_run(name, result, content.get(SECONDS))
        case {"summary": summary, "segments": _}:
            return ShownRun("Samples", name, partial(summary_cards, summary))
    return None


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        message = f"not valid JSON: {json_problem(error)}"
        raise file_error(file, getattr(error, "lineno", None), message, "write the file again") from None
    return found


def _directory(name: str, file: Path) -> str:
    """Return the name of a run: that of its output directory, whatever the seed."""
    place, folder = Path(name).parent, file.resolve().parent
    while NAMELESS.fullmatch(folder.name):
        place, folder = place.parent, folder.parent
    return str(place) if place.name else folder.name


def _combination(content: Mapping[str, Any], file: Path, name: str) -> ShownRun:
    try:
        stage, scores = content["stages"][-1], content.get("report", {}).get("scores", {})
        bleu = {str(system): float(one["bleu"]) for system, one in scores.items()}
        shares = {str(system): float(share) for system, share in stage["shares"].items()}
    except (KeyError, IndexError, TypeError, AttributeError):
        raise InputError("is not a combination that this version can read", file=file, remedy="tune again") from None
    weights = Weights.from_table(stage, file)

    def cards() -> list[Markup]:
        dots = [Dot(system, score, kind="" if system == RESULT else "base") for system, score in bleu.items()]
        result = [card("BLEU on the tuning set", figure(Dots(dots, "BLEU", digits=2)))] if dots else []
        return [*result, weight_cards(shares, weights)]

    return ShownRun("Combination", name, cards)


def _lists(name: str, lists: Iterable[NBestList], examples: int, scale: float) -> ShownRun:
    """Return the first segments, with the hypothesis that scores best and the one that consensus decoding chooses."""
    shown = [_example(some, scale) for some in islice(lists, examples) if some.entries]

    def cards() -> list[Markup]:
        explained = (
            "For each segment, the hypothesis with the best score and the one that consensus decoding chooses. Shades"
            f" are probabilities over the whole list, from scores times {scale:g}."
        )
        return [card("Segments", paragraph(explained, class_="note"), example_texts(shown))]

    return ShownRun("Hypotheses", name, cards)


def _example(some: NBestList, scale: float) -> Example:
    entries = [ListEntry(entry.words, {}, entry.score or 0.0) for entry in some.entries]
    forest = from_nbest(entries, (), Vocabulary())
    scores = scale * forest.scores({})
    chosen: dict[tuple[int, ...], list[str]] = {}
    for rule in (Viterbi(), Consensus()):
        chosen.setdefault(tuple(rule.decide(forest, scores).words.tolist()), []).append(rule.name)
    texts = {", ".join(rules): words for words, rules in chosen.items()}
    return Example(f"Segment {some.segment}: {len(some.entries)} hypotheses", shaded(forest, scores, texts))


def _explained(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else json_problem(error)


def report(*results: str | Path | Result, title: str = "Toledo", examples: int = 5, scale: float = 1.0) -> Page:
    """Show runs and results on one HTML page.

    `results` are files and directories that runs have left, or results of functions such as `compare`. In directories
    all runs are shown; a comparison alone is shown with its segments. Of n-best lists, the first `examples` segments
    are shown; `scale` is a factor of their scores, below 1 for more even probabilities. `page.save("report.html")`
    writes the page, notebooks show it.
    """
    if not results:
        raise InputError("nothing to show", argument="results", remedy="give a run or a result")
    if examples < 1:
        raise InputError(f"examples is {examples}, expected at least 1", argument="examples")
    if not (0.0 < scale < math.inf):
        raise InputError(f"scale is {scale:g}, expected a positive number", argument="scale")
    if len(results) == 1 and isinstance(results[0], Comparison) and results[0].tests:
        return comparison_page(results[0], results[0].analyze(examples=0), title)
    return runs_page(title, [run for one in results for run in _runs(one, examples, scale)])


def _runs(result: str | Path | Result, examples: int, scale: float) -> Iterator[ShownRun]:
    if isinstance(result, str | Path):
        yield from read_runs(Path(result), examples, scale)
    elif isinstance(result, Evaluation | Comparison):
        yield scores_run(type(result).__name__.lower(), result.to_dict())
    elif isinstance(result, Tuning):
        yield tuning_run(result.best.tuner, result.runs)
    elif isinstance(result, Refinement):
        yield refinement_run("refinement", result.history)
    elif isinstance(result, DocumentTranslation) and result.trace:
        yield courses_run("trace", courses_of(result))
    else:
        name = result.signature or "result"
        yield ShownRun(type(result).__name__, name, lambda: [card(name, Markup(result._repr_html_()))])
