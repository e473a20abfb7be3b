"""The models of a Docent configuration and their weights, by Toledo's names.

Scores are Docent's for the features that both have, with one factor: an unknown word counts −1 there and −100 here.
BLEU is 0 to 1 there and 0 to 100 here, and OVIX has the other sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toledo.errors import InputError
from toledo.formats.docent_parameters import Parameters
from toledo.formats.markup import Element
from toledo.formats.moses_table import column_names
from toledo.model import lm_feature
from toledo.phrases.table import SCORE_FEATURES

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
