"""Weights of features that a model does not have are mistakes: which they are, and what may have been meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from toledo.errors import InputError
from toledo.model import Model
from toledo.phrases.sparse import TEMPLATES
from toledo.search.itg import ITG_FEATURES
from toledo.weights import Weights

MOST_NAMED = 10


def load_weights(model: Model, path: Path) -> Model:
    """The model with the weights of a file: one for each of its features, and none of others.

    Those of another search may stay.
    """
    given = Weights.load(path)
    remedy = "translate with the model that was tuned: toledo tune writes it with --output-model DIRECTORY"
    require_known(given, known_features(model), path, f"these are sparse features; {remedy}")
    try:
        return model.with_weights(given)
    except InputError as error:
        raise InputError(error.message, file=path, remedy=error.remedy) from None


def known_features(model: Model) -> set[str]:
    """Features that may have a weight: of the model and of all searches."""
    return {*model.feature_names, *model.weights, *ITG_FEATURES, *(model.sparse.names if model.sparse else ())}


def require_known(given: Iterable[str], known: Collection[str], file: str | Path, of_sparse: str) -> None:
    """Refuse names that the model does not have; `of_sparse` is the remedy where they are those of sparse features."""
    if unknown := [name for name in given if name not in known]:
        sparse = sparse_kinds(unknown)
        raise InputError(
            f"the model has no feature {listed([repr(name) for name in unknown])}",
            file=file,
            remedy=of_sparse if sparse else hint(unknown, known),
        )


def sparse_kinds(names: Iterable[str]) -> list[str]:
    """The templates of the sparse features among these."""
    return sorted({kind for name in names for kind in TEMPLATES if name.startswith(f"{kind}:")})


def hint(unknown: Sequence[str], known: Collection[str]) -> str:
    """What may have been meant."""
    close = {match: None for name in unknown[:MOST_NAMED] for match in get_close_matches(name, known, 2)}
    meant = f"did you mean {' or '.join(close)}?" if close else f"there are {listed([*known])}"
    return f"check the name; {meant}"


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
