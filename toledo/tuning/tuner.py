"""What a tuner is: from tuning examples and weights to better weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toledo.progress import Progress
from toledo.tuning.examples import Examples
from toledo.weights import Weights


@dataclass(frozen=True)
class Tuned:
    """What a tuner found: weights, and what it maximised there.

    `details` are further figures for the history, `path` is the objective after each step of those who make steps.
    """

    weights: Weights
    objective: float
    details: Mapping[str, float] = field(default_factory=dict)
    path: tuple[float, ...] = ()


class Tuner(Protocol):
    """A way to find weights. `wants` says which search spaces the loop must collect for it."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def wants(self) -> Literal["lists", "forests"]:
        """N-best lists, or whole lattices and forests."""
        ...

    def tune(self, examples: Examples, start: Weights, *, seed: int, threads: int | None, progress: Progress) -> Tuned:
        """Better weights for all that the search has found so far; the same seed gives the same weights."""
        ...
