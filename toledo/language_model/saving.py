"""A language model as a directory: its arrays and those of its vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from toledo import storage
from toledo.errors import InputError
from toledo.language_model.query import LanguageModel
from toledo.vocabulary import Vocabulary

DESCRIPTION = "language_model.toml"
FORMAT = 1


def save_language_model(directory: str | Path, model: LanguageModel, vocabulary: Vocabulary) -> None:
    """Write a directory atomically; one that is there already is replaced whole."""
    arrays = {f"vocabulary.{name}": array for name, array in vocabulary.to_arrays().items()}
    arrays.update({f"ngrams.{name}": array for name, array in model.to_arrays().items()})
    storage.save(directory, DESCRIPTION, {"format": FORMAT, "order": model.order}, arrays)


def load_language_model(directory: str | Path, vocabulary: Vocabulary) -> LanguageModel:
    """Read what `save_language_model` wrote; words that are new join the vocabulary."""
    content, arrays = storage.load(directory, DESCRIPTION)
    file = Path(directory) / DESCRIPTION
    if content.get("format") != FORMAT:
        raise InputError(
            f"format {content.get('format')}, this version reads {FORMAT}", file=file, remedy="make it again"
        )
    if not {"vocabulary.bytes", "vocabulary.offsets"} <= arrays.keys():
        raise InputError("lacks the vocabulary", file=file, remedy="restore the directory or make it again")
    own = Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"])
    ngrams = {name.removeprefix("ngrams."): array for name, array in arrays.items() if name.startswith("ngrams.")}
    model = LanguageModel.from_arrays(ngrams, len(own))
    ids = np.array([vocabulary.add(word) for word in own], np.int32)
    if np.array_equal(ids, np.arange(ids.size)):
        return model
    return LanguageModel(model.ngrams.renumber_words(ids))
