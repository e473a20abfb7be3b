"""Where tuning begins: named or given weights, with what is frozen; unknown names are refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from toledo.errors import InputError
from toledo.model import PhraseModel, default_weights
from toledo.phrases.sparse import TEMPLATES, sparse_features
from toledo.search.itg import ITG_FEATURES
from toledo.settings import unknown_name
from toledo.weights import Weights

log = logging.getLogger(__name__)

MOST_NAMED = 10
# Smith (2015), Table 4.2, otherwise agrees with Moses: 100 for an unknown word that counts −1 is 1 for one that counts
# −100, and the last of the five scores of a table is taken for the phrase penalty.
DOCENT_DEFAULTS = {"distortion": 0.6}


@dataclass(frozen=True)
class Initial:
    """Initial weights and frozen names.

    The weights are named `model`, `default`, `docent` or `zero` (except frozen ones), come from a file, or are given.
    """

    initial: str | Path | Weights = "model"
    frozen: Sequence[str] | None = None

    def weights(
        self,
        names: Sequence[str],
        own: Weights | None,
        complete: Callable[[Weights], Weights] = lambda some: some,
        sparse: Sequence[str] = (),
    ) -> Weights:
        """Return the weights for features of these names; `own` are those of the model, if there is one.

        `complete` adds the weights of further features, which may be frozen like all others. `sparse` features of these
        names may have weights, too.
        """
        if self.initial == "model" and own is not None:
            weights = complete(own)
        elif self.initial in ("model", "default", "zero"):
            weights = complete(default_weights(names))
        elif self.initial == "docent":
            weights = complete(docent_weights(names))
        else:
            weights = complete(self._loaded(names, own, sparse))
        if self.frozen is not None:
            weights = with_frozen(weights, self.frozen)
        if self.initial == "zero":
            zero = {name: value if name in weights.frozen else 0.0 for name, value in weights.items()}
            weights = replace(weights, values_by_name=zero)
        return weights

    def _loaded(self, names: Sequence[str], own: Weights | None, sparse: Sequence[str]) -> Weights:
        """Return given weights, or those of a file; what they do not name comes from the model."""
        file = None if isinstance(self.initial, Weights) else self.initial
        given = self.initial if isinstance(self.initial, Weights) else Weights.load(self.initial)
        if own is None:
            try:
                given.array(names)
            except InputError as error:
                raise InputError(error.message, file=file, argument="initial", remedy=error.remedy) from None
            return given
        kinds = ", ".join(sparse_kinds(given))
        remedy = f"these are sparse features: add them (features: {kinds}), or tune a model that has them"
        require_known(given, {*names, *own, *ITG_FEATURES, *sparse}, file, remedy)
        return _completed(given, own, file or "initial")


def docent_weights(names: Sequence[str]) -> Weights:
    """Return Docent's default weights; features that Docent does not have get those of Moses."""
    weights = default_weights(names)
    return replace(weights, values_by_name={name: DOCENT_DEFAULTS.get(name, value) for name, value in weights.items()})


def _completed(given: Weights, own: Weights, file: str | Path) -> Weights:
    missing = [name for name in own if name not in given]
    if not missing:
        return given
    log.info("%s: no weight for %s: taken from the model", file, shortened(missing))
    return Weights(
        {**own, **given},
        given.frozen | own.frozen.intersection(missing),
        {**{name: pair for name, pair in own.bounds.items() if name in missing}, **given.bounds},
    )


def with_frozen(weights: Weights, names: Sequence[str]) -> Weights:
    """Return the weights with these names frozen and no others."""
    if unknown := [name for name in names if name not in weights]:
        raise InputError(
            f"frozen: no weight is named {shortened(unknown)}", argument="frozen", remedy=hint(unknown, weights)
        )
    return replace(weights, frozen=frozenset(names))


def with_sparse(model: PhraseModel, templates: Sequence[str], most: int) -> PhraseModel:
    """Return the model with sparse features of the most frequent phrase pairs, words, …, if any are named."""
    if not templates:
        return model
    if unknown := [name for name in templates if name not in TEMPLATES]:
        raise unknown_name("sparse feature", unknown[0], [*TEMPLATES])
    return replace(model, sparse=sparse_features(model.table, [TEMPLATES[name] for name in templates], most))


def load_weights(model: PhraseModel, path: Path) -> PhraseModel:
    """Return the model with the weights of a file: one for each of its features, and no others.

    Weights of features of another search are accepted.
    """
    given = Weights.load(path)
    remedy = "these are sparse features; translate with the model that was tuned"
    require_known(given, known_features(model), path, remedy)
    try:
        return model.with_weights(given)
    except InputError as error:
        raise InputError(error.message, file=path, remedy=error.remedy) from None


def known_features(model: PhraseModel) -> set[str]:
    """Return the features that may have a weight: those of the model and of all searches."""
    return {*model.feature_names, *model.weights, *ITG_FEATURES, *(model.sparse.names if model.sparse else ())}


def require_known(given: Iterable[str], known: Collection[str], file: str | Path | None, of_sparse: str) -> None:
    """Refuse names that the model does not have; `of_sparse` is the remedy if they are those of sparse features."""
    if unknown := [name for name in given if name not in known]:
        raise InputError(
            f"the model has no feature {shortened([repr(name) for name in unknown])}",
            file=file,
            remedy=of_sparse if sparse_kinds(unknown) else hint(unknown, known),
        )


def sparse_kinds(names: Iterable[str]) -> list[str]:
    """Return the templates of the sparse features among these."""
    return sorted({kind for name in names for kind in TEMPLATES if name.startswith(f"{kind}:")})


def hint(unknown: Sequence[str], known: Collection[str]) -> str:
    """Return the names that were probably meant."""
    close = {match: None for name in unknown[:MOST_NAMED] for match in get_close_matches(name, known, 2)}
    meant = f"did you mean {' or '.join(close)}?" if close else f"there are {shortened([*known])}"
    return f"check the name; {meant}"


def shortened(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
