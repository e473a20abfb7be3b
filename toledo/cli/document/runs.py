"""Searches of documents as options and configurations want them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.formats.documents import DocumentText, read_documents, with_reference, write_translations
from toledo.model import Model
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.models.readability import LIX, OVIX, LengthParity, TypeTokenRatio
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import (
    DocumentConfiguration,
    DocumentSettings,
    bleu_settings,
    read_configuration,
)
from toledo.tuning.initial import hint, known_features
from toledo.weights import Weights

log = logging.getLogger(__name__)

MODELS = {model.name: model for model in (LengthParity, TypeTokenRatio, OVIX, LIX, LexicalConsistency, BLEUModel)}
BLEU, SEMANTIC = BLEUModel.name, SemanticModel.name


def resolved(
    config: Path | None, weights: Path | None, options: DocumentConfiguration, record: str | None
) -> DocumentConfiguration:
    """A configuration file, the weights of another one, and options, each before the ones before it.

    `record` says when to record states if none of these does.
    """
    found = DocumentConfiguration({} if record is None else {"record": record})
    if config is not None:
        found = found.changed(read_configuration(config))
    if weights is not None:
        found = found.changed(DocumentConfiguration(weights=dict(Weights.load(weights))))
    return found.changed(options)


def make_search(
    model: Model, configuration: DocumentConfiguration, space: Path | None, text: DocumentText
) -> DocumentSearch:
    """The search of a configuration. Where there are references, BLEU is watched, too."""
    return _search(_weighted(model, configuration), configuration, space, text)


def _weighted(model: Model, configuration: DocumentConfiguration) -> Model:
    """The model with the weights of a configuration: they choose options and make the start as well.

    All of them are 0 where only BLEU is searched for; then the model's own choose.
    """
    own = {*model.feature_names, *(model.sparse.names if model.sparse else ())}
    given = {name: value for name, value in configuration.weights.items() if name in own}
    return model.with_weights(Weights({**model.weights, **given})) if any(given.values()) else model


def _search(
    model: Model,
    configuration: DocumentConfiguration,
    space: Path | None,
    text: DocumentText,
    base: DocumentSettings | None = None,
) -> DocumentSearch:
    weights, known = {**model.weights, **configuration.weights}, known_features(model)
    names = [name for name in configuration.weights if name not in known]
    referenced = all(part.references for document in text.documents for part in document.segments)
    if referenced and BLEU not in weights:
        weights[BLEU] = 0.0
        names.append(BLEU)
    if BLEU in names and not referenced:
        raise InputError("BLEU without references", remedy="give --reference FILE, or leave its weight out")
    models = document_models(names, space, model)
    return DocumentSearch(model, configuration.settings(base), models, Weights(weights))


def make_bleu_search(
    model: Model, configuration: DocumentConfiguration, text: DocumentText, guided: bool = False
) -> DocumentSearch:
    """A search for the references: BLEU decides alone; with `guided` the sentence model proposes."""
    weighted = _weighted(model, configuration)
    weights = bleu_weights(weighted.weights, guided)
    return _search(
        weighted, replace(configuration, weights=weights), None, text, bleu_settings(DocumentSettings(), guided)
    )


def read_or_draw(
    path: str, source: str, document_ids: Path | None, model: Model, configuration: DocumentConfiguration
) -> DocumentText:
    """Documents with a reference from a file; if there is none, it is drawn: a random translation, so within reach."""
    if Path(path).exists():
        log.info("%s: taken as the reference", path)
        return read_documents(source, [path], document_ids)
    text = read_documents(source, (), document_ids)
    settings = configuration.settings()
    drawn = DocumentSettings(operations=settings.operations, steps=0, start="random", seed=settings.seed + 1)
    results = DocumentSearch(_weighted(model, configuration), drawn).search(text.documents)
    lines = [[" ".join(part.words) for part in result.translations] for result in results]
    write_translations(path, text, lines, kind="reference")
    return with_reference(text, lines)


def document_models(names: Sequence[str], space: Path | None, model: Model) -> tuple[Any, ...]:
    """Document models by the names of their features."""
    models = tuple(_document_model(name, space, model) for name in names)
    if space is not None and SEMANTIC not in names:
        raise InputError("a semantic space that no model uses", remedy="add --model semantic=0.1, say")
    return models


def _document_model(name: str, space: Path | None, model: Model) -> Any:
    """A document model by the name of its feature; `semantic` needs a space."""
    if name == SEMANTIC:
        if space is None:
            raise InputError(
                "the model semantic needs word vectors",
                remedy="make them with toledo document semantic-space, and give --semantic-space DIR",
            )
        return SemanticModel(SemanticSpace.load(space))
    if name not in MODELS:
        known = [*MODELS, SEMANTIC, *model.feature_names]
        raise InputError(f"there is no feature or document model {name!r}", remedy=hint([name], known))
    return MODELS[name]()
