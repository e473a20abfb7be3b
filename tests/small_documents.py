"""Tiny documents with every document model, for tests."""

from collections.abc import Iterable, Sequence

import numpy as np
from beam_twin import Steps, small_model

from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.cache import CacheModel
from toledo.search.document.models.consistency import LexicalConsistency, TranslationClusters
from toledo.search.document.models.context import ContextModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.models.readability import LIX, OVIX, LengthParity, TypeTokenRatio
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace
from toledo.search.document.models.topic import TopicModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.search.document.state import Snapshot
from toledo.text.corpus import Document, Segment
from toledo.weights import Weights

SPELLING = {"x": "six-six", "y": "yellowy", "z": "."}  # seven characters but six letters, a long word, no word
SPACE = SemanticSpace(
    ("x", "y", "c", "six-six", "yellowy"),
    np.array([[40, -9], [7, 30], [-12, -11], [35, -2], [9, 28]], np.int32),
    np.linspace(-0.8, 0.5, 7) ** 3,
)
DOCUMENT_LM = LanguageModel.train(
    [
        "six-six yellowy <br> x yellowy . <br>",
        "yellowy y <br> yellowy six-six <br> x c <br>",
        "x <br> c six-six . <br>",
    ],
    order=3,
)
MODELS: list[DocumentModel] = [
    LengthParity(),
    TypeTokenRatio(),
    OVIX(),
    LIX(),
    LexicalConsistency(shortest=1, ignored=frozenset("b")),
    TranslationClusters(shortest=1, letters=1),
    CacheModel(shortest=6),
    TopicModel(SPACE),
    SemanticModel(SPACE, context=2),
    ContextModel(DOCUMENT_LM),
    BLEUModel(),
]
FEATURE_WEIGHTS = {
    "document.parity": 0.7,
    "document.type-token": 2.0,
    "document.ovix": 0.1,
    "document.lix": -0.05,
    "document.consistency": 1.5,
    "document.clusters": 0.8,
    "document.cache": 1.2,
    "document.topic": 0.9,
    "document.semantic": 0.6,
    "document.context": 0.1,
    "bleu": 0.02,
}


def two_word_model() -> PhraseModel:
    """Two source words with two translations each, and a phrase of both; a bigram model, distortion limit 3."""
    content = {
        (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
        (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
        (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
        (("b",), ("z",)): (-0.1, -0.9, -0.3, -0.1),
        (("a", "b"), ("y", "x")): (-0.1, -0.2, -0.3, -0.4),
    }
    return small_model(content, (2,), 3, False, [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2])


def references_of(sources: Sequence[Sequence[str]]) -> list[list[list[str]]]:
    """One reference or two for each sentence."""
    letters = dict(zip("abcd", "xyzd", strict=True))
    plain = [[letters[word] for word in source] for source in sources]
    return [[text, [*text[::-1], "x"]] if k % 2 else [text] for k, text in enumerate(plain)]


def spelled(words: Iterable[str]) -> tuple[str, ...]:
    """The same words, some of them long, and some none by the rules of text measures."""
    return tuple(SPELLING.get(word, word) for word in words)


def document_of(sources: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]] = ()) -> Document:
    segments = [
        Segment(i, tuple(source), tuple(tuple(text) for text in references[i]) if references else ())
        for i, source in enumerate(sources)
    ]
    return Document("small", tuple(segments))


def search_of(model: PhraseModel, settings: DocumentSettings, models: Sequence[DocumentModel] = ()) -> DocumentSearch:
    """With weights for all models."""
    weights = Weights({**model.weights, **FEATURE_WEIGHTS})
    return DocumentSearch(model.with_weights(weights), settings, models)


def state_of(snapshot: Snapshot) -> tuple[Steps, ...]:
    return tuple(
        tuple((step.begin, step.end, step.pair) for step in translation.steps) for translation in snapshot.translations
    )
