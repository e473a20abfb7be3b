"""Configurations of Docent (Hardmeier et al. 2013): its models, weights, operations and search, by Toledo's names.

    <docent>
      <random>1</random>
      <state-generator><initial-state type/><operation type weight><p name>…
      <search algorithm><p name="max-steps">…
      <models><model type id><p name>…
      <weights><weight model score>…

A note names each thing without a counterpart in Toledo, or with another meaning. Features that both have get Docent's
scores, except for a factor: an unknown word counts −1 there and −100 here, BLEU is 0 to 1 there and 0 to 100 here, and
OVIX has the other sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import LARGEST_WHOLE, file_error, whole_number
from toledo.formats.documents import read_tree
from toledo.formats.moses_table import column_names, read_phrase_table
from toledo.language_model.arpa import read_arpa
from toledo.model import PhraseModel, SearchSettings, feature_names, lm_feature
from toledo.phrases.table import SCORE_FEATURES
from toledo.progress import Progress, silent
from toledo.search.document.settings import DocumentSettings
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

NAMES: dict[str, tuple[str, float]] = {  # of models with one score: the feature here, and the factor of its weight
    "word-penalty": ("word.penalty", 1.0),
    "phrase-penalty": ("phrase.penalty", 1.0),
    "oov-penalty": ("oov", 0.01),
    "geometric-distortion-model": ("distortion", 1.0),
    "sentence-parity-model": ("document.parity", 1.0),
    "ovix": ("document.ovix", -1.0),
    "type-token": ("document.type-token", 1.0),
    "consistency-q-model-word": ("document.consistency", 1.0),
    "consistency-q-model-phrase": ("document.consistency", 1.0),
    "bleu-model": ("bleu", 0.01),
}
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
STARTS = {"monotonic": "random", "beam-search": "beam"}
PREFERENCE, DIGITS = "right-move-preference", 12
MAX_REJECTED, COLDEST = 1000, -30.0  # Docent's default, and the log temperature at which it stops
HARD = 1e6  # weights as large as this make a limit


@dataclass(frozen=True)
class DocentConfiguration:
    """The content of a configuration: files as written, limits, weights, search settings, and notes on what is lost.

    A distortion limit of None means unlimited.
    """

    phrase_table: Path
    table_features: tuple[str, ...]
    table_limit: int
    language_models: tuple[Path, ...]
    distortion_limit: int | None
    weights: Mapping[str, float]
    search: DocumentSettings
    document_models: Mapping[str, float]
    notes: tuple[str, ...]


class DocentParameters:
    """The parameters of one element; `unused` names those that were not read."""

    def __init__(self, element: Any, file: str | Path) -> None:
        self._element, self._file = element, file
        self._read: set[str] = set()
        self.values: dict[str, str] = {}
        for one in element.findall("p"):
            name = one.get("name", "")
            if not name or name in self.values:
                raise self.error(f"<p> {'without a name' if not name else f'{name} twice'}", "name each one, once")
            self.values[name] = (one.text or "").strip()

    def text(self, name: str, default: str | None = None) -> str:
        """Return a parameter as it is."""
        self._read.add(name)
        if name not in self.values and default is None:
            raise self.error(f"no parameter {name}", f'write <p name="{name}">…</p>')
        return self.values.get(name, default or "")

    def number(self, name: str) -> float:
        """Return a parameter that is a number."""
        return self.finite(self.text(name), name)

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a parameter that is a whole number from 0."""
        text = self.text(name, None if default is None else str(default))
        if (value := whole_number(text)) is None:
            raise self.error(f"{name} is {text!r}", f"write a whole number up to {LARGEST_WHOLE}")
        return value

    def attribute(self, name: str) -> str:
        """Return a required attribute of the element."""
        tag, value = self._element.tag, self._element.get(name)
        if not value:
            raise self.error(f"<{tag}> without {name}", f'write <{tag} {name}="…">')
        return str(value)

    def finite(self, text: str, what: str) -> float:
        """Return a finite number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{what} is {text!r}", "write a finite number")
        return value

    def unused(self, what: str) -> list[str]:
        """Return a note on each parameter that was not read."""
        return [f"{what}: {name} is not used" for name in self.values if name not in self._read]

    def error(self, message: str, remedy: str) -> InputError:
        """Return an error at the element."""
        return file_error(self._file, self._element.sourceline, message, remedy)


def read_docent_config(path: str | Path) -> DocentConfiguration:
    """Read a configuration; paths in it are left as they are."""
    root = read_tree(path)
    if root.tag != "docent":
        raise file_error(path, None, f"<{root.tag}> is not a configuration of Docent", "give a file with <docent>")
    parts = {name: root.find(name) for name in ("state-generator", "search", "models", "weights")}
    if missing := [name for name, part in parts.items() if part is None]:
        raise file_error(path, None, f"has no <{missing[0]}>", "give a complete configuration")
    notes = [f"<{one.tag}>: not used" for one in root.iterchildren("*") if one.tag not in (*parts, "random")]
    start, operations = _states(parts["state-generator"], path, notes)
    search = {**start, **_search(parts["search"], path, notes), **_seed(root, path)}
    reader = _DocentModels(path, notes)
    given = _weights(parts["weights"], path)
    for element in parts["models"].findall("model"):
        parameters = DocentParameters(element, path)
        name = parameters.attribute("id")
        reader.add(parameters, name, given.pop(name, {}))
    notes += [f"weights of {name}, which is not a model: not used" for name in given]
    if reader.table is None:
        raise file_error(path, parts["models"].sourceline, "has no phrase table", "add a model phrase-table")
    of_documents = {
        name: value for name, value in reader.weights.items() if name == "bleu" or name.startswith("document.")
    }
    settings = DocumentSettings(**search, operations=operations)
    files = tuple(reader.language_models)
    return DocentConfiguration(*reader.table, files, reader.limit, reader.weights, settings, of_documents, tuple(notes))


def _weights(part: Any, path: str | Path) -> dict[str, dict[int, float]]:
    """Return the weights of each model by the numbers of its scores."""
    weights: dict[str, dict[int, float]] = {}
    for element in part.findall("weight"):
        parameters = DocentParameters(element, path)
        model, number = parameters.attribute("model"), element.get("score", "0")
        score = whole_number(number)
        if score is None or score in weights.get(model, {}):
            message = f"score {number} of {model} is not a number, or given twice"
            raise parameters.error(message, "number scores 0, 1, 2, …")
        value = parameters.finite((element.text or "").strip(), f"the weight of {model}")
        weights.setdefault(model, {})[score] = value
    return weights


class _DocentModels:
    """Collects the models of a configuration."""

    def __init__(self, path: str | Path, notes: list[str]) -> None:
        self._path, self._notes = path, notes
        self.table: tuple[Path, tuple[str, ...], int] | None = None
        self.language_models: list[Path] = []
        self.limit: int | None = None
        self.weights: dict[str, float] = {}

    def add(self, parameters: DocentParameters, name: str, weights: dict[int, float]) -> None:
        kind = parameters.attribute("type")
        if kind == "phrase-table":
            self._phrase_table(parameters, weights)
        elif kind == "ngram-model":
            self._weigh(parameters, [lm_feature(len(self.language_models))], weights)
            self.language_models.append(Path(parameters.text("lm-file")))
        elif kind in NAMES:
            feature, factor = NAMES[kind]
            if kind == "geometric-distortion-model":
                self._distortion(parameters, weights)
            elif kind == "bleu-model":
                file = parameters.text("reference-file", "")
                self._notes.append(f"bleu-model: give the references when you translate{f': {file}' if file else ''}")
            elif feature.startswith("document."):
                note = f"{kind}: {feature} means the same, but has other values; its weight must be tuned again"
                self._notes.append(note)
            self._weigh(parameters, [feature], weights, factor)
        else:
            lost = ", ".join(f"{value:g}" for _, value in sorted(weights.items())) or "0"
            what = "Toledo has none like it"
            if kind == "semantic-space-language-model":
                what = "its files cannot be read; train a semantic space, and add the document model semantic"
            self._notes.append(f"model {name} ({kind}): {what}; its weight of {lost} is lost")
            return
        self._notes += parameters.unused(f"model {name}")

    def _distortion(self, parameters: DocentParameters, weights: dict[int, float]) -> None:
        limit = parameters.text("distortion-limit", "inf")
        if limit != "inf":
            number = parameters.finite(limit, "distortion-limit")
            self.limit = None if number < 0 else min(int(number), LARGEST_WHOLE)
        hard = weights.pop(1, None)
        if hard is not None and hard < HARD:
            self._notes.append(f"the distortion limit has a weight of {hard:g}; here it cannot be broken at any price")

    def _phrase_table(self, parameters: DocentParameters, weights: dict[int, float]) -> None:
        if self.table is not None:
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
        self.table = Path(parameters.text("file")), names, limit
        self._weigh(parameters, names, weights)

    def _weigh(
        self, parameters: DocentParameters, names: Sequence[str], weights: dict[int, float], factor: float = 1.0
    ) -> None:
        if both := [name for name in names if name in self.weights]:
            remedy = "Toledo has one of each; only ngram-model may be several"
            raise parameters.error(f"a second model for {both[0]}", remedy)
        if sorted(weights) != list(range(len(names))):
            message = f"{len(names)} scores, but weights for {', '.join(map(str, sorted(weights))) or 'none'}"
            raise parameters.error(message, "give a <weight> for each score, numbered from 0")
        self.weights |= {name: weights[number] * factor for number, name in enumerate(names)}


def _seed(root: Any, path: str | Path) -> dict[str, Any]:
    text = root.findtext("random", "").strip()
    seed = whole_number(text)
    if text and seed is None:
        line = root.find("random").sourceline
        raise file_error(path, line, f"the seed {text!r} is not a whole number up to {LARGEST_WHOLE}", "write a number")
    return {} if seed is None else {"seed": seed}


def _states(part: Any, path: str | Path, notes: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """Return where the search starts, and its operations."""
    start: dict[str, Any] = {}
    initial = part.find("initial-state")
    kind = "" if initial is None else initial.get("type", "")
    if kind in STARTS:
        start["start"] = STARTS[kind]
    else:
        notes.append(
            f"initial state {kind}: cannot be read; give the derivations that Moses writes with -report-segmentation"
        )
    if kind == "beam-search":
        notes.append("initial state beam-search: that of Toledo, with the weights of the model")
    operations: dict[str, float] = {}
    for element in part.findall("operation"):
        parameters = DocentParameters(element, path)
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
        raise file_error(path, part.sourceline, "has no operation that Toledo has", "give at least one")
    return start, {name: operations.get(name, 0.0) for name in OPERATIONS.values()} | operations


def _going_on(parameters: DocentParameters, name: str) -> float:
    """Return the chance to go on from that to stop, without noise in its last digits."""
    stopping = parameters.number(name)
    if not 0.0 < stopping <= 1.0:
        raise parameters.error(f"{name} is {stopping:g}", "write a probability above 0")
    return round(1.0 - stopping, DIGITS)


def _search(part: Any, path: str | Path, notes: list[str]) -> dict[str, Any]:
    parameters = DocentParameters(part, path)
    algorithm = part.get("algorithm", "")
    table: dict[str, Any] = {"accept": "hill-climbing", "steps": parameters.whole("max-steps")}
    schedule = parameters.text("schedule", "") if algorithm == "simulated-annealing" else ""
    if schedule == "hill-climbing":
        table["max_rejected"] = parameters.whole("hill-climbing:max-rejected", MAX_REJECTED)
    elif schedule == "geometric-decay":
        hot = parameters.number("geometric-decay:start-temperature")
        decay = parameters.number("geometric-decay:decay-factor")
        if not (hot > 0.0 and 0.0 < decay <= 1.0):
            raise parameters.error("no temperatures that fall", "start-temperature > 0, and 0 < decay-factor ≤ 1")
        steps = table["steps"]
        if decay < 1.0:  # Docent stops at a temperature of almost 0
            steps = min(steps, max(math.ceil((COLDEST - math.log(hot)) / math.log(decay)), 0))
        if steps < table["steps"]:
            notes.append(f"max-steps {table['steps']}: {steps} instead, for then it is so cold that Docent stops")
        cold = hot * decay**steps
        table.update(accept=f"annealing:start={hot},end={cold}", steps=steps)
        if parameters.text("geometric-decay:step-on-acceptance", "false") in ("true", "1"):
            notes.append("geometric-decay:step-on-acceptance: temperatures fall at each step here, accepted or not")
    else:
        notes.append(f"search {algorithm} {schedule}".rstrip() + ": hill climbing instead")
        if algorithm == "local-beam-search":
            table["max_rejected"] = parameters.whole("max-rejected")
    notes += parameters.unused("search")
    return table


TEXT_TABLE = "give `phrase_table` in Moses' text format; the binary tables of Docent cannot be read"
ARPA = "give `language_models` as ARPA files; binary ones cannot be read"


def import_docent(
    configuration: DocentConfiguration,
    base: Path,
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    progress: Progress = silent,
) -> PhraseModel:
    """Return a model from a configuration in the directory `base`; files given here replace those it names."""
    table_path = phrase_table or _there(base / configuration.phrase_table, TEXT_TABLE)
    lm_paths = [*language_models] or [_there(base / path, ARPA) for path in configuration.language_models]
    if len(lm_paths) != len(configuration.language_models):
        message = f"{len(lm_paths)} language models, but the configuration has {len(configuration.language_models)}"
        raise InputError(message, remedy="give one for each of its ngram-models, in their order")
    source, target = Vocabulary(), Vocabulary()
    table = read_phrase_table(table_path, source, target, configuration.table_features, progress)
    models = tuple(read_arpa(path, target, progress) for path in lm_paths)
    names = feature_names(table, len(models))
    weights = Weights({name: configuration.weights.get(name, 0.0) for name in names}, frozenset({"oov"}))
    settings = SearchSettings(configuration.distortion_limit, configuration.table_limit)
    return PhraseModel(table, models, weights, settings, training={"imported": "docent"})


def _there(path: Path, remedy: str) -> Path:
    """Require a file: the names of Docent's binary tables are not those of files, and files may have moved."""
    if not path.is_file():
        raise InputError("no such file, but the configuration of Docent names it", file=path, remedy=remedy)
    return path
