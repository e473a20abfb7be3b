"""The arrays of document models for one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.search.document.arrays import Text
from toledo.search.document.models.kinds import BLEUModel, DocumentModel, LexicalConsistency, SemanticModel
from toledo.search.document.models.known import Known
from toledo.search.document.models.measures import (
    FEATURES,
    FRACTION,
    IS_LONG,
    IS_WORD,
    NOTHING,
    ORDER,
    SIZE,
    Measures,
    Vectors,
)
from toledo.search.document.models.reference_tries import build_references
from toledo.search.document.models.translations import number_translations

LONG_WORD = 7  # letters, for LIX


def build_measures(known: Known, models: Sequence[DocumentModel], weights: Mapping[str, float]) -> Measures:
    """Counts of nothing; models that are not given are not active."""
    by_name = {model.name: model for model in models}
    if len(by_name) != len(models):
        raise ValueError("a document model is given twice")
    words, types = np.unique(known.text.options.words, return_inverse=True)
    spelled = known.model.target_vocabulary.words(words.tolist())
    room = _longest_change(known.text)
    consistency, semantic, bleu = (by_name.get(name) for name in FEATURES[4:])
    return Measures(
        np.array([*(name in by_name for name in FEATURES), bool(by_name)]),
        np.array([weights[name] if name in by_name else 0.0 for name in FEATURES]),
        types.astype(np.int32),
        np.array([_kind(word) for word in spelled], np.uint8),
        np.zeros(words.size, np.int32),
        np.zeros(len(known.sources), np.int64),
        np.zeros(SIZE, np.int64),
        np.zeros(SIZE, np.int64),
        np.zeros(len(FEATURES)),
        np.zeros(len(FEATURES)),
        np.zeros(2),
        _logarithms(known.text, room),
        np.zeros(2 + 3 * ORDER),
        number_translations(known, consistency if isinstance(consistency, LexicalConsistency) else None),
        _vectors(spelled, semantic if isinstance(semantic, SemanticModel) else None, room),
        build_references(known, spelled, types, bleu if isinstance(bleu, BLEUModel) else None, room),
    )


def _kind(word: str) -> int:
    is_word = any(map(str.isalnum, word))
    return IS_WORD * is_word | IS_LONG * (is_word and sum(map(str.isalpha, word)) >= LONG_WORD)


def _longest_change(text: Text) -> int:
    """No change has more target words."""
    longest_sentence = int(np.diff(text.words).max(initial=0))
    return longest_sentence * int(text.options.lengths.max(initial=1))


def _logarithms(text: Text, room: int) -> NDArray[np.float64]:
    """Of all numbers of words that there can be, and some more; that of 0 is not used."""
    most = int(text.words[-1]) * int(text.options.lengths.max(initial=1)) + room + 2 * ORDER
    return np.log(np.maximum(np.arange(most + 1), 1).astype(np.float64))


def _vectors(spelled: Sequence[str], wanted: SemanticModel | None, room: int) -> Vectors:
    if wanted is None:
        return Vectors(
            np.full(len(spelled), NOTHING, np.int32), np.zeros((0, 1), np.int32), np.zeros(0), np.zeros(1, np.int64),
            1, np.zeros(1, np.int64), np.zeros(1, np.int32),
        )  # fmt: skip
    space, context = wanted.space, wanted.context
    rows = {word: row for row, word in enumerate(space.words)}
    return Vectors(
        np.array([rows.get(word, NOTHING) for word in spelled], np.int32),
        np.ascontiguousarray(space.vectors, np.int32),
        np.linalg.norm(space.vectors.astype(np.float64), axis=1),
        np.round(space.worth * FRACTION).astype(np.int64),
        context,
        np.zeros(space.vectors.shape[1], np.int64),
        np.zeros(2 * context + 2 * room + 1, np.int32),
    )
