"""Searches by name, for all commands that search."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toledo.cli.common import refuse_named

if TYPE_CHECKING:
    from toledo.model import Model
    from toledo.search.search import Search

log = logging.getLogger(__name__)

SEARCH = "Search"


class SearchName(StrEnum):
    """Ways to search."""

    beam = "beam"
    itg = "itg"
    gibbs = "gibbs"


SearchOption = Annotated[
    SearchName,
    typer.Option(
        metavar="NAME",
        help="beam: phrase by phrase, gives lattices; itg: neighbouring spans in order or inverted, gives forests; "
        "gibbs: samples.",
        rich_help_panel=SEARCH,
    ),
]
PopLimit = Annotated[
    int, typer.Option(metavar="N", help="For beam: steps per translated word.", min=1, rich_help_panel=SEARCH)
]
SpanBeam = Annotated[
    int,
    typer.Option(
        "--beam",
        metavar="N",
        help="For itg: edges kept per span and way to make it (in order, inverted, phrase).",
        min=1,
        rich_help_panel=SEARCH,
    ),
]


def refuse_other_searches(context: typer.Context, search: SearchName) -> None:
    """Refuse options that say how hard another search is to work."""
    owners = {"pop_limit": SearchName.beam, "beam": SearchName.itg}
    refuse_named(
        context, f"not for --search {search.value}", *(name for name, owner in owners.items() if owner is not search)
    )


def tell_of_joins(search: SearchName, model: Model) -> None:
    """Say what weights of ITG search are to another one: it has no joins, and ITG search has no jumps to tune."""
    from toledo.search.itg import ITG_FEATURES, itg_features

    joins = [name for name in ITG_FEATURES if name in model.weights]
    if search is SearchName.itg or not joins:
        return
    log.warning(
        "--search %s has no %s: these weights are dropped. ITG search has no %s: weights tuned for it leave these as "
        "they were before",
        search.value,
        ", ".join(joins),
        ", ".join(name for name in model.feature_names if name not in itg_features(model)),
    )


@dataclass(frozen=True)
class SearchChoice:
    """Which search, and how hard."""

    name: SearchName
    pop_limit: int
    beam: int

    def __post_init__(self) -> None:
        if self.name is SearchName.gibbs:
            raise ValueError("a sampler is another kind of search: see toledo.cli.translate.sampling")

    def __str__(self) -> str:
        limit = f"pop limit {self.pop_limit}" if self.name is SearchName.beam else f"beam {self.beam}"
        return f"search {self.name.value}, {limit}"

    def with_weights(self, model: Model) -> Model:
        """The model with a weight for every feature of the search."""
        if self.name is SearchName.beam:
            return model
        from toledo.search.itg import itg_weights

        return model.with_weights(itg_weights(model))

    def tell(self, model: Model) -> None:
        """Say once what of a model the search has no use for."""
        if self.name is SearchName.itg and model.table.reordering is not None:
            log.warning("ITG search does not use the reordering table of the model, nor the weights of its features")

    def search(self, model: Model) -> Search[Any]:
        """The search itself."""
        from toledo.search.settings import ITG, Beam

        settings = ITG(self.beam) if self.name is SearchName.itg else Beam(self.pop_limit)
        return settings.search(model)
