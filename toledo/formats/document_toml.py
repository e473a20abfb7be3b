"""How to search documents, as a TOML file: `toledo document translate --config`, and what it writes beside its output.

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
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import tomli_w

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.search.document.running import OPERATIONS
from toledo.search.document.settings import (
    LOGARITHMIC,
    STARTS,
    Acceptance,
    Annealing,
    DocumentSettings,
    HillClimbing,
    Operations,
    Recording,
    Sampling,
)
from toledo.storage import read_toml

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
