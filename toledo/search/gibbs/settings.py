"""How to sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.search.gibbs.running import NOTHING_KEPT, Plan
from toledo.search.gibbs.state import OPERATORS

STARTS = ("beam", "random")
RANDOM_SWEEPS = 10  # without any sharpness, after a random start
REHEATING = (2.0, 4.0, 6.0, 8.0, 10.0, 8.0, 6.0, 4.0, 2.0)


@dataclass(frozen=True)
class GibbsSettings:
    """Samples are kept from `chains` runs of so many `iterations`, every `thinning`-th, after a `burn_in` each.

    p(derivation) ∝ exp(scale · score). Temperatures divide the scale: `annealing` has those of iterations before the
    first chain, `reheating` those between chains, which start where the last one ended; nothing is kept of them. The
    first chain starts with what a beam search finds, or at random. Without all `operators` a chain may not reach all
    derivations.
    """

    iterations: int = 1000
    chains: int = 2
    burn_in: int = 100
    thinning: int = 1
    scale: float = 1.0
    annealing: tuple[float, ...] = ()
    reheating: tuple[float, ...] = REHEATING
    start: str = "beam"
    seed: int = 1
    operators: tuple[str, ...] = OPERATORS

    def __post_init__(self) -> None:
        if min(self.iterations, self.chains, self.thinning) < 1 or self.burn_in < 0:
            raise ValueError("a sampler needs at least one chain, iteration and step, and no negative burn-in")
        if self.thinning > self.iterations:
            raise ValueError(f"of {self.iterations} iterations none is kept with a thinning of {self.thinning}")
        if not 0.0 < self.scale < np.inf:
            raise ValueError(f"a scale is a positive number, not {self.scale}")
        if not all(0.0 < temperature < np.inf for temperature in (*self.annealing, *self.reheating)):
            raise ValueError("temperatures are positive numbers")
        if self.start not in STARTS:
            raise ValueError(f"no start {self.start!r}: choose from {', '.join(STARTS)}")
        if unknown := set(self.operators) - set(OPERATORS):
            raise ValueError(f"no operator {min(unknown)!r}: choose from {', '.join(OPERATORS)}")

    def plan(self) -> Plan:
        """What to do in each iteration, for compiled code."""
        samples = self.iterations // self.thinning
        heat = [self.scale / temperature for temperature in self.annealing]
        reheat = [self.scale / temperature for temperature in self.reheating]
        sharpness = [0.0] * (RANDOM_SWEEPS if self.start == "random" else 0)
        chain: list[int] = []
        for number in range(self.chains):
            sharpness += [*(reheat if number else heat), *[self.scale] * (self.burn_in + self.thinning * samples)]
            chain += [NOTHING_KEPT] * (len(sharpness) - len(chain) - self.thinning * samples)
            chain += ([NOTHING_KEPT] * (self.thinning - 1) + [number]) * samples
        operators = np.array([name in self.operators for name in OPERATORS])
        return Plan(np.array(sharpness), np.array(chain, np.int32), self.chains, samples, operators)
