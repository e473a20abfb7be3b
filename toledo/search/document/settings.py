"""How to search."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from toledo.search.document.proposing import Habits
from toledo.search.document.running import OPERATIONS, Plan

STARTS = ("beam", "random")
LOGARITHMIC = "logarithmic"
FIRST_POWER = 8  # of two: the first record after the start
LEVELS = 200  # temperatures of geometric annealing
SMALL = 3000  # source words: what a step needs of a smaller document stays in the cache
LONGEST_VISIT, FEWEST_VISITS = 512, 4  # steps for a sentence in a row; visits to each before someone looks at it


@dataclass(frozen=True)
class HillClimbing:
    """A change is made only if the score rises."""

    def at(self, step: int, steps: int) -> float:
        """The temperature: none."""
        return 0.0

    def next_level(self, step: int, steps: int) -> int:
        """The step at which the temperature changes."""
        return steps


@dataclass(frozen=True)
class Sampling:
    """States are drawn from p ∝ exp(score / temperature), by the rule of Metropolis and Hastings."""

    temperature: float = 1.0

    def __post_init__(self) -> None:
        _require_temperatures(self.temperature)

    def at(self, step: int, steps: int) -> float:
        """The temperature, always the same."""
        return self.temperature

    def next_level(self, step: int, steps: int) -> int:
        """The step at which the temperature changes."""
        return steps


@dataclass(frozen=True)
class Annealing:
    """Sampling at falling temperatures: from `start` geometrically down to `end`, in even parts of all steps.

    Or by a `schedule` of temperatures, each for `every` steps; the last one stays.
    """

    start: float = 1.0
    end: float = 0.05
    schedule: tuple[float, ...] = ()
    every: int = 1000

    def __post_init__(self) -> None:
        _require_temperatures(self.start, self.end, *self.schedule)
        if self.every < 1:
            raise ValueError("each temperature of a schedule is for at least one step")

    def at(self, step: int, steps: int) -> float:
        """The temperature at a step."""
        if self.schedule:
            return self.schedule[min(step // self.every, len(self.schedule) - 1)]
        level = min(step * LEVELS // max(steps, 1), LEVELS - 1)
        return float(self.start * (self.end / self.start) ** (level / (LEVELS - 1)))

    def next_level(self, step: int, steps: int) -> int:
        """The step at which the temperature changes."""
        if self.schedule:
            return (step // self.every + 1) * self.every
        level = step * LEVELS // max(steps, 1) + 1
        return max(-(-level * steps // LEVELS), step + 1)


Acceptance = HillClimbing | Annealing | Sampling


def _require_temperatures(*values: float) -> None:
    if not all(0.0 < value < math.inf for value in values):
        raise ValueError("temperatures are positive numbers")


@dataclass(frozen=True)
class Operations:
    """Relative weights of the operations, and their parameters: see `proposing` and `conditionals`.

    The first four are Docent's, and so are the names of the parameters. Without `resegment`, and `swap`, `move` or
    `reposition`, not all states can be reached.
    """

    change: float = 0.1
    swap: float = 0.1
    move: float = 0.1
    resegment: float = 0.2
    retranslate: float = 0.3
    regroup: float = 0.3
    reposition: float = 0.2
    swap_distance_decay: float = 0.5
    block_move_probability: float = 0.5
    right_move_preference: float = 0.5
    right_distance_decay: float = 0.5
    left_distance_decay: float = 0.5
    phrase_resegmentation_decay: float = 0.5

    def __post_init__(self) -> None:
        weights = [getattr(self, name) for name in OPERATIONS]
        if not all(0.0 <= weight < math.inf for weight in weights) or not any(weights):
            raise ValueError("the weights of operations are not negative, and some are positive")
        for field in fields(self)[len(OPERATIONS) :]:
            last = 1.0 if field.name == "right_move_preference" else math.nextafter(1.0, 0.0)
            if not 0.0 <= getattr(self, field.name) <= last:
                raise ValueError(f"{field.name.replace('_', '-')} is a probability, and a decay less than 1")

    @property
    def habits(self) -> Habits:
        """The parameters."""
        return Habits(*(float(getattr(self, name)) for name in Habits._fields))


DOCENT = Operations(
    change=0.8, swap=0.1, move=0.0, resegment=0.1, retranslate=0.0, regroup=0.0, reposition=0.0,
    phrase_resegmentation_decay=0.9,
)  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """When to record the state: never, at steps 0, 2^8, 2^9, … (`every="logarithmic"`), or every so many steps."""

    every: int | str | None = None
    texts: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.every, str) and self.every != LOGARITHMIC:
            raise ValueError(f"records are made every so many steps or {LOGARITHMIC!r}, not {self.every!r}")
        if isinstance(self.every, int) and self.every < 1:
            raise ValueError("records are at least one step apart")

    def due(self, step: int) -> bool:
        """Whether a step is one to record at."""
        if isinstance(self.every, int):
            return step % self.every == 0
        return self.every is not None and (step == 0 or (step >= 1 << FIRST_POWER and step & (step - 1) == 0))

    def following(self, step: int) -> float:
        """The next step to record at."""
        if isinstance(self.every, int):
            return (step // self.every + 1) * self.every
        return math.inf if self.every is None else 1 << max(step.bit_length(), FIRST_POWER)


@dataclass(frozen=True)
class DocumentSettings:
    """Stop after so many `steps`, or `max_rejected` in a row, or `seconds`; start from beam search or at random."""

    acceptance: Acceptance = HillClimbing()
    operations: Operations = Operations()
    steps: int = 100_000
    max_rejected: int | None = None
    seconds: float | None = None
    start: str = "beam"
    seed: int = 1
    recording: Recording = Recording()

    def __post_init__(self) -> None:
        if self.steps < 0 or (self.max_rejected is not None and self.max_rejected < 1):
            raise ValueError("a search takes no negative number of steps, and may reject at least one")
        if self.seconds is not None and not self.seconds > 0.0:
            raise ValueError("a search needs some time")
        if self.start not in STARTS:
            raise ValueError(f"no start {self.start!r}: choose from {', '.join(STARTS)}")

    def visit(self, words: int, sentences: int) -> int:
        """How many steps in a row are for one sentence of a document; 0: each is for any.

        What a step needs of a large document has left the cache when its sentence is drawn again. So steps stay with a
        sentence for a while, if enough visits are left for annealing, between the states that are recorded, and among
        the rejections that end a search: none of them tells of other sentences.
        """
        steps = min(most for most in (self.steps, self.recording.every, self.max_rejected) if isinstance(most, int))
        return 0 if words <= SMALL else min(max(steps // (FEWEST_VISITS * sentences), 1), LONGEST_VISIT)

    def plan(self, step: int = 0, visit: int = 0) -> Plan:
        """What compiled code needs to know at a step."""
        weights = np.array([getattr(self.operations, name) for name in OPERATIONS], np.float64)
        most = np.iinfo(np.int64).max if self.max_rejected is None else self.max_rejected
        temperature = self.acceptance.at(step, self.steps)
        return Plan(np.cumsum(weights / weights.sum()), self.operations.habits, temperature, int(most), visit)
