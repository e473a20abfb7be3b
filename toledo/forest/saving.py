"""Forests on disk: a directory of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from toledo import storage
from toledo.errors import InputError
from toledo.forest.forest import Forest, Shape, Yields
from toledo.forest.linear import SparseArrays, SparseFeatures
from toledo.text.vocabulary import Vocabulary

DESCRIPTION = "forest.toml"
FORMAT = 1


def save_forest(forest: Forest, directory: str | Path) -> None:
    """Write a forest atomically."""
    words = forest.vocabulary.to_arrays()
    arrays: dict[str, NDArray[Any]] = {
        **forest.shape._asdict(),
        "yield_offsets": forest.yields.offsets,
        "yield_words": forest.yields.words,
        "features": forest.features,
        "vocabulary.bytes": words["bytes"],
        "vocabulary.offsets": words["offsets"],
    }
    if forest.base is not None:
        arrays["base"] = forest.base
    if forest.provenance is not None:
        arrays["provenance"] = forest.provenance
    if forest.sparse is not None:
        arrays.update({f"sparse.{name}": array for name, array in forest.sparse.arrays._asdict().items()})
    content = {
        "format": FORMAT,
        "features": list(forest.feature_names),
        "sparse_features": list(forest.sparse.names) if forest.sparse else [],
    }
    storage.save(directory, DESCRIPTION, content, arrays)


def load_forest(directory: str | Path) -> Forest:
    """Read what `save_forest` wrote; nothing is believed before it is checked."""
    content, arrays = storage.load(directory, DESCRIPTION)
    if content.get("format") != FORMAT:
        raise InputError(
            f"forest format {content.get('format')}, this version reads {FORMAT}",
            file=Path(directory) / DESCRIPTION,
            remedy="make the forest again",
        )
    try:
        sparse = None
        if "sparse.offsets" in arrays:
            sparse = SparseFeatures(
                tuple(content["sparse_features"]), SparseArrays(*(arrays[f"sparse.{n}"] for n in SparseArrays._fields))
            )
        return Forest(
            shape=Shape(*(arrays[name] for name in Shape._fields)),
            yields=Yields(arrays["yield_offsets"], arrays["yield_words"]),
            features=arrays["features"],
            feature_names=tuple(content["features"]),
            vocabulary=Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"]),
            base=arrays.get("base"),
            sparse=sparse,
            provenance=arrays.get("provenance"),
        )
    except KeyError as error:
        raise InputError(f"lacks {error}", file=Path(directory) / DESCRIPTION, remedy="make the forest again") from None
    except InputError as error:
        raise InputError(error.message, file=directory, remedy=error.remedy) from None
