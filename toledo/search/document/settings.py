"""How to search.

Search for BLEU itself (Smith 2015, chapter 3): weights and settings.

In the thesis all weights are 0 but that of BLEU; then operations that ask the sentence model what is likely are of no
use. A *guided* search has the weights of the sentence model, too, and so much for BLEU that it decides alone: at
temperature 1 the model proposes. That finds more BLEU in as many steps, and depends less on where it begins.

How to search documents, as a TOML file: `toledo document translate --config`, and what it writes beside its output.

    [search]                            start, acceptance, steps, max_rejected, seconds, seed, record, and temperatures
    acceptance = "hill-climbing"
    steps = 100000

    [operations]                        relative frequencies, and the parameters of operations
    change = 0.8

    [weights]                           of document models, and of features of the model that weigh otherwise here
    "document.parity" = 0.5

A table [provenance] says where a result came from; it is not read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.search.document.loop import OPERATIONS, Plan
from toledo.search.document.operations import Habits
from toledo.storage import read_toml

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
        for setting in fields(self)[len(OPERATIONS) :]:
            last = 1.0 if setting.name == "right_move_preference" else math.nextafter(1.0, 0.0)
            if not 0.0 <= getattr(self, setting.name) <= last:
                raise ValueError(f"{setting.name.replace('_', '-')} is a probability, and a decay less than 1")

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


BLIND = Operations(change=0.4, swap=0.1, move=0.2, resegment=0.3, retranslate=0.0, regroup=0.0, reposition=0.0)


def bleu_settings(settings: DocumentSettings, guided: bool = False) -> DocumentSettings:
    """Operations and acceptance for a search for BLEU; the rest as it is."""
    if guided:
        return replace(settings, acceptance=Sampling(), operations=Operations())
    return replace(settings, acceptance=HillClimbing(), operations=BLIND)


CONFIGURATION = "document.toml"
ACCEPTANCES = {
    "hill-climbing": (),
    "annealing": ("start_temperature", "end_temperature", "schedule", "every"),
    "sampling": ("temperature",),
}
TEMPERATURES = {name for names in ACCEPTANCES.values() for name in names}
FIELDS = {"start_temperature": "start", "end_temperature": "end"}  # as classes call them
NAMES: dict[type, str] = {HillClimbing: "hill-climbing", Annealing: "annealing", Sampling: "sampling"}
GENERAL = ("start", "steps", "max_rejected", "seconds", "seed")
FREQUENCIES = frozenset(OPERATIONS)
TABLES = ("search", "operations", "weights", "provenance")


@dataclass(frozen=True)
class DocumentConfiguration:
    """The tables of a file. What is missing in `search` and `operations` is as in `DocumentSettings`."""

    search: Mapping[str, Any] = field(default_factory=dict)
    operations: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    def changed(self, other: DocumentConfiguration) -> DocumentConfiguration:
        """The same, but for what another one says: all operations that it names, and how changes are accepted."""
        search, operations = dict(self.search), dict(self.operations)
        if "acceptance" in other.search:
            search = {name: value for name, value in search.items() if name not in TEMPERATURES}
        if FREQUENCIES.intersection(other.operations):
            operations = {name: value for name, value in operations.items() if name not in FREQUENCIES}
        return DocumentConfiguration(
            {**search, **other.search}, {**operations, **other.operations}, {**self.weights, **other.weights}
        )

    def settings(self) -> DocumentSettings:
        """As settings of a search; where some operations are named, the others are not used."""
        named = FREQUENCIES.intersection(self.operations)
        operations = {**(dict.fromkeys(FREQUENCIES, 0.0) if named else {}), **self.operations}
        general = {name: self.search[name] for name in GENERAL if name in self.search}
        try:
            return DocumentSettings(
                acceptance=self._acceptance(),
                operations=Operations(**operations),
                recording=Recording(self.search.get("record")),
                **general,
            )
        except ValueError as error:
            raise InputError(str(error), remedy="change the search's configuration or options") from None

    def _acceptance(self) -> Acceptance:
        kind = self.search.get("acceptance", "hill-climbing")
        wrong = [name for name in TEMPERATURES if name in self.search and name not in ACCEPTANCES[kind]]
        if wrong:
            raise InputError(f"{_option(wrong[0])} is not for {kind}", remedy="leave it out, or accept otherwise")
        given = {FIELDS.get(name, name): self.search[name] for name in ACCEPTANCES[kind] if name in self.search}
        if kind == "sampling":
            return Sampling(**given)
        if kind == "annealing":
            return Annealing(**{**given, "schedule": tuple(given.get("schedule", ()))})
        return HillClimbing()


def configuration_of(settings: DocumentSettings, weights: Mapping[str, float]) -> DocumentConfiguration:
    """All that settings say, so that the same search can be made again."""
    accepted, search = settings.acceptance, {name: getattr(settings, name) for name in GENERAL}
    kind = NAMES[type(accepted)]
    search |= {"acceptance": kind, **{name: getattr(accepted, FIELDS.get(name, name)) for name in ACCEPTANCES[kind]}}
    search["record"] = settings.recording.every
    return DocumentConfiguration(
        {name: value for name, value in search.items() if value not in (None, ())}, asdict(settings.operations), weights
    )


def read_configuration(path: str | Path) -> DocumentConfiguration:
    """Read a file; names that mean nothing and values of another kind are refused."""
    content = read_toml(Path(path))
    if unknown := [name for name in content if name not in TABLES]:
        raise InputError(f"no table [{unknown[0]}] in a search of documents", file=path, remedy=f"it has {TABLES}")
    tables = [content.get(name, {}) for name in TABLES[:3]]
    for name, table in zip(TABLES, tables, strict=False):
        if not isinstance(table, dict):
            raise InputError(f"{name} is no table", file=path, remedy=f"write a line [{name}] above its values")
    try:
        return checked(DocumentConfiguration(*tables))
    except InputError as error:
        raise InputError(error.message, file=path, remedy=error.remedy) from None


def write_configuration(
    path: str | Path, configuration: DocumentConfiguration, provenance: Mapping[str, Any] | None = None
) -> None:
    """Write a file atomically."""
    tables: dict[str, Any] = {name: dict(getattr(configuration, name)) for name in TABLES[:3]}
    if provenance:
        tables["provenance"] = dict(provenance)
    with atomic_writer(path) as stream:
        stream.write(tomli_w.dumps({name: table for name, table in tables.items() if table}))


def checked(configuration: DocumentConfiguration) -> DocumentConfiguration:
    """Refuse names and values that no search knows."""
    for name, value in configuration.search.items():
        _require(name in CHECKS, f"no setting {name!r}", f"there are {', '.join(CHECKS)}")
        right, wanted = CHECKS[name]
        _require(right(value), f"{name} is {value!r}", f"give {wanted}")
    known = {one.name for one in fields(Operations)}
    for name, value in configuration.operations.items():
        _require(name in known, f"no operation {name!r}", f"there are {', '.join(sorted(known))}")
        _require(_is_number(value) and value >= 0, f"{name} is {value!r}", "give a number from 0 up")
    for name, value in configuration.weights.items():
        _require(_is_number(value), f"the weight of {name} is {value!r}", "every weight must be a finite number")
    return configuration


def _require(right: bool, message: str, remedy: str) -> None:
    if not right:
        raise InputError(message, remedy=remedy)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_positive(value: object) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "start": (lambda value: value in STARTS, f"one of {', '.join(STARTS)}"),
    "acceptance": (lambda value: value in ACCEPTANCES, f"one of {', '.join(ACCEPTANCES)}"),
    "steps": (_is_whole, "a whole number"),
    "max_rejected": (_is_whole, "a whole number"),
    "seconds": (_is_positive, "a positive number"),
    "seed": (_is_whole, "a whole number"),
    "record": (
        lambda value: value == LOGARITHMIC or (_is_whole(value) and value > 0),
        f"{LOGARITHMIC}, or a number of steps",
    ),
    "temperature": (_is_positive, "a positive number"),
    "start_temperature": (_is_positive, "a positive number"),
    "end_temperature": (_is_positive, "a positive number"),
    "schedule": (
        lambda value: isinstance(value, list | tuple) and len(value) > 0 and all(map(_is_positive, value)),
        "positive numbers",
    ),
    "every": (lambda value: _is_whole(value) and value > 0, "a number of steps"),
}
