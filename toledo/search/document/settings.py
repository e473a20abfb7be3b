"""Settings of a search of documents, and their form as a configuration file of the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import tomli_w

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.settings import Meta, Registry, Settings, unknown_name

OPERATIONS = ("change", "swap", "move", "resegment", "retranslate", "regroup", "reposition")
STARTS = ("beam", "random")
LOGARITHMIC = "logarithmic"
FIRST_POWER = 8  # of two: the first record after the start
LEVELS = 200  # temperatures of geometric annealing
SMALL = 3000  # source words: what a step needs of a smaller document stays in the cache
LONGEST_VISIT, FEWEST_VISITS = 512, 4  # steps for a sentence in a row; visits to each before someone looks at it
LARGEST = 1e300

Temperature = Annotated[float, Meta(gt=0, le=LARGEST)]
Frequency = Annotated[float, Meta(ge=0, le=LARGEST, description="Relative frequency of the operation.")]
Decay = Annotated[float, Meta(ge=0, lt=1, description="Probability that a distance or a number is one larger.")]


@dataclass(frozen=True)
class HillClimbing(Settings):
    """Accept a change unless the score falls: one that stays is a way off a plateau."""

    name: ClassVar[str] = "hill-climbing"

    def at(self, step: int, steps: int) -> float:
        """Return the temperature: none."""
        return 0.0

    def next_level(self, step: int, steps: int) -> int:
        """Return the step at which the temperature changes."""
        return steps


@dataclass(frozen=True)
class DocumentSampling(Settings):
    """Draw states from p ∝ exp(score / temperature), by the rule of Metropolis and Hastings."""

    temperature: Annotated[Temperature, Meta(description="Temperature of the distribution.")] = 1.0

    name: ClassVar[str] = "sampling"

    def at(self, step: int, steps: int) -> float:
        """Return the temperature, always the same."""
        return self.temperature

    def next_level(self, step: int, steps: int) -> int:
        """Return the step at which the temperature changes."""
        return steps


@dataclass(frozen=True)
class DocumentAnnealing(Settings):
    """Sample at falling temperatures: from `start` geometrically down to `end`, in even parts of all steps.

    Or by a `schedule` of temperatures, each for `every` steps; the last one stays.
    """

    start: Annotated[Temperature, Meta(description="First temperature.")] = 1.0
    end: Annotated[Temperature, Meta(description="Last temperature.")] = 0.05
    schedule: Annotated[tuple[Temperature, ...], Meta(description="Temperatures one after the other, instead.")] = ()
    every: Annotated[int, Meta(ge=1, description="Number of steps at each temperature of the schedule.")] = 1000

    name: ClassVar[str] = "annealing"

    def at(self, step: int, steps: int) -> float:
        """Return the temperature at a step."""
        if self.schedule:
            return self.schedule[min(step // self.every, len(self.schedule) - 1)]
        level = min(step * LEVELS // max(steps, 1), LEVELS - 1)
        return float(self.start * (self.end / self.start) ** (level / (LEVELS - 1)))

    def next_level(self, step: int, steps: int) -> int:
        """Return the step at which the temperature changes."""
        if self.schedule:
            return (step // self.every + 1) * self.every
        level = step * LEVELS // max(steps, 1) + 1
        return max(-(-level * steps // LEVELS), step + 1)


Acceptance = HillClimbing | DocumentAnnealing | DocumentSampling
ACCEPTANCES: Registry[Acceptance] = Registry(
    "acceptance",
    {kind.name: f"{__name__}:{kind.__name__}" for kind in (HillClimbing, DocumentAnnealing, DocumentSampling)},
)


@dataclass(frozen=True)
class Operations(Settings):
    """Relative frequencies of the operations, and their parameters.

    The first four are Docent's, and so are the names of the parameters. Without `resegment`, and `swap`, `move` or
    `reposition`, not all states can be reached.
    """

    change: Frequency = 0.1
    swap: Frequency = 0.1
    move: Frequency = 0.1
    resegment: Frequency = 0.2
    retranslate: Frequency = 0.3
    regroup: Frequency = 0.3
    reposition: Frequency = 0.2
    swap_distance_decay: Decay = 0.5
    block_move_probability: Decay = 0.5
    right_move_preference: Annotated[float, Meta(ge=0, le=1, description="Probability to move to the right.")] = 0.5
    right_distance_decay: Decay = 0.5
    left_distance_decay: Decay = 0.5
    phrase_resegmentation_decay: Decay = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(getattr(self, name) for name in OPERATIONS):
            raise InputError("all operations have a frequency of 0", remedy="give one operation a positive frequency")

    def changed(self, given: Mapping[str, float]) -> Operations:
        """Return these with other values; where some operations are named, the others are not used."""
        known = [one.name for one in fields(self)]
        for name in given:
            if name not in known:
                raise unknown_name("operation", name, known)
        others = dict.fromkeys(OPERATIONS, 0.0) if any(name in given for name in OPERATIONS) else {}
        return replace(self, **{**others, **given})


DOCENT = Operations(
    change=0.8, swap=0.1, move=0.0, resegment=0.1, retranslate=0.0, regroup=0.0, reposition=0.0,
    phrase_resegmentation_decay=0.9,
)  # fmt: skip
BLIND = Operations(change=0.1, swap=0.1, move=0.1, resegment=0.7, retranslate=0.0, regroup=0.0, reposition=0.0)


@dataclass(frozen=True)
class DocumentSettings(Settings):
    """Settings of a search of documents.

    States are recorded never, at steps 0, 2^8, 2^9, … ("logarithmic"), or every N steps.
    """

    accept: Annotated[
        Acceptance | str, Meta(description="Changes to accept: hill-climbing, annealing or sampling, with settings.")
    ] = HillClimbing()
    operations: Annotated[
        Operations | Mapping[str, float], Meta(description="Operations with their relative frequencies.")
    ] = Operations()
    steps: Annotated[int, Meta(ge=0, description="Number of steps for each document.")] = 100_000
    max_rejected: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Stop after this many steps in a row that do not change the score."),
    ] = None
    seconds: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="Stop after this many seconds for a document.")
    ] = None
    start: Annotated[str, Meta(description="First state: beam (that of beam search) or random.")] = "beam"
    seed: Annotated[int, Meta(ge=0, description="Random seed.")] = 1
    record: Annotated[
        Annotated[int, Meta(ge=1)] | str | None,
        Meta(description="When to record states: logarithmic (0, 256, 512, …), or every N steps."),
    ] = None
    record_texts: Annotated[bool, Meta(description="Record the translations, too.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "accept", ACCEPTANCES.make(self.accept))
        if isinstance(self.operations, Mapping):
            object.__setattr__(self, "operations", Operations().changed(self.operations))
        if self.start not in STARTS:
            raise unknown_name("start", self.start, list(STARTS))
        if isinstance(self.record, str) and self.record != LOGARITHMIC:
            raise InputError(f"record is {self.record!r}", remedy=f"write {LOGARITHMIC}, or a number of steps")

    @property
    def acceptance(self) -> Acceptance:
        """Return what `accept` stands for."""
        return cast(Acceptance, self.accept)

    @property
    def weighted_operations(self) -> Operations:
        """Return what `operations` stands for."""
        return cast(Operations, self.operations)

    def changed(self, given: Mapping[str, Any]) -> DocumentSettings:
        """Return these settings with others; a `start` that is a file of derivations is left out."""
        values = dict(given)
        if isinstance(values.get("operations"), Mapping):
            values["operations"] = self.weighted_operations.changed(values["operations"])
        if "start" in values and str(values["start"]) not in STARTS and Path(values["start"]).is_file():
            del values["start"]
        return replace(self, **values)

    def visit(self, words: int, sentences: int) -> int:
        """Return how many steps in a row are for one sentence of a document; 0: each is for any.

        What a step needs of a large document has left the cache when its sentence is drawn again. So steps stay with a
        sentence for a while, if enough visits are left for annealing, between the states that are recorded, and among
        the rejections that end a search: none of them tells of other sentences.
        """
        steps = min(most for most in (self.steps, self.record, self.max_rejected) if isinstance(most, int))
        return 0 if words <= SMALL else min(max(steps // (FEWEST_VISITS * sentences), 1), LONGEST_VISIT)

    def records_at(self, step: int) -> bool:
        """Return whether to record the state at a step."""
        if isinstance(self.record, int):
            return step % self.record == 0
        return self.record is not None and (step == 0 or (step >= 1 << FIRST_POWER and step & (step - 1) == 0))

    def next_record(self, step: int) -> float:
        """Return the next step to record at."""
        if isinstance(self.record, int):
            return (step // self.record + 1) * self.record
        return math.inf if self.record is None else 1 << max(step.bit_length(), FIRST_POWER)


PRESETS = {  # Smith (2015) decodes from random translations with Docent's operations and default weights
    "thesis": DocumentSettings(operations=DOCENT, steps=1_000_000, start="random")
}


def preset_settings(name: str | None) -> DocumentSettings:
    """Return the settings of a preset, or the usual ones."""
    if name is not None and name not in PRESETS:
        raise unknown_name("preset", name, list(PRESETS))
    return DocumentSettings() if name is None else PRESETS[name]


def bleu_settings(settings: DocumentSettings, guided: bool = False) -> DocumentSettings:
    """Return settings with the operations and acceptance of a search for BLEU; see `models.bleu.bleu_weights`."""
    if guided:
        return replace(settings, accept=DocumentSampling(), operations=Operations())
    return replace(settings, accept=HillClimbing(), operations=BLIND)


CONFIGURATION = "document.toml"


def options_of(settings: DocumentSettings, document_models: Mapping[str, float]) -> dict[str, Any]:
    """Return settings and document models as options of `toledo document translate`, to repeat the search."""
    accept = settings.acceptance
    chosen = ",".join(f"{name}={json.dumps(value)}" for name, value in asdict(accept).items() if value != ())
    values = {name: getattr(settings, name) for name in ("start", "steps", "max_rejected", "seconds", "seed", "record")}
    found = {name.replace("_", "-"): value for name, value in values.items() if value is not None}
    return {
        "accept": f"{accept.name}:{chosen}" if chosen else accept.name,
        **found,
        "operation": [f"{name}={value!r}" for name, value in asdict(settings.weighted_operations).items()],
        "document-model": [f"{name}={float(value)!r}" for name, value in document_models.items()],
    }


def write_options(path: str | Path, command: str, options: Mapping[str, Any], signature: str = "") -> None:
    """Write options of a command of `toledo document` as a configuration file."""
    with atomic_writer(path) as stream:
        stream.write(f"# {signature}\n" if signature else "")
        stream.write(tomli_w.dumps({"document": {command: dict(options)}}))
