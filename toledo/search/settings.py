"""Settings of each search. Imports neither NumPy nor Numba, so that the command line can describe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from toledo.errors import InputError
from toledo.settings import Meta, Registry, Settings, unknown_name

if TYPE_CHECKING:
    from toledo.model import PhraseModel
    from toledo.search.beam.search import BeamSearch
    from toledo.search.gibbs.search import GibbsSearch
    from toledo.search.itg import ITGSearch
    from toledo.search.search import Search
    from toledo.weights import Weights

OPERATORS = ("retrans", "merge-split", "reorder", "move", "resegment")
REHEATING = (2.0, 4.0, 6.0, 8.0, 10.0, 8.0, 6.0, 4.0, 2.0)

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0, le=1e100)]


class SearchKind(Protocol):
    """Settings of one kind of search, which can make it."""

    def search(self, model: PhraseModel, weights: Weights | None = None, seed: int = 1) -> Search[Any]:
        """Make the search for a model, with other weights if they are given."""


@dataclass(frozen=True)
class Beam(Settings):
    """Beam search phrase by phrase with cube pruning (Huang and Chiang 2007); gives lattices."""

    pop_limit: Annotated[Count, Meta(description="Hypotheses expanded for each number of translated words.")] = 400

    def search(self, model: PhraseModel, weights: Weights | None = None, seed: int = 1) -> BeamSearch:
        """Make the search for a model; nothing in it is random."""
        from toledo.search.beam.search import BeamSearch

        return BeamSearch(model if weights is None else model.with_weights(weights), self)


@dataclass(frozen=True)
class ITG(Settings):
    """Search with an inversion transduction grammar (Wu 1997): neighboring spans in order or inverted; gives forests.

    Spans beyond the longest are joined from the left in order. Time grows faster than sentences do: 3.7 to 4.9 ms were
    measured for each word of 40 at a beam of 100, and 6.3 to 7.1 for each of 100.
    """

    beam: Annotated[Count, Meta(description="Edges kept for each span and type (in order, inverted, phrase).")] = 100
    longest_span: Annotated[Count, Meta(description="Longest span that may be inverted, in source words.")] = 20
    order: Annotated[Count, Meta(description="Length of the n-grams that are local to edges; 4 for BLEU.")] = 4

    def search(self, model: PhraseModel, weights: Weights | None = None, seed: int = 1) -> ITGSearch:
        """Make the search for a model; nothing in it is random."""
        from toledo.search.itg import ITGSearch

        return ITGSearch(model if weights is None else model.with_weights(weights), self)


@dataclass(frozen=True)
class Gibbs(Settings):
    """Gibbs sampling of derivations (Arun et al. 2009) from p ∝ exp(scale · score); gives lists of samples.

    Temperatures divide the scale. Nothing is kept of the iterations of `annealing` before the first chain and of
    `reheating` between chains, each of which starts where the last one ended. Without all `operators` a chain may not
    reach all derivations.
    """

    chains: Annotated[Count, Meta(description="Number of chains.")] = 2
    iterations: Annotated[Count, Meta(description="Iterations of each chain after the burn-in.")] = 5000
    burn_in: Annotated[int, Meta(ge=0, description="Iterations of each chain before the first sample is kept.")] = 100
    thinning: Annotated[Count, Meta(description="Keep only the sample of every n-th iteration.")] = 1
    scale: Annotated[
        Positive | None, Meta(description="Factor for model scores; by default 4 over the norm of the weights.")
    ] = None
    annealing: Annotated[tuple[Positive, ...], Meta(description="Temperatures before the first chain.")] = ()
    reheating: Annotated[tuple[Positive, ...], Meta(description="Temperatures between chains.")] = REHEATING
    start: Annotated[Literal["beam", "random"], Meta(description="Where the first chain starts.")] = "beam"
    operators: Annotated[tuple[str, ...], Meta(description="Operators of an iteration.")] = OPERATORS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thinning > self.iterations:
            raise InputError(
                f"thinning is {self.thinning}, more than the {self.iterations} iterations: no sample would be kept",
                argument="thinning",
            )
        for name in self.operators:
            if name not in OPERATORS:
                raise unknown_name("operator", name, list(OPERATORS))

    def search(self, model: PhraseModel, weights: Weights | None = None, seed: int = 1) -> GibbsSearch:
        """Make the sampler for a model; the same seed draws the same samples of a sentence."""
        from toledo.search.gibbs.search import GibbsSearch

        return GibbsSearch(model if weights is None else model.with_weights(weights), self, seed)


SEARCHES: Registry[SearchKind] = Registry(
    "search",
    {
        "beam": "toledo.search.settings:Beam",
        "itg": "toledo.search.settings:ITG",
        "gibbs": "toledo.search.settings:Gibbs",
    },
)
