"""A model with its weights, as beam search and forced decoding score with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.model import Model
from toledo.phrases.pruning import weighted_scores
from toledo.phrases.table import REORDERING_FEATURES
from toledo.phrases.trie import occurring_phrases
from toledo.search.options import (
    OOV,
    WINDOW,
    PreparedTable,
    Scoring,
    SentenceOptions,
    prepare_options,
    sentence_options,
)
from toledo.text.vocabulary import RESERVED, UNKNOWN


@dataclass(frozen=True, eq=False)
class WeightedModel:
    """What a step scores: phrase pairs and copied words by themselves, and the rest by its context."""

    model: Model
    pair_scores: NDArray[np.float64]
    copy_score: float
    scoring: Scoring
    has_option: NDArray[np.bool_]

    @property
    def longest_jump(self) -> int:
        """The distortion limit as far as a search can see."""
        limit = self.model.settings.distortion_limit
        return WINDOW if limit is None else min(limit, WINDOW)

    def encode(self, words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source ids, and target ids of the words that may have to be copied, new ones if need be: not for threads."""
        source = self.model.source_vocabulary.ids(words)
        copied = [
            UNKNOWN if self.has_option[number] else self.model.target_vocabulary.add(harmless(word))
            for number, word in zip(source.tolist(), words, strict=True)
        ]
        return source, np.array(copied, np.int32)

    def prepare(self, sources: Sequence[NDArray[np.int32]]) -> PreparedTable:
        """The options of all source phrases in some sentences."""
        table, pairs = self.model.table, self.model.table.pairs
        offsets = offsets_of([source.size for source in sources])
        words = np.concatenate([np.empty(0, np.int32), *sources])
        return prepare_options(
            table.option_offsets,
            occurring_phrases(table.trie, len(pairs.sources), table.longest_source, words, offsets),
            pairs.target,
            pairs.targets.offsets,
            pairs.targets.words,
            self.pair_scores,
            self.scoring.models,
            self.scoring.model_weights,
            self.model.settings.table_limit,
        )

    def options(self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]) -> SentenceOptions:
        """The options of a sentence, as `encode` gave it."""
        return sentence_options(
            self.model.table.trie,
            self.model.table.longest_source,
            table,
            self.model.table.pairs.targets.words,
            source,
            copies,
            self.copy_score,
            self.scoring.models,
            self.scoring.model_weights,
        )


def weigh(model: Model) -> WeightedModel:
    """Multiply what does not depend on the sentence."""
    weights = dict(zip(model.feature_names, model.weights.array(model.feature_names).tolist(), strict=True))
    lengths = np.diff(model.table.pairs.targets.offsets)[model.table.pairs.target]
    table_weights = np.array([weights[name] for name in model.table.feature_names])
    scores = weighted_scores(model.table.scores, table_weights)
    if model.sparse is not None:
        scores = scores + model.sparse.scores(model.weights)
    return WeightedModel(
        model=model,
        pair_scores=scores + weights["phrase.penalty"] - weights["word.penalty"] * lengths,
        copy_score=OOV * weights["oov"] + weights["phrase.penalty"] - weights["word.penalty"],
        scoring=Scoring(
            tuple(language_model.automaton for language_model in model.language_models),
            np.array([weights[name] for name in model.feature_names[: len(model.language_models)]]),
            weights["distortion"],
            _weighted_reordering(model, weights),
        ),
        has_option=_words_with_options(model),
    )


def harmless(word: str) -> str:
    """A copied `<s>` must not end or begin a sentence for the language model."""
    return word.replace("<", "&lt;").replace(">", "&gt;") if word in RESERVED else word


def as_given(text: str, source: Sequence[str]) -> str:
    """A translation in which reserved words of the source, copied harmlessly, are what they were."""
    copied = {harmless(word): word for word in source if word in RESERVED}
    return " ".join(copied.get(word, word) for word in text.split(" ")) if copied else text


def _words_with_options(model: Model) -> NDArray[np.bool_]:
    """Which source words are phrases of the table: these are never copied."""
    sources = model.table.pairs.sources
    single = np.flatnonzero(np.diff(sources.offsets) == 1)
    found = np.zeros(len(model.source_vocabulary), np.bool_)
    found[sources.words[sources.offsets[single]]] = True
    return found


def _weighted_reordering(model: Model, weights: Mapping[str, float]) -> NDArray[np.float32]:
    if model.table.reordering is None:
        return np.empty((0, len(REORDERING_FEATURES)), np.float32)
    factors = np.array([weights[name] for name in REORDERING_FEATURES], np.float32)
    return model.table.reordering * factors
