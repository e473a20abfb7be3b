"""Tuners by name, as `objective` names them: those that are a method, and gradient tuners for each objective.

Nothing compiled is imported before a tuner is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from toledo.objectives.registry import OBJECTIVES
from toledo.settings import Meta, Preset, Registry, Settings, parse_named

if TYPE_CHECKING:
    from toledo.tuning.tuner import Tuner

    Name = Any
else:
    Name = str  # or, in Python, a thing of the kind that the name stands for


class _TunerRegistry(Registry["Tuner"]):
    """Tuners by name; an objective (its name, itself, or a function of expected counts) makes a gradient tuner."""

    def names(self) -> list[str]:
        """Return the names of tuners, then those of objectives."""
        return [*super().names(), *OBJECTIVES.names()]

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or name in OBJECTIVES

    def make(self, named: Any, **overrides: Any) -> Tuner:
        """Return the tuner that `named` stands for; `overrides` are settings on top of its own."""
        if not isinstance(named, str) and self.is_gradient(named):
            return super().make("gradient", objective=named, **overrides)
        return super().make(named, **overrides)

    def is_gradient(self, named: Any) -> bool:
        """Return whether a gradient tuner is made of this: of an objective, but of no other tuner."""
        if not isinstance(named, str):
            return not isinstance(named, type) and not hasattr(named, "tune")
        return parse_named(named)[0] in OBJECTIVES

    def _entry(self, name: str) -> Any:
        if not super().__contains__(name) and name in OBJECTIVES:
            return Preset("gradient", {"objective": name})
        return super()._entry(name)


TUNERS = _TunerRegistry(
    "objective",
    {
        "mert": "toledo.tuning.tuners.mert:MERT",
        "pro": "toledo.tuning.tuners.pro:PRO",
        "mira": "toledo.tuning.tuners.mira:MIRA",
        "mmi": "toledo.tuning.tuners.mmi:MMI",
        "regression": "toledo.tuning.tuners.pro:Regression",
        "simplex": "toledo.tuning.tuners.simplex:Simplex",
        "gradient": "toledo.tuning.tuners.gradient:Gradient",
    },
)

Count = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class TuneSettings(Settings):
    """How to tune; None stands for the default in brackets, and for settings that the chosen search has no use for."""

    objective: Annotated[
        Name, Meta(description="Tuner or objective, as NAME or NAME:key=value,… (see `toledo list objectives`).")
    ] = "mert"
    metric: Annotated[Name, Meta(description="Metric to tune for, as NAME or NAME:key=value,….")] = "bleu"
    rule: Annotated[
        Name | None, Meta(description="Decision rule whose choices are scored. [viterbi, by samples: mbr]")
    ] = None
    scale: Annotated[float | None, Meta(description="Factor of scores for that rule. [1]")] = None
    search: Annotated[
        Name,
        Meta(description="Search. [beam:pop_limit=200, itg:beam=50, gibbs:chains=1,iterations=200,burn_in=50]"),
    ] = "beam"
    rounds: Annotated[
        Count | None,
        Meta(description="Maximum number of rounds. [10; annealing by samples: until annealing has finished]"),
    ] = None
    patience: Annotated[Count | None, Meta(description="Stop after this many rounds without a better score. [4]")] = (
        None
    )
    runs: Annotated[int, Meta(ge=1, description="Number of runs, with consecutive seeds; the best one counts.")] = 1
    initial: Annotated[Name, Meta(description="Weights to start from: model, default, zero, or a weights file.")] = (
        "model"
    )
    max_features: Annotated[
        Count | None, Meta(description="Number of sparse features of each kind, the most frequent ones. [20,000]")
    ] = None
    nbest: Annotated[Count | None, Meta(description="Number of texts in each n-best list. [100]")] = None
    density: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Edges per word of each lattice. [50 are kept, of which gradients see 30]"),
    ] = None
    on: Annotated[
        Literal["lists", "forests"] | None, Meta(description="Tune on n-best lists or on lattices. [as usual]")
    ] = None
