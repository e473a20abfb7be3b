"""Where tuning begins: weights by name or from a file, with what is frozen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from toledo.cli.known_weights import hint, listed, require_known, sparse_kinds
from toledo.errors import InputError
from toledo.model import default_weights
from toledo.search.itg import ITG_FEATURES
from toledo.weights import Weights

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """Where to begin (`model`, `default`, `zero` but for frozen ones, or a weights file), and what is frozen."""

    initial: str
    frozen: str | None

    def weights(
        self,
        names: Sequence[str],
        own: Weights | None,
        complete: Callable[[Weights], Weights] = lambda some: some,
        sparse: Sequence[str] = (),
    ) -> Weights:
        """The weights for features of these names; `own` are those of the model, if there is one.

        `complete` adds the weights of further features, which may be frozen as all others. `sparse` features of these
        names may have weights, too.
        """
        if self.initial == "model" and own is not None:
            weights = complete(own)
        elif self.initial in ("model", "default", "zero"):
            weights = complete(default_weights(names))
        else:
            weights = complete(self._loaded(names, own, sparse))
        if self.frozen is not None:
            weights = replace(weights, frozen=_frozen(self.frozen, weights))
        if self.initial == "zero":
            zero = {name: value if name in weights.frozen else 0.0 for name, value in weights.items()}
            weights = replace(weights, values_by_name=zero)
        return weights

    def _loaded(self, names: Sequence[str], own: Weights | None, sparse: Sequence[str]) -> Weights:
        """Those of a file; what it does not name comes from the model."""
        given = Weights.load(self.initial)
        if own is None:
            try:
                given.array(names)
            except InputError as error:
                raise InputError(error.message, file=self.initial, remedy=error.remedy) from None
            return given
        known = {*names, *own, *ITG_FEATURES, *sparse}
        kinds = ",".join(sparse_kinds(given))
        remedy = f"these are sparse features: give --sparse {kinds}, or tune a model that has them"
        require_known(given, known, self.initial, remedy)
        return _completed(given, own, self.initial)


def _completed(given: Weights, own: Weights, file: str) -> Weights:
    missing = [name for name in own if name not in given]
    if not missing:
        return given
    log.info("%s: no weight for %s: taken from the model", file, listed(missing))
    return Weights(
        {**own, **given},
        given.frozen | own.frozen.intersection(missing),
        {**{name: pair for name, pair in own.bounds.items() if name in missing}, **given.bounds},
    )


def _frozen(text: str, weights: Weights) -> frozenset[str]:
    names = text.replace(",", " ").split()
    if unknown := [name for name in names if name not in weights]:
        raise InputError(f"--frozen: no weight is named {listed(unknown)}", remedy=hint(unknown, weights))
    return frozenset(names)
