"""The translation model: phrase table, language models, word lexicons and weights, as one directory.

A directory holds `model.toml` (what the model is, how it was made, its weights and settings) and `.npy` arrays, which
are mapped into memory. The log-linear features are those of Moses (Koehn et al. 2007), under the names of
`Model.feature_names`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.errors import ModelError
from toledo.files import LARGEST_WHOLE
from toledo.language_model.model import LanguageModel
from toledo.phrases.lexicon import Lexicon, Lexicons, check_lexicon
from toledo.phrases.sparse import PairFeatures
from toledo.phrases.table import FILLED, PhraseTable, TablePart
from toledo.storage import strings
from toledo.text.preparation import TOKENIZED, Preparation, TextSide
from toledo.text.vocabulary import RESERVED, Vocabulary
from toledo.weights import Weights

DESCRIPTION = "model.toml"
FORMAT = 1
SEVERAL_TABLES = 2  # the format of a model that unites phrase tables, which older versions cannot read
SEARCH_FEATURES = ("distortion", "word.penalty", "phrase.penalty", "oov")
DEFAULT_WEIGHTS = {"distortion": 0.3, "word.penalty": -1.0, "phrase.penalty": 0.2, "oov": 1.0}
DEFAULT_LM_WEIGHT, DEFAULT_TABLE_WEIGHT, DEFAULT_REORDERING_WEIGHT = 0.5, 0.2, 0.3

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SearchSettings:
    """Default limits of searches; distortion limit None: no limit, table limit 0: all options."""

    distortion_limit: int | None = 6
    table_limit: int = 20


@dataclass(frozen=True, eq=False)
class PhraseModel:
    """Everything that translation needs. `word_lexicons` are those of IBM Model 1, where the model was trained here.

    `sparse` features of phrase pairs are optional; those without a weight weigh 0. `rule` has the `name` of the
    decision rule that the model translates with ("mbr:size=100") and its `scale`; by default it has none.
    `preparation` says how raw text becomes words of the model; by default, its text is tokenized.
    """

    table: PhraseTable
    language_models: tuple[LanguageModel, ...]
    weights: Weights
    settings: SearchSettings = SearchSettings()
    word_lexicons: Lexicons | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    sparse: PairFeatures | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    preparation: Preparation = TOKENIZED

    def __post_init__(self) -> None:
        self.weights.array(self.feature_names)  # every feature must have a weight
        if self.sparse is not None:
            if len(self.sparse) != len(self.table):
                raise ValueError(f"sparse features of {len(self.sparse)} phrase pairs for {len(self.table)}")
            if both := set(self.sparse.names) & set(self.feature_names):
                raise ValueError(f"{min(both)} is the name of a dense feature and of a sparse one")

    @property
    def source_vocabulary(self) -> Vocabulary:
        """Return the words of the source language."""
        return self.table.source_vocabulary

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Return the words of the target language, in the phrase table and the language models alike."""
        return self.table.target_vocabulary

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the features, without sparse ones."""
        return feature_names(self.table, len(self.language_models))

    @cached_property
    def signature(self) -> str:
        """Return what this model is, in one line."""
        orders = ",".join(str(model.order) for model in self.language_models)
        reordering = "no" if self.table.reordering is None else "msd-bidirectional-fe"
        return "|".join(
            [
                f"pairs:{'+'.join(map(str, table_sizes(self.table)))}",
                f"length:{self.table.longest_source}",
                f"reordering:{reordering}",
                f"lm:{orders or 'none'}",
                *([] if self.preparation == TOKENIZED else [f"text:{self.preparation.signature}"]),
                *(f"{key}:{_brief(value)}" for key, value in self.training.items()),
                f"version:{version('toledo-mt')}",
            ]
        )

    def with_weights(self, weights: Weights) -> PhraseModel:
        """Return the same model with other weights."""
        return replace(self, weights=weights)

    def save(self, directory: str | Path, keep: str = "", more: Callable[[Path], object] | None = None) -> None:
        """Write a directory atomically; an older one is replaced, except for its folder `keep`.

        `more` may write more into the new directory before it is in its place.
        """
        content = {
            "format": SEVERAL_TABLES if self.table.parts else FORMAT,
            "signature": self.signature,
            "table_features": list(self.table.feature_names),
            **({"tables": [_part_table(part) for part in self.table.parts]} if self.table.parts else {}),
            "language_models": [{"order": model.order} for model in self.language_models],
            "search": _settings_table(self.settings),
            "training": dict(self.training),
            **({"rule": dict(self.rule)} if self.rule else {}),
            **({} if self.preparation == TOKENIZED else {"text": self._text_table()}),
            **self.weights.to_table(),
        }
        storage.save(directory, DESCRIPTION, content, self._arrays(), keep, more)

    def _arrays(self) -> Arrays:
        parts: dict[str, Mapping[str, NDArray[Any]]] = {
            "source": self.source_vocabulary.to_arrays(),
            "target": self.target_vocabulary.to_arrays(self._own_target_words()),
            "table": self.table.to_arrays(),
        }
        parts.update({f"lm{i}": model.to_arrays() for i, model in enumerate(self.language_models)})
        if self.word_lexicons is not None:
            parts["lexicon_forward"] = self.word_lexicons.forward._asdict()
            parts["lexicon_backward"] = self.word_lexicons.backward._asdict()
        if self.sparse is not None:
            parts["sparse"] = self.sparse.to_arrays()
        parts.update({f"text_{name}": side.to_arrays() for name, side in self._text_sides()})
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def _text_table(self) -> dict[str, Any]:
        return {name: side.to_table() for name, side in self._text_sides()}

    def _text_sides(self) -> list[tuple[str, TextSide]]:
        return [("source", self.preparation.source), ("target", self.preparation.target)]

    def _own_target_words(self) -> int:
        """Return the number of target words of the model, without unknown words that searches have copied."""
        own = [self.table.pairs.targets.words]
        own += [model.ngrams.orders[0].words for model in self.language_models]
        if self.word_lexicons is not None:
            own.append(self.word_lexicons.forward.words)
        sizes = [int(words.max()) + 1 for words in own if words.size]
        if self.word_lexicons is not None:
            sizes.append(self.word_lexicons.backward.offsets.size - 1)
        return max([len(RESERVED), *sizes])

    @classmethod
    def load(cls, directory: str | Path) -> PhraseModel:
        """Map a directory into memory; missing, damaged or inconsistent files are refused."""
        file = Path(directory) / DESCRIPTION
        if not file.exists():
            remedy = "check the path; make a model with toledo train, or from Moses' files with toledo import"
            raise ModelError(f"no such file, so {directory} is not a model", file=file, remedy=remedy)
        content, arrays = storage.load(directory, DESCRIPTION)
        if content.get("format") not in (FORMAT, SEVERAL_TABLES):
            message = f"model format {content.get('format')}, this version reads {FORMAT} and {SEVERAL_TABLES}"
            raise ModelError(message, file=file, remedy="train it again")
        with storage.assembling(file, "restore the directory or train it again"):
            return _assemble(cls, content, arrays, file)


def feature_names(table: PhraseTable, language_models: int) -> tuple[str, ...]:
    """Return the features of a model with this table and this number of language models."""
    models = tuple(lm_feature(i) for i in range(language_models))
    return (*models, *table.all_feature_names, *SEARCH_FEATURES)


def table_sizes(table: PhraseTable) -> list[int]:
    """Return the number of phrase pairs of each table that a table unites."""
    return [int(np.count_nonzero(table.of_part(number))) for number in range(max(len(table.parts), 1))]


def lm_feature(number: int) -> str:
    """Return the name of a language model's feature: lm, lm.1, lm.2, …"""
    return f"lm.{number}" if number else "lm"


def default_weights(names: Sequence[str]) -> Weights:
    """Return Moses' default weights; the penalty of unknown words is frozen."""
    values = {}
    for name in names:
        if name in DEFAULT_WEIGHTS:
            values[name] = DEFAULT_WEIGHTS[name]
        elif name.startswith("lm"):
            values[name] = DEFAULT_LM_WEIGHT
        elif name.startswith(FILLED):
            values[name] = 0.0  # whether later tables are worse is for tuning to find out
        elif name.startswith("reordering"):
            values[name] = DEFAULT_REORDERING_WEIGHT
        else:
            values[name] = DEFAULT_TABLE_WEIGHT
    return Weights(values, frozen=frozenset({"oov"} & set(names)))


def _brief(value: object) -> str:
    """Return a short digest of a configuration, or any other value as it is."""
    return (
        hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
        if isinstance(value, dict)
        else str(value)
    )


def _part_table(part: TablePart) -> dict[str, Any]:
    return {"features": list(part.feature_names), "back_off": part.back_off}


def _table_parts(tables: Sequence[Mapping[str, Any]]) -> list[TablePart]:
    parts = [TablePart(strings(table, "features"), table["back_off"]) for table in tables]
    if not all(isinstance(part.back_off, int) and part.back_off >= 0 for part in parts):
        raise ValueError("[[tables]] has a back_off that is not a whole number from 0 up")
    return parts


def _settings_table(settings: SearchSettings) -> dict[str, int]:
    limit = {} if settings.distortion_limit is None else {"distortion_limit": settings.distortion_limit}
    return {**limit, "table_limit": settings.table_limit}


def _settings(table: Mapping[str, Any]) -> SearchSettings:
    limits = table.get("distortion_limit", 0), table["table_limit"]
    if not all(isinstance(limit, int) and 0 <= limit <= LARGEST_WHOLE for limit in limits):
        raise ValueError(f"[search] has a limit that is not a whole number from 0 to {LARGEST_WHOLE}")
    return SearchSettings(table.get("distortion_limit"), table["table_limit"])


def _assemble(cls: type[PhraseModel], content: dict[str, Any], arrays: Arrays, file: Path) -> PhraseModel:
    source, target = (
        Vocabulary.from_arrays(arrays[f"{side}.bytes"], arrays[f"{side}.offsets"]) for side in ("source", "target")
    )
    lexicons = None
    if "lexicon_forward.words" in arrays:
        lexicons = Lexicons(_lexicon(arrays, "forward", source, target), _lexicon(arrays, "backward", target, source))
    return cls(
        table=PhraseTable.from_arrays(
            _part(arrays, "table"),
            source,
            target,
            strings(content, "table_features"),
            _table_parts(content.get("tables", [])),
        ),
        language_models=tuple(
            LanguageModel.from_arrays(_part(arrays, f"lm{i}"), len(target))
            for i in range(len(content["language_models"]))
        ),
        weights=Weights.from_table(content, file),
        settings=_settings(content["search"]),
        word_lexicons=lexicons,
        training=content["training"],
        sparse=PairFeatures.from_arrays(_part(arrays, "sparse")) if "sparse.ids" in arrays else None,
        rule=content.get("rule", {}),
        preparation=_preparation(content["text"], arrays) if "text" in content else TOKENIZED,
    )


def _preparation(table: Mapping[str, Any], arrays: Arrays) -> Preparation:
    sides = (TextSide.from_table(table[name], _part(arrays, f"text_{name}")) for name in ("source", "target"))
    return Preparation(*sides)


def _part(arrays: Arrays, name: str) -> Arrays:
    return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}


def _lexicon(arrays: Arrays, direction: str, given: Vocabulary, words: Vocabulary) -> Lexicon:
    lexicon = Lexicon(*(arrays[f"lexicon_{direction}.{name}"] for name in Lexicon._fields))
    check_lexicon(lexicon, len(given), len(words))
    return lexicon
