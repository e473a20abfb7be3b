"""Words with senses that only the document tells: what document models find, and no sentence system can."""

import pytest
from beam_twin import small_model
from small_documents import document_of

from toledo.search.document.models.cache import CacheModel
from toledo.search.document.models.consistency import LexicalConsistency, TranslationClusters
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.weights import Weights

SCORES = (-0.1, -0.2, -0.3, -0.4)
CONTENT = {
    (("lens",), ("telescope",)): SCORES,
    (("lens",), ("ledger",)): SCORES,
    (("lensus",), ("telescopes",)): SCORES,
    (("lensus",), ("ledgers",)): SCORES,
    (("lens", "star"), ("telescope", "starry")): SCORES,
    (("lens", "bank"), ("ledger", "fiscal")): SCORES,
}
MODEL = small_model(CONTENT, (2,), 3, False, [0.3, 0.2, 0.0, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2])
TWINS = [[["lens", "star"], ["lens"], ["lensus"]], [["lens", "bank"], ["lens"], ["lensus"]]]


def found(model: DocumentModel | None) -> list[list[str]]:
    """The translations of the second and third sentence of both documents."""
    models = [] if model is None else [model]
    weights = Weights({**MODEL.weights, **({} if model is None else {model.name: 20.0})})
    settings = DocumentSettings(steps=2000)
    search = DocumentSearch(MODEL.with_weights(weights), settings, models, weights)
    results = search.search([document_of(sources) for sources in TWINS])
    return [[" ".join(part.words) for part in result.translations[1:]] for result in results]


def test_without_document_models_both_twins_are_translated_alike() -> None:
    first, second = found(None)
    assert first == second


def test_clusters_find_the_sense_of_each_document_in_all_forms() -> None:
    assert found(TranslationClusters(letters=3)) == [["telescope", "telescopes"], ["ledger", "ledgers"]]


@pytest.mark.parametrize("model", [LexicalConsistency(), CacheModel()])
def test_consistency_and_cache_know_the_same_form_only(model: DocumentModel) -> None:
    first, second = found(model)
    assert (first[0], second[0]) == ("telescope", "ledger")
