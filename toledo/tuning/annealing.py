"""Deterministic annealing: from a smooth landscape to the true one (Smith and Eisner 2006; Arun et al. 2010).

At temperature T not J alone is maximised, but J + T · H with the mean entropy H of the segments, in nats. A high
temperature keeps distributions flat and leaves few maxima. As it falls, the maximum found is followed. At the end T is
0, so the result is a maximum of J itself.

Quenching goes on below 0: entropy is punished, distributions become sharp, and expectations come close to counts in the
best translations. Viterbi decoding then gets what was tuned, at the price of a less smooth objective.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Annealing:
    """Temperatures from `start` down to `end` by the factor `cooling`, then 0; then those of `quenching`, below 0.

    A temperature is a gain of the objective per nat; at most `steps` are spent at each but 0. An objective between 0
    and 1 changes by 0.01 for a point of BLEU.
    """

    start: float = 0.1
    cooling: float = 0.5
    end: float = 0.001
    quenching: tuple[float, ...] = ()
    steps: int = 15

    def __post_init__(self) -> None:
        if not (self.start >= self.end > 0.0 and 0.0 < self.cooling < 1.0 and self.steps > 0):
            raise ValueError("annealing needs start ≥ end > 0, a cooling between 0 and 1, and steps")
        if any(temperature >= 0.0 for temperature in self.quenching):
            raise ValueError("temperatures of quenching are below 0")

    @property
    def falling(self) -> tuple[float, ...]:
        """The temperatures above 0."""
        falling, temperature = [], self.start
        while temperature >= self.end * (1.0 - 1e-9):
            falling.append(temperature)
            temperature *= self.cooling
        return tuple(falling)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """All temperatures in order."""
        return (*self.falling, 0.0, *self.quenching)

    @property
    def warm_steps(self) -> int:
        """How many steps there are above 0, where each temperature has `steps` of them; then it is cold."""
        return self.steps * len(self.falling)

    def at(self, step: int) -> float:
        """The temperature of one of these steps, counted from 0."""
        return self.falling[step // self.steps]


class Cooling:
    """What trainers with an `annealing` know of it."""

    annealing: Annealing | None

    @property
    def last_step(self) -> int | None:
        """How many steps there are until it is cold; None without annealing, where nothing ends by itself."""
        return self.annealing.warm_steps if self.annealing else None

    def temperature(self, step: int) -> float:
        """The temperature of a step, counted from 0."""
        return self.annealing.at(step) if self.annealing else 0.0
