"""What is in a model: how many parameters of which kind, its features and weights, how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toledo.consensus.registry import make_rule
from toledo.model import PhraseModel, table_sizes
from toledo.results import TableResult, table
from toledo.settings import Named


@dataclass(frozen=True)
class ParameterRow:
    """How many numbers of one kind a part of a model has."""

    part: str
    kind: str
    parameters: int


@dataclass(frozen=True)
class ModelInfo(TableResult):
    """The parts of a model with their numbers of parameters, its weights, and how it was made."""

    name: str
    rows: tuple[ParameterRow, ...]
    weights: Mapping[str, float]
    vocabulary: tuple[int, int]
    rule: str
    scale: float | None
    text: str
    training: Mapping[str, Any] = field(repr=False)
    sign: str = field(repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return what this model is, in one line."""
        return self.sign

    @property
    def num_parameters(self) -> int:
        """Return the number of all parameters, weights included."""
        return sum(row.parameters for row in self.rows)

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each part and kind."""
        return [vars(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "name": self.name,
            "parameters": self.rows_as_dicts(),
            "num_parameters": self.num_parameters,
            "weights": dict(self.weights),
            "vocabulary": {"source": self.vocabulary[0], "target": self.vocabulary[1]},
            "rule": self.rule,
            "scale": self.scale,
            "text": self.text,
            "training": dict(self.training),
            "signature": self.signature,
        }

    def __str__(self) -> str:
        lines = [["part", "kind", "parameters"], *([row.part, row.kind, f"{row.parameters:,}"] for row in self.rows)]
        at = "" if self.scale is None else f" at scale {self.scale:g}"
        return "\n".join(
            [
                *table([*lines, ["total", "", f"{self.num_parameters:,}"]], left=[0, 1]),
                "",
                *table([["feature", "weight"], *([name, f"{value:.4g}"] for name, value in self.weights.items())]),
                "",
                f"vocabulary: {self.vocabulary[0]:,} source words, {self.vocabulary[1]:,} target words",
                f"rule: {self.rule}{at}",
                f"text: {self.text}",
                *(f"{name}: {value}" for name, value in flat(self.training)),
                self.signature,
            ]
        )


def model_info(model: PhraseModel, name: str, rule: Named[Any], scale: float | None) -> ModelInfo:
    """Count what is in a model."""
    return ModelInfo(
        name,
        tuple(_rows(model)),
        {one: model.weights[one] for one in model.feature_names},
        (len(model.source_vocabulary), len(model.target_vocabulary)),
        rule if isinstance(rule, str) else make_rule(rule).name,
        scale,
        f"{'raw' if model.preparation.raw else 'tokenized'} ({model.preparation.signature})",
        model.training,
        model.signature,
    )


def _rows(model: PhraseModel) -> Iterator[ParameterRow]:
    several = [(f"phrase table {k}", part.columns(k)) for k, part in enumerate(model.table.parts)]
    tables = several or [("phrase table", model.table.feature_names)]
    for (part, features), pairs in zip(tables, table_sizes(model.table), strict=True):
        yield from (ParameterRow(part, feature, pairs) for feature in features)
    if model.table.reordering is not None:
        yield ParameterRow("reordering", "msd, both directions", model.table.reordering.size)
    if model.word_lexicons is not None:
        for name, lexicon in model.word_lexicons._asdict().items():
            yield ParameterRow("word lexicon", f"IBM Model 1, {name}", lexicon.probabilities.size)
    for number, one in enumerate(model.language_models):
        part = "language model" if len(model.language_models) == 1 else f"language model {number}"
        for order, ngrams in enumerate(one.ngrams.orders, start=1):
            yield ParameterRow(part, f"{order}-grams", len(ngrams))
    if model.sparse is not None:
        yield ParameterRow("weights", "sparse features", sum(name in model.weights for name in model.sparse.names))
    yield ParameterRow("weights", "features", len(model.feature_names))


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables with their full names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
