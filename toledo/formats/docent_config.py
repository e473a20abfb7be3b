"""Configurations of Docent (Hardmeier et al. 2013): its models, weights, operations and search, by Toledo's names.

    <docent>
      <random>1</random>
      <state-generator><initial-state type/><operation type weight><p name>…
      <search algorithm><p name="max-steps">…
      <models><model type id><p name>…
      <weights><weight model score>…

Whatever has no counterpart here, or means something else, is noted in words; nothing is dropped in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.docent_models import DocentModels, read_models
from toledo.formats.docent_parameters import Parameters
from toledo.formats.markup import Element, read_tree

OPERATIONS = {
    "change-phrase-translation": "change",
    "swap-phrases": "swap",
    "move-phrases": "move",
    "resegment": "resegment",
}
DECAYS = {  # Docent gives them to boost::geometric_distribution: they are chances to stop, here they are to go on
    "swap-distance-decay": "swap_distance_decay",
    "block-size-decay": "block_move_probability",
    "right-distance-decay": "right_distance_decay",
    "left-distance-decay": "left_distance_decay",
    "phrase-resegmentation-decay": "phrase_resegmentation_decay",
}
PREFERENCE, DIGITS = "right-move-preference", 12
STARTS = {"monotonic": "random", "beam-search": "beam"}
MAX_REJECTED, COLDEST = 1000, -30.0  # Docent's default, and the log temperature at which it stops


@dataclass(frozen=True)
class DocentConfiguration:
    """What a configuration says. `search` and `operations` are tables of a document search; `notes` what is lost."""

    models: DocentModels
    search: Mapping[str, Any]
    operations: Mapping[str, float]
    notes: tuple[str, ...] = field(default=())


def read_docent_config(path: str | Path) -> DocentConfiguration:
    """Read a configuration; paths in it are left as they are."""
    root = read_tree(path)
    if root.name != "docent":
        raise InputError(f"<{root.name}> is no configuration of Docent", file=path, remedy="give a file with <docent>")
    notes: list[str] = []
    parts = {name: _part(root, name, path) for name in ("state-generator", "search", "models", "weights")}
    notes += [f"<{one.name}>: not used" for one in root.children if one.name not in (*parts, "random")]
    start, operations = _states(parts["state-generator"], path, notes)
    search = {**start, **_search(parts["search"], path, notes), **_seed(root, path)}
    models = read_models(parts["models"], parts["weights"], path, notes)
    return DocentConfiguration(models, search, operations, tuple(notes))


def _part(root: Element, name: str, path: str | Path) -> Element:
    found = root.first(name)
    if found is None:
        raise InputError(f"has no <{name}>", file=display_name(path), remedy="give a complete configuration")
    return found


def _seed(root: Element, path: str | Path) -> dict[str, Any]:
    element = root.first("random")
    if element is None or not element.text:
        return {}
    if not (element.text.isascii() and element.text.isdigit()):
        raise InputError(
            f"the seed {element.text!r} is no whole number", file=path, line=element.line, remedy="write a number"
        )
    return {"seed": int(element.text)}


def _states(part: Element, path: str | Path, notes: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """Where the search starts, and its operations."""
    start: dict[str, Any] = {}
    initial = part.first("initial-state")
    kind = "" if initial is None else initial.attributes.get("type", "")
    if kind in STARTS:
        start["start"] = STARTS[kind]
    else:
        notes.append(f"initial state {kind}: cannot be read; give --segmentation FILE (Moses' -report-segmentation)")
    if kind == "beam-search":
        notes.append("initial state beam-search: that of Toledo, with the weights of the model")
    operations: dict[str, float] = {}
    for element in part.all("operation"):
        parameters = Parameters(element, path)
        kind = parameters.attribute("type")
        weight = parameters.finite(parameters.attribute("weight"), f"the weight of {kind}")
        if kind not in OPERATIONS:
            notes.append(f"operation {kind}: Toledo has none like it; the others share its weight of {weight:g}")
            continue
        if OPERATIONS[kind] in operations:
            raise parameters.error(f"a second operation {kind}", "give one weight for each")
        operations[OPERATIONS[kind]] = weight
        for name in [*parameters.values]:
            if name in DECAYS:
                operations[DECAYS[name]] = _going_on(parameters, name)
        if PREFERENCE in parameters.values:
            operations["right_move_preference"] = parameters.number(PREFERENCE)
        notes += parameters.unused(f"operation {kind}")
    if not any(operations.get(name) for name in OPERATIONS.values()):
        raise InputError("has no operation that Toledo has", file=path, line=part.line, remedy="give at least one")
    return start, {name: operations.get(name, 0.0) for name in OPERATIONS.values()} | operations


def _going_on(parameters: Parameters, name: str) -> float:
    """The chance to go on from that to stop, without noise in its last digits."""
    stopping = parameters.number(name)
    if not 0.0 < stopping <= 1.0:
        raise parameters.error(f"{name} is {stopping:g}", "write a probability above 0")
    return round(1.0 - stopping, DIGITS)


def _search(part: Element, path: str | Path, notes: list[str]) -> dict[str, Any]:
    parameters = Parameters(part, path)
    algorithm = part.attributes.get("algorithm", "")
    table: dict[str, Any] = {"acceptance": "hill-climbing", "steps": parameters.whole("max-steps")}
    schedule = parameters.text("schedule", "") if algorithm == "simulated-annealing" else ""
    if schedule == "hill-climbing":
        table["max_rejected"] = parameters.whole("hill-climbing:max-rejected", MAX_REJECTED)
    elif schedule == "geometric-decay":
        hot = parameters.number("geometric-decay:start-temperature")
        decay = parameters.number("geometric-decay:decay-factor")
        if not (hot > 0.0 and 0.0 < decay <= 1.0):
            raise parameters.error("no temperatures that fall", "start-temperature > 0, and 0 < decay-factor ≤ 1")
        steps = _steps_until_cold(hot, decay, table["steps"])
        if steps < table["steps"]:
            notes.append(f"max-steps {table['steps']}: {steps} instead, for then it is so cold that Docent stops")
        cold = hot * decay**steps
        table.update(acceptance="annealing", steps=steps, start_temperature=hot, end_temperature=cold)
        if parameters.text("geometric-decay:step-on-acceptance", "false") in ("true", "1"):
            notes.append("geometric-decay:step-on-acceptance: temperatures fall at each step here, accepted or not")
    else:
        notes.append(f"search {algorithm} {schedule}".rstrip() + ": hill climbing instead")
        if algorithm == "local-beam-search":
            table["max_rejected"] = parameters.whole("max-rejected")
    notes += parameters.unused("search")
    return table


def _steps_until_cold(hot: float, decay: float, most: int) -> int:
    """So many steps, or fewer: Docent stops where the temperature is next to nothing."""
    if decay == 1.0:
        return most
    return min(most, max(math.ceil((COLDEST - math.log(hot)) / math.log(decay)), 0))
