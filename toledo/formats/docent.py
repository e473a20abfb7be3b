"""Configurations of Docent (Hardmeier et al. 2013): its models, weights, operations and search, by Toledo's names.

    <docent>
      <random>1</random>
      <state-generator><initial-state type/><operation type weight><p name>…
      <search algorithm><p name="max-steps">…
      <models><model type id><p name>…
      <weights><weight model score>…

Whatever has no counterpart here, or means something else, is noted in words; nothing is dropped in silence.

Parameters of an element of a Docent configuration: `<p name="max-steps">100</p>`, each asked for by name.

The models of a Docent configuration and their weights, by Toledo's names.

Scores are Docent's for the features that both have, with one factor: an unknown word counts −1 there and −100 here.
BLEU is 0 to 1 there and 0 to 100 here, and OVIX has the other sign.

A whole model from a configuration of Docent: a phrase table, language models, weights and limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.moses_table import column_names, read_phrase_table
from toledo.formats.test_sets import Element, read_tree
from toledo.language_model.arpa import read_arpa
from toledo.model import Model, SearchSettings, feature_names, lm_feature
from toledo.phrases.table import SCORE_FEATURES
from toledo.progress import Progress, silent
from toledo.search.document.settings import DocumentConfiguration
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights


class Parameters:
    """The parameters of one element; those that nobody asked for can be told at the end."""

    def __init__(self, element: Element, file: str | Path) -> None:
        self._element, self._file = element, file
        self._asked: set[str] = set()
        self.values: dict[str, str] = {}
        for one in element.all("p"):
            name = one.attributes.get("name", "")
            if not name or name in self.values:
                raise self.error(f"<p> {'without a name' if not name else f'{name} twice'}", "name each one, once")
            self.values[name] = one.text

    def text(self, name: str, default: str | None = None) -> str:
        """A parameter as it is."""
        self._asked.add(name)
        found = self.values.get(name, default)
        if found is None:
            raise self.error(f"no parameter {name}", f'write <p name="{name}">…</p>')
        return found

    def number(self, name: str) -> float:
        """A parameter that is a number."""
        return self.finite(self.text(name), name)

    def whole(self, name: str, default: int | None = None) -> int:
        """A parameter that is a whole number from 0 up."""
        text = self.text(name, None if default is None else str(default))
        if not (text.isascii() and text.isdigit()):
            raise self.error(f"{name} is {text!r}", "write a whole number")
        return int(text)

    def attribute(self, name: str) -> str:
        """An attribute of the element, which must be there."""
        if not self._element.attributes.get(name):
            raise self.error(f"<{self._element.name}> without {name}", f'write <{self._element.name} {name}="…">')
        return self._element.attributes[name]

    def finite(self, text: str, what: str) -> float:
        """A finite number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{what} is {text!r}", "write a finite number")
        return value

    def unused(self, what: str) -> list[str]:
        """A note on each parameter that nobody asked for."""
        return [f"{what}: {name} is not used" for name in self.values if name not in self._asked]

    def error(self, message: str, remedy: str) -> InputError:
        """An error at the element."""
        return InputError(message, file=display_name(self._file), line=self._element.line, remedy=remedy)


ONE_SCORE = {"word-penalty": "word.penalty", "phrase-penalty": "phrase.penalty", "oov-penalty": "oov"}
DOCUMENT_MODELS = {
    "sentence-parity-model": "document.parity",
    "ovix": "document.ovix",
    "type-token": "document.type-token",
    "consistency-q-model-word": "document.consistency",
    "consistency-q-model-phrase": "document.consistency",
    "bleu-model": "bleu",
}
FACTORS = {"oov": 0.01, "bleu": 0.01, "document.ovix": -1.0}
DISTORTION, TABLE, LANGUAGE_MODEL = "geometric-distortion-model", "phrase-table", "ngram-model"
HARD = 1e6  # weights as large as this make a limit


@dataclass(frozen=True)
class DocentModels:
    """Files, limits and weights. Paths are as written; a distortion limit of None is no limit."""

    phrase_table: Path
    table_features: tuple[str, ...]
    table_limit: int
    language_models: tuple[Path, ...] = ()
    distortion_limit: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


def read_models(models: Element, weights: Element, path: str | Path, notes: list[str]) -> DocentModels:
    """Models with their weights; what is not used is noted."""
    given = _weights(weights, path)
    reader = _Reader(path, notes)
    for element in models.all("model"):
        parameters = Parameters(element, path)
        name = parameters.attribute("id")
        reader.add(parameters, name, given.pop(name, {}))
    notes += [f"weights of {name}, which is no model: not used" for name in given]
    return reader.finished(models)


def _weights(part: Element, path: str | Path) -> dict[str, dict[int, float]]:
    """The weights of each model by the numbers of its scores."""
    found: dict[str, dict[int, float]] = {}
    for element in part.all("weight"):
        parameters = Parameters(element, path)
        model, number = parameters.attribute("model"), element.attributes.get("score", "0")
        if not (number.isascii() and number.isdigit()) or int(number) in found.get(model, {}):
            raise parameters.error(f"score {number} of {model} is no number, or twice", "number scores 0, 1, 2, …")
        found.setdefault(model, {})[int(number)] = parameters.finite(element.text, f"the weight of {model}")
    return found


class _Reader:
    """Takes models one by one."""

    def __init__(self, path: str | Path, notes: list[str]) -> None:
        self._path, self._notes = path, notes
        self._table: tuple[Path, tuple[str, ...], int] | None = None
        self._language_models: list[Path] = []
        self._limit: int | None = None
        self._values: dict[str, float] = {}

    def add(self, parameters: Parameters, name: str, weights: dict[int, float]) -> None:
        kind = parameters.attribute("type")
        if kind == DISTORTION:
            self._distortion(parameters, weights)
        elif kind == TABLE:
            self._phrase_table(parameters, weights)
        elif kind == LANGUAGE_MODEL:
            feature = lm_feature(len(self._language_models))
            self._language_models.append(Path(parameters.text("lm-file")))
            self._weigh(parameters, [feature], weights)
        elif kind in ONE_SCORE:
            self._weigh(parameters, [ONE_SCORE[kind]], weights)
        elif kind in DOCUMENT_MODELS:
            self._document_model(parameters, kind, weights)
        elif kind == "semantic-space-language-model":
            self._notes.append(
                f"model {name} ({kind}): its files cannot be read; make a space with toledo document semantic-space, "
                f"and give --semantic-space DIR --model semantic={_told(weights)}"
            )
            return
        else:
            self._notes.append(
                f"model {name} ({kind}): Toledo has none like it; its weight of {_told(weights)} is lost"
            )
            return
        self._notes += parameters.unused(f"model {name}")

    def finished(self, part: Element) -> DocentModels:
        if self._table is None:
            raise InputError("has no phrase table", file=self._path, line=part.line, remedy="add a model phrase-table")
        path, names, limit = self._table
        return DocentModels(path, names, limit, tuple(self._language_models), self._limit, self._values)

    def _distortion(self, parameters: Parameters, weights: dict[int, float]) -> None:
        limit = parameters.text("distortion-limit", "inf")
        if limit != "inf":
            number = parameters.finite(limit, "distortion-limit")
            self._limit = None if number < 0 else int(number)
        hard = weights.pop(1, None)
        if hard is not None and hard < HARD:
            self._notes.append(f"the distortion limit has a weight of {hard:g}; here it cannot be broken at any price")
        self._weigh(parameters, ["distortion"], weights)

    def _phrase_table(self, parameters: Parameters, weights: dict[int, float]) -> None:
        if self._table is not None:
            raise parameters.error("a second phrase table", "Toledo has one")
        columns = parameters.whole("nscores", max(len(weights), len(SCORE_FEATURES)))
        if columns < len(SCORE_FEATURES):
            raise parameters.error(f"a phrase table with {columns} scores", "use one with at least 4")
        limit = parameters.whole("filter-limit", 0)
        if limit:
            self._notes.append(f"filter-limit {limit}: applied here, by the weighted scores (Docent reads it, no more)")
        for name in ("max-phrase-length", "filter-score-index", "load-alignments"):
            parameters.text(name, "")  # the table has no longer ones; options are ranked by all scores; links are read
        names = column_names(columns)
        self._table = Path(parameters.text("file")), names, limit
        self._weigh(parameters, names, weights)

    def _document_model(self, parameters: Parameters, kind: str, weights: dict[int, float]) -> None:
        name = DOCUMENT_MODELS[kind]
        if kind == "bleu-model":
            file = parameters.text("reference-file", "")
            self._notes.append(f"bleu-model: give the references when you translate (--reference {file or 'FILE'})")
        else:
            self._notes.append(f"{kind}: {name} means the same, but has other values; its weight must be found anew")
        self._weigh(parameters, [name], weights)

    def _weigh(self, parameters: Parameters, names: Sequence[str], weights: dict[int, float]) -> None:
        if both := [name for name in names if name in self._values]:
            raise parameters.error(
                f"a second model for {both[0]}", "Toledo has one of each; only ngram-model may be several"
            )
        if sorted(weights) != list(range(len(names))):
            raise parameters.error(
                f"{len(names)} scores, but weights for {', '.join(map(str, sorted(weights))) or 'none'}",
                "give a <weight> for each score, numbered from 0",
            )
        for number, name in enumerate(names):
            self._values[name] = weights[number] * FACTORS.get(name, 1.0)


def _told(weights: Mapping[int, float]) -> str:
    return ", ".join(f"{value:g}" for _, value in sorted(weights.items())) or "0"


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


TEXT_TABLE = "give --phrase-table FILE: Moses' text format; the binary tables of Docent cannot be read"
ARPA = "give --language-model FILE: an ARPA file; binary ones cannot be read"


def import_docent(
    configuration: DocentConfiguration,
    base: Path,
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    progress: Progress = silent,
) -> Model:
    """A model from a configuration that lies in the directory `base`; files given here go before those it names."""
    said = configuration.models
    table_path = phrase_table or _there(base / said.phrase_table, TEXT_TABLE)
    lm_paths = [*language_models] or [_there(base / path, ARPA) for path in said.language_models]
    if len(lm_paths) != len(said.language_models):
        raise InputError(
            f"{len(lm_paths)} language models, but the configuration has {len(said.language_models)}",
            remedy="repeat --language-model for each of its ngram-models, in their order",
        )
    source, target = Vocabulary(), Vocabulary()
    table = read_phrase_table(table_path, source, target, said.table_features, progress)
    models = tuple(read_arpa(path, target, progress) for path in lm_paths)
    names = feature_names(table, len(models))
    weights = Weights({name: said.weights.get(name, 0.0) for name in names}, frozenset({"oov"}))
    settings = SearchSettings(said.distortion_limit, said.table_limit)
    return Model(table, models, weights, settings, training={"imported": "docent"})


def _there(path: Path, remedy: str) -> Path:
    """Docent's tables are binary, with a name that is not that of any file; most others are elsewhere by now."""
    if not path.is_file():
        raise InputError("no such file, but the configuration of Docent names it", file=path, remedy=remedy)
    return path


def document_search(configuration: DocentConfiguration) -> DocumentConfiguration:
    """What Docent's search does; of the weights those that the model itself does not have."""
    own = {name: value for name, value in configuration.models.weights.items() if name in DOCUMENT_MODELS.values()}
    return DocumentConfiguration(configuration.search, configuration.operations, own)
