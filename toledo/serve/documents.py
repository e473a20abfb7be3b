"""Document search as a job: it tells of its course while it goes on, and can be stopped at any time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toledo.api.documents import SPACED, document_models_of, read_document_text
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.model import MODELS
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.search.document.state import DocumentResult, DocumentState, Snapshot
from toledo.search.document.translation import PREFIX
from toledo.search.search import Translation
from toledo.search.steps import word_links
from toledo.serve.jobs import Job
from toledo.serve.models import ServedModel
from toledo.serve.problems import ServeError, too_large
from toledo.serve.types import six
from toledo.serve.work_types import DocumentsRequest, DocumentsResult, DocumentStep, JobStarted, Term, TermTranslation
from toledo.text.preparation import Preparation
from toledo.weights import Weights

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

FIRST_STEPS = 256  # until the first event after the start; then twice as many, up to a part of all steps
PARTS = 40
MOST_TERMS = 200
NEED_FILES = {*SPACED, "bleu"}  # document models that need more than a request can give


def document_model_names() -> list[str]:
    """Return the document models that requests may use."""
    return [name for name in MODELS.names() if name not in NEED_FILES]


async def start_documents(engine: Engine, request: DocumentsRequest) -> JobStarted:
    """Start a search as a job."""
    served = engine.model(request.model)
    prepared = served.text(request.tokenized)
    _check(engine, served, request, prepared)

    async def work(job: Job) -> DocumentsResult:
        return await asyncio.to_thread(_search, served, request, prepared, job)

    return JobStarted(job=engine.jobs.start("documents", request.steps, work).id)


def _check(engine: Engine, served: ServedModel, request: DocumentsRequest, prepared: Preparation) -> None:
    limits, known = engine.limits, document_model_names()
    if len(request.segments) > limits.segments:
        title = f"The document has {len(request.segments)} segments"
        too_large("too-many-segments", title, f"At most {limits.segments}.", "/segments")
    if not request.segments:
        raise ServeError(422, "wrong-value", "The document has no segments", where="/segments")
    for place, text in enumerate(request.segments):
        if len(prepared.source.words(text)) > limits.words:
            where = f"/segments/{place}"
            too_large("too-many-words", f"Segment {place + 1} is too long", f"At most {limits.words} words.", where)
    if request.references is not None and len(request.references) != len(request.segments):
        title = f"{len(request.segments)} segments, but {len(request.references)} references"
        raise ServeError(422, "wrong-value", title, where="/references")
    for name in request.document_models:
        if name not in known:
            title = f"There is no document model {name[:80]!r}"
            raise ServeError(422, "unknown-name", title, f"Use {', '.join(known)}.", "/document_models")


class _Course:
    """What a job has told of a search so far."""

    def __init__(self, job: Job, request: DocumentsRequest, prepared: Preparation) -> None:
        self.job, self.request, self.prepared = job, request, prepared
        self.steps: list[DocumentStep] = []

    def tell(self, step: int, state: Snapshot) -> None:
        """Add the text after a number of steps."""
        texts = [self.prepared.target.write(" ".join(one.words)) for one in state.translations]
        before = self.steps[-1].texts if self.steps else texts
        changed = [place for place, (old, new) in enumerate(zip(before, texts, strict=True)) if old != new]
        models = {name: six(value) for name, value in state.features.items() if name.startswith(PREFIX)}
        found = DocumentStep(step=step, score=six(state.score), texts=texts, changed=changed, models=models)
        self.steps.append(found)
        self.job.tell("step", found)


def _search(served: ServedModel, request: DocumentsRequest, prepared: Preparation, job: Job) -> DocumentsResult:
    """Search in pieces, which is the same as at once, and tell of the best text after each."""
    model = own_words(served.model.phrase_model)
    models, weights = document_models_of(model, request.document_models, None)
    references = None if request.references is None else [[text] for text in request.references]
    text = read_document_text(list(request.segments), references, None, prepared)
    if references is not None:
        models, weights = (*models, BLEUModel()), {**weights, BLEUModel.name: 0.0}
    settings = DocumentSettings(steps=request.steps, start=request.start, seed=request.seed)
    search = DocumentSearch(model, settings, models, Weights({**model.weights, **weights}))
    (document,) = text.documents
    state = search.start(document)
    course = _Course(job, request, prepared)
    result = search.run(state, steps=0)
    start, sources = result.best, [list(part.words) for part in document.segments]
    course.tell(0, start)
    job.result = found = _result(served, request, course, result, start, sources, model)

    def stop(now: DocumentState) -> bool:
        return job.call.cancelled

    for until in _stations(request.steps):
        before = state.step
        result = search.run(state, steps=until - before, stop=stop)
        course.tell(state.step, result.best)
        job.result = found = _result(served, request, course, result, start, sources, model)
        job.advance(state.step - before)
        if state.step < until:
            break
    return found


def _stations(steps: int) -> Iterator[int]:
    """Yield after how many steps the job tells of the text."""
    here = 0
    while here < steps:
        here = min(steps, here + max(FIRST_STEPS, min(here, steps // PARTS)))
        yield here


def _result(
    served: ServedModel,
    request: DocumentsRequest,
    course: _Course,
    result: DocumentResult,
    start: Snapshot,
    sources: list[list[str]],
    model: PhraseModel,
) -> DocumentsResult:
    best = result.best

    def values(state: Snapshot) -> dict[str, float]:
        return {name: six(value) for name, value in state.features.items() if name != BLEUModel.name}

    stopped = (
        "" if result.steps >= request.steps else "stopped" if course.job.call.cancelled else "no change is possible"
    )
    return DocumentsResult(
        model=served.name, sources=sources, steps=list(course.steps), start=values(start), now=values(best),
        total=request.steps, terms=terms_of(model, sources, best.translations), bleu=_bleu(best), stopped=stopped,
    )  # fmt: skip


def _bleu(state: Snapshot) -> float | None:
    return None if state.bleu is None else six(BLEU(smooth_method="none").score(state.bleu.astype(float)))


def own_words(model: PhraseModel) -> PhraseModel:
    """Return a model whose vocabulary grows by itself."""
    return replace(model, table=replace(model.table, target_vocabulary=model.target_vocabulary.copy()))


def terms_of(model: PhraseModel, sources: Sequence[Sequence[str]], translations: Sequence[Translation]) -> list[Term]:
    """Return source words that come back, with their translations: those with most different ones first."""
    found: dict[str, dict[str, list[tuple[int, int, int]]]] = defaultdict(lambda: defaultdict(list))
    places: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for segment, (source, translation) in enumerate(zip(sources, translations, strict=True)):
        links: dict[int, list[int]] = defaultdict(list)
        for one, other in word_links(model.table, translation.steps):
            links[one].append(other)
        words = translation.words
        for place, word in enumerate(source):
            if not any(map(str.isalpha, word)) or place not in links:
                continue
            own = sorted(links[place])
            places[word].append((segment, place, place + 1))
            found[word][" ".join(words[one] for one in own)].append((segment, own[0], own[-1] + 1))
    terms = [
        Term(
            source=word, places=places[word],
            translations=[TermTranslation(text=text, places=own) for text, own in sorted(each.items(), key=_often)],
        )
        for word, each in found.items() if len(places[word]) > 1
    ]  # fmt: skip
    return sorted(terms, key=lambda one: (-len(one.translations), -len(one.places), one.source))[:MOST_TERMS]


def _often(item: tuple[str, list[tuple[int, int, int]]]) -> tuple[int, str]:
    return -len(item[1]), item[0]
