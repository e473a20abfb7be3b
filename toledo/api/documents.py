"""Translate whole documents, search for the highest reachable BLEU, and tune the weights of document models."""

from __future__ import annotations

import logging
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np

from toledo.api.inputs import ReferenceTexts, Texts, read_groups, read_ids, read_texts
from toledo.api.pairs import warn_of_doubt
from toledo.api.runs import ModelOrPath, as_model, begin_run, digest_model, save_result
from toledo.api.tune import Tuning
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output
from toledo.formats.alignments import read_segmentation
from toledo.formats.documents import DocumentText, is_markup, read_documents, with_references, write_translations
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.results import plain
from toledo.runs.checkpoint import Checkpoint, digest
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.models.model import MODELS, DocumentModel
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace, SpaceModel
from toledo.search.document.models.topic import TopicModel
from toledo.search.document.search import Derivation, DocumentSearch
from toledo.search.document.settings import STARTS, Acceptance, DocumentSettings, bleu_settings, preset_settings
from toledo.search.document.translation import (
    PREFIX,
    STATES,
    DocumentRun,
    DocumentTranslation,
    Keep,
    document_translation,
    space_digest,
)
from toledo.search.itg import ITG_FEATURES
from toledo.settings import Named, converted, parse_named, unknown_name
from toledo.text.corpus import Document, Segment, cut_documents, documents_of
from toledo.text.preparation import Preparation
from toledo.text.vocabulary import split_words
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import tune_documents as tune_task
from toledo.tuning.initial import Initial, docent_weights, with_sparse
from toledo.tuning.settings import DOCUMENT_OBJECTIVES, DocumentGradient, DocumentMethod
from toledo.weights import Weights

log = logging.getLogger(__name__)

LOADED = ("space", "lm")  # settings of document models that are not numbers
SPACED: Mapping[Any, type[SpaceModel]] = {"semantic": SemanticModel, "topic": TopicModel}
NO_MODELS: Mapping[Any, float] = MappingProxyType({})

DocumentModels: TypeAlias = Mapping[Any, float]  # names, models or functions → weights
Space: TypeAlias = SemanticSpace | str | Path
DocumentPair: TypeAlias = tuple[Texts, ReferenceTexts] | tuple[Texts, ReferenceTexts, Texts | None]


class DocumentOptions(TypedDict, total=False):
    """Settings of a search, as in `DocumentSettings`; `start` may be a file of derivations, too."""

    start: str | Path
    accept: Acceptance | str
    operations: Mapping[str, float]
    steps: int
    max_rejected: int | None
    seconds: float | None
    seed: int
    record: int | str | None


class TranslateDocumentOptions(DocumentOptions, total=False):
    """Arguments of `translate_document`."""

    document_ids: Texts | None
    document_models: DocumentModels
    semantic_space: Space | None
    tokenized: bool
    references: ReferenceTexts | None
    keep: Keep
    preset: str | None
    output: str | Path | None
    resume: bool
    threads: int | None
    progress: Progress


class OracleOptions(DocumentOptions, total=False):
    """Arguments of `oracle`."""

    pseudo_reference: str | Path | None
    document_ids: Texts | None
    tokenized: bool
    guided: bool
    output: str | Path | None
    resume: bool
    threads: int | None
    progress: Progress


@dataclass(frozen=True, repr=False)
class DocumentTuning(Tuning):
    """A tuning whose weights are those of its best round if `by_score`, or the mean of those of `averaged` rounds.

    `matched` says that the word penalty was adjusted after that.
    """

    averaged: range = range(0)
    by_score: bool = True
    matched: bool = False

    @property
    def best_round(self) -> int:
        """Return the number of the round whose weights these are, the last of several."""
        return self.averaged[-1]

    @property
    def score(self) -> float:
        """Return the mean score of these rounds; without dev documents it is expected BLEU, except for ranking."""
        return float(np.mean([self.best.scores[number] for number in self.averaged]))

    def to_dict(self) -> dict[str, Any]:
        """Return weights, rounds and scores as JSON-ready values."""
        own = {"averaged": [self.averaged[0], self.averaged[-1]], "score": plain(self.score), "matched": self.matched}
        return {**super().to_dict(), **own}

    def __str__(self) -> str:
        first, last = self.averaged[0], self.averaged[-1]
        which = f"round {first}" if first == last else f"the mean of rounds {first} to {last}"
        kind = "" if self.by_score else "expected "
        length = ", with the word penalty that gives texts the length of the references" if self.matched else ""
        return f"{super().__str__()}\nweights: {which} ({kind}{self.best.metric} {self.score:.2f}){length}"


def translate_document(
    model: ModelOrPath,
    sources: Texts,
    *,
    document_ids: Texts | None = None,
    document_models: DocumentModels = NO_MODELS,
    semantic_space: Space | None = None,
    tokenized: bool = False,
    references: ReferenceTexts | None = None,
    keep: Keep = "best",
    preset: str | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Unpack[DocumentOptions],
) -> DocumentTranslation:
    """Translate whole documents with models that look beyond the sentence.

    The search begins with a translation of each document and changes it step by step. `document_models` maps names
    (see `toledo list document-models`), models or functions to weights; those that the model was tuned with are used,
    too. Texts are raw if the model translates raw text, unless they are `tokenized` into its
    words. With `references`, BLEU is reported, that of the model's words. `start` is beam, random, or a file of
    derivations; `keep="last"` returns the last state in place of the best, as a sample. `preset="thesis"` decodes as
    Smith (2015): Docent's default weights and operations, a million steps from random translations. With `output` the
    translations are written there: XML into a file named .xml or .sgm, else lines. After Ctrl-C the best translations
    so far are in it, and `resume=True` continues.
    """
    _check_output(output, resume, keep)
    base, loaded = preset_settings(preset), as_model(model)
    if preset is not None:
        loaded = loaded.with_weights(Weights({**loaded.weights, **docent_weights(loaded.feature_names)}))
    prepared = loaded.preparation.of_words if tokenized else loaded.preparation
    text = read_document_text(sources, references, document_ids, prepared)
    chosen, derivations = _settings(base, settings, text.documents, prepared)
    models, weights = document_models_of(loaded, document_models, semantic_space)
    if _referenced(text) and BLEUModel.name not in weights:
        models, weights = (*models, BLEUModel()), {**weights, BLEUModel.name: 0.0}
    if BLEUModel.name in weights and not _referenced(text):
        raise InputError("BLEU without references", remedy="give `references`, or leave its weight out")
    search = DocumentSearch(loaded, chosen, models, Weights({**loaded.weights, **weights}))
    run = DocumentRun(search, text.documents, derivations, digest_model(model))
    return _finish(run, text, prepared, keep, output, resume, threads, progress)


def oracle(
    model: ModelOrPath,
    sources: Texts,
    references: ReferenceTexts | None = None,
    *,
    pseudo_reference: str | Path | None = None,
    document_ids: Texts | None = None,
    tokenized: bool = False,
    guided: bool = False,
    output: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Unpack[DocumentOptions],
) -> DocumentTranslation:
    """Search for the highest reachable BLEU: that of the references weighs 1, everything else nothing.

    With `guided`, BLEU decides alone as well, but the model proposes changes, which finds more in as many steps. A
    `pseudo_reference` is a file with a reference within reach, a random translation; it is written if it is missing.
    """
    _check_output(output, resume)
    if (references is None) == (pseudo_reference is None):
        raise InputError(
            "one kind of reference is needed", remedy="give either `references` or `pseudo_reference`, a file"
        )
    loaded = as_model(model)
    prepared = loaded.preparation.of_words if tokenized else loaded.preparation
    if pseudo_reference is not None:
        path, drawing_seed = Path(pseudo_reference), int(settings.get("seed", 1))
        text = _read_or_draw(path, sources, document_ids, loaded, prepared, drawing_seed)
    else:
        text = read_document_text(sources, references, document_ids, prepared)
    search, derivations = oracle_search(loaded, text.documents, guided, settings)
    run = DocumentRun(search, text.documents, derivations, digest_model(model))
    return _finish(run, text, prepared, "best", output, resume, threads, progress)


def oracle_search(
    model: PhraseModel, documents: Sequence[Document], guided: bool, settings: DocumentOptions
) -> tuple[DocumentSearch, list[Derivation] | None]:
    """Return a search for BLEU, and the derivations that it starts from if they are given."""
    chosen, derivations = _settings(bleu_settings(DocumentSettings(), guided), settings, documents, model.preparation)
    own = {name: value for name, value in model.weights.items() if name in _sentence_features(model)}
    return DocumentSearch(model, chosen, (BLEUModel(),), bleu_weights(own, guided)), derivations


def tune_documents(
    model: ModelOrPath,
    sources: Texts,
    references: ReferenceTexts,
    *,
    document_ids: Texts | None = None,
    document_size: int | None = None,
    document_models: DocumentModels = NO_MODELS,
    semantic_space: Space | None = None,
    objective: Named[DocumentMethod] = "corpus-expected-bleu",
    dev: DocumentPair | None = None,
    tokenized: bool = False,
    initial: str | Path | Weights = "model",
    frozen: Sequence[str] | None = None,
    features: Sequence[str] = (),
    max_features: int = 300,
    rounds: int | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> DocumentTuning:
    """Tune the weights of a model and of document models, for the best BLEU of a document search.

    `objective` is corpus-expected-bleu, expected-bleu, pro, mert, mira or online-mira, also with settings
    ("pro:pairs=consecutive"), or a `DocumentPRO`, `DocumentGradient`, `DocumentLists` or `OnlineMIRA`. `document_size`
    cuts each document to tune on into pieces of this size. With `dev` (sources, references, and document ids if there
    are any) the round with the best BLEU of these documents is chosen. `initial` weights are those of the "model",
    "default" (Moses'), "docent" (Docent's defaults), "zero", a file, or `Weights`; `document_models` have their own.
    With `output` the tuned model is saved there, and each round in its folder `run`.
    """
    method = DOCUMENT_OBJECTIVES.make(objective, **({} if rounds is None else {"rounds": rounds}))
    if not isinstance(method, DocumentGradient):
        method = replace(method, seed=seed)
    if document_size is not None and document_size < 1:
        raise InputError(f"document_size is {document_size}", argument="document_size", remedy="give 1 or more")
    folder = begin_run(output, resume, model)
    loaded = with_sparse(as_model(model), features, max_features)
    prepared = loaded.preparation.of_words if tokenized else loaded.preparation
    documents = _referenced_documents((sources, references, document_ids), prepared)
    if document_size is not None:
        documents = cut_documents(documents, document_size)
    dev_documents = None if dev is None else _referenced_documents(dev, prepared)
    models, added = document_models_of(loaded, document_models, semantic_space)
    if BLEUModel.name in added:
        raise InputError(
            "BLEU is not a feature: it looks at the references", remedy="leave the document model bleu out"
        )
    if other := [one for one in models if not isinstance(one, DocumentModel)]:
        raise InputError(f"document model {other[0].name!r} cannot be tuned", remedy="use one that Toledo has")
    task = DocumentTask(loaded, documents, models, dev_documents, seed, threads)
    weights = Initial(initial, frozen).weights(
        loaded.feature_names,
        loaded.weights,
        lambda some: replace(some, values_by_name={**added, **some}),
        loaded.sparse.names if loaded.sparse else (),
    )
    start = task.start(method, weights, [*added])
    checkpoint = None
    if folder is not None:
        own = {
            "model": digest_model(model),
            "semantic_space": space_digest(models),
            "document_models": _settings_digest(models),
        }
        checkpoint = Checkpoint(folder / f"seed-{seed}", {**task.configuration(method, start), **own}, resume)
    found = tune_task(task, start, method, checkpoint, progress)
    tuned = save_result(loaded.with_weights(found.weights), output)
    return DocumentTuning(
        tuned, found.weights, (found.history,), found.history, found.averaged, found.by_score, found.matched
    )


def _check_output(output: str | Path | None, resume: bool, keep: str = "best") -> None:
    if keep not in ("best", "last"):
        raise unknown_name("state to keep", keep, ["best", "last"])
    if output is not None:
        require_output(output)
    if resume and (output is None or str(output) == STANDARD_STREAM):
        raise InputError("there is nothing to continue without an output file", remedy="give the `output` of before")


def read_document_text(
    sources: Texts, references: ReferenceTexts | None, document_ids: Texts | None, prepared: Preparation
) -> DocumentText:
    """Read documents from files in any form, or from texts, in the words of a model."""
    text = _read_words(sources, references, document_ids)
    segments = [part for document in text.documents for part in document.segments]
    if not warn_of_doubt(prepared.source, [" ".join(part.words) for part in segments], "sources"):
        own = [" ".join(one) for part in segments for one in part.references]
        warn_of_doubt(prepared.target, own, "references")
    if not prepared.raw and prepared.source.rare is None:
        return text

    def in_words(part: Segment) -> Segment:
        known = tuple(tuple(prepared.target.words(" ".join(one))) for one in part.references)
        return replace(part, words=tuple(prepared.source.words(" ".join(part.words))), references=known)

    documents = [replace(one, segments=tuple(map(in_words, one.segments))) for one in text.documents]
    return replace(text, documents=documents)


def _read_words(sources: Texts, references: ReferenceTexts | None, document_ids: Texts | None) -> DocumentText:
    """Read documents, whose words are separated by spaces."""
    files = _reference_files(references)
    file = sources if isinstance(sources, str | Path) else None
    if file is not None and files is not None and (document_ids is None or isinstance(document_ids, str | PathLike)):
        return read_documents(file, files, document_ids)
    if file is not None and is_markup(file):
        if document_ids is not None:
            raise InputError("already has documents", file=file, remedy="leave `document_ids` out")
        text = read_documents(file)
    else:
        lines = read_texts(sources, "sources")
        if not lines:
            raise InputError("sources is empty", argument="sources", remedy="give one text or more")
        ids = [""] * len(lines) if document_ids is None else read_texts(document_ids, "document_ids")
        read_ids(ids, lines)
        numbered = enumerate(zip(lines, ids, strict=True))
        parts = [Segment(number, tuple(split_words(line)), (), name) for number, (line, name) in numbered]
        text = DocumentText(documents_of(parts))
    if references is None:
        return text
    segments = [segment for document in text.documents for segment in document.segments]
    return with_references(text, read_groups(references, segments, "sources"))


def _reference_files(references: ReferenceTexts | None) -> list[str | Path] | None:
    """Return the files of references, of which there may be none; None if they are texts."""
    if references is None:
        return []
    if isinstance(references, str | PathLike):
        return [references]
    if isinstance(references, list | tuple) and all(isinstance(one, PathLike) for one in references):
        return list(references)
    return None


def _read_or_draw(
    path: Path, sources: Texts, document_ids: Texts | None, model: PhraseModel, prepared: Preparation, seed: int
) -> DocumentText:
    """Read a reference; if there is no such file, draw and write one: a random translation, so within reach."""
    if path.exists():
        log.info("%s: taken as the reference", path)
        return read_document_text(sources, [path], document_ids, prepared)
    require_output(path)
    text = read_document_text(sources, None, document_ids, prepared)
    results = DocumentSearch(model, DocumentSettings(steps=0, start="random", seed=seed + 1)).search(text.documents)
    target = prepared.target
    lines = [[target.write(" ".join(part.words)) for part in result.translations] for result in results]
    write_translations(path, text, lines, kind="reference")
    return with_references(text, [[" ".join(target.words(line))] for document in lines for line in document])


def _referenced(text: DocumentText) -> bool:
    return all(part.references for document in text.documents for part in document.segments)


def _referenced_documents(pair: DocumentPair, prepared: Preparation) -> list[Document]:
    found = list(read_document_text(pair[0], pair[1], pair[2] if len(pair) > 2 else None, prepared).documents)
    if not any(word for document in found for part in document.segments for text in part.references for word in text):
        raise InputError(
            "each segment has an empty reference", remedy="check that the references belong to this source file"
        )
    return found


def _settings(
    base: DocumentSettings, given: DocumentOptions, documents: Sequence[Document], prepared: Preparation
) -> tuple[DocumentSettings, list[Derivation] | None]:
    """Return settings with what is given, and the derivations to start from, if `start` is a file of them."""
    settings, start = base.changed(given), Path(given.get("start", base.start))
    if str(start) in STARTS:
        return settings, None
    if prepared.source.rare is not None:
        raise InputError(
            "derivations name the words that were given, and this model rewrites rare ones",
            argument="start",
            remedy="use `start=beam`, or train the model with `rare_words=keep`",
        )
    lines = read_segmentation(start)
    segments = sum(len(document.segments) for document in documents)
    if len(lines) != segments:
        raise InputError(
            f"{len(lines)} derivations for {segments} segments", file=start, remedy="give a line for each segment"
        )
    rest = iter(lines)
    return settings, [[next(rest) for _ in document.segments] for document in documents]


def _sentence_features(model: PhraseModel) -> set[str]:
    return {*model.feature_names, *ITG_FEATURES, *(model.sparse.names if model.sparse else ())}


def document_models_of(
    model: PhraseModel, given: DocumentModels, space: Space | None
) -> tuple[tuple[Any, ...], dict[str, float]]:
    """Return document models with their weights: those of the model, and those that are given."""
    known, names = _sentence_features(model), dict[Any, tuple[Any, float]]()
    for named, value in [*((name, one) for name, one in model.weights.items() if name not in known), *given.items()]:
        short = named.removeprefix(PREFIX) if isinstance(named, str) else named
        names[parse_named(short)[0] if isinstance(short, str) else short] = short, value  # settings replace the name
    made = dict[str, tuple[Any, float]]()
    for name, (named, value) in names.items():
        one = _with_space(named, space) if name in SPACED else MODELS.make(named)
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            remedy = "every weight must be a finite number"
            raise InputError(f"the weight of {one.name} is {value!r}", argument="document_models", remedy=remedy)
        made[one.name] = one, float(value)
    if space is not None and not any(isinstance(one, SpaceModel) for one, _ in made.values()):
        raise InputError("no document model uses the semantic space", remedy="add the document model semantic or topic")
    return tuple(one for one, _ in made.values()), {name: value for name, (_, value) in made.items()}


def _settings_digest(models: Sequence[DocumentModel]) -> str:
    """Return a digest of the settings of document models; word vectors and language models have their own."""
    own = [[f"{key}={value}" for key, value in vars(one).items() if key not in LOADED] for one in models]
    return digest([[one.name, *sorted(settings)] for one, settings in zip(models, own, strict=True)])


def _with_space(named: str, space: Space | None) -> SpaceModel:
    """Return a document model that uses word vectors, those of its setting `space` if it has one."""
    name, settings = parse_named(named)
    space = settings.pop("space", space)
    if space is None:
        raise InputError(
            f"the document model {name} needs word vectors",
            remedy="train a semantic space (toledo document semantic-space), and give `semantic_space`",
        )
    return SPACED[name](space, **converted(SPACED[name], settings, name))


def _finish(
    run: DocumentRun,
    text: DocumentText,
    prepared: Preparation,
    keep: Keep,
    output: str | Path | None,
    resume: bool,
    threads: int | None,
    progress: Progress,
) -> DocumentTranslation:
    """Search and write; an interrupted search keeps its states, and ends as the signal would have ended it."""
    is_file = output is not None and str(output) != STANDARD_STREAM
    checkpoint = run.checkpoint(output, resume) if is_file and output is not None else None
    results, interrupted = run.results(checkpoint, threads, progress)
    found = document_translation(run, results, keep)
    if prepared.raw:
        written = (replace(one, texts=tuple(map(prepared.target.write, one.texts))) for one in found)
        found = replace(found, documents=tuple(written))
    if output is not None:
        write_translations(output, text, [document.texts for document in found])
    log.info("%s\nsignature: %s", found.summary(), found.signature)
    if interrupted:
        if checkpoint:
            checkpoint.save_states(STATES, [result.saved_arrays() for result in results])
        how = "continue it with `resume=True`" if checkpoint else "with an `output` file it could be continued"
        log.warning("interrupted: these are the best translations so far; %s", how)
        signal.raise_signal(interrupted)
    elif checkpoint:
        checkpoint.remove()
    return found
