"""Phrase-based beam search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.forest import Forest
from toledo.kernels import map_chunks
from toledo.model import Model
from toledo.phrases.filtering import weighted_scores
from toledo.phrases.look_up import occurring_phrases
from toledo.phrases.table import REORDERING_FEATURES
from toledo.progress import Progress, silent
from toledo.search.beam.arrays import Lattice, Limits, Scoring
from toledo.search.beam.cubes import WINDOW
from toledo.search.beam.lattice import Step, Translation, best_translation, to_forest
from toledo.search.beam.options import (
    OOV,
    PreparedTable,
    SentenceOptions,
    future_scores,
    prepare_options,
    sentence_options,
)
from toledo.search.beam.stacks import search_sentence
from toledo.vocabulary import RESERVED, UNKNOWN

__all__ = ["BeamSearch", "BeamSettings", "Step", "Translation"]

SENTENCES_AT_ONCE = 16

Result = TypeVar("Result")


@dataclass(frozen=True)
class BeamSettings:
    """How hard to search: steps taken for each number of translated words."""

    pop_limit: int = 400

    def __post_init__(self) -> None:
        if self.pop_limit < 1:
            raise ValueError("the pop limit must be at least 1")


class BeamSearch:
    """A beam search with one model and its weights; translates any number of sentences, in threads."""

    def __init__(self, model: Model, settings: BeamSettings = BeamSettings()) -> None:  # noqa: B008 (frozen)
        self.model = model
        weights = {name: model.weights[name] for name in model.feature_names}
        lengths = np.diff(model.table.pairs.targets.offsets)[model.table.pairs.target]
        table_weights = np.array([weights[name] for name in model.table.feature_names])
        scores = weighted_scores(model.table.scores, table_weights)
        self._pair_scores = scores + weights["phrase.penalty"] - weights["word.penalty"] * lengths
        self._copy_score = OOV * weights["oov"] + weights["phrase.penalty"] - weights["word.penalty"]
        self._has_option = _words_with_options(model)
        limit = model.settings.distortion_limit
        self._limits = Limits(settings.pop_limit, WINDOW if limit is None else min(limit, WINDOW))
        models = len(model.language_models)
        self._scoring = Scoring(
            tuple(language_model.automaton for language_model in model.language_models),
            np.array([weights[name] for name in model.feature_names[:models]]),
            weights["distortion"],
            _weighted_reordering(model, weights),
        )

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The best translation of each sentence."""
        return self._run(sentences, threads, progress, lambda found: best_translation(self.model, *found))

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence a lattice of all translations that the search kept."""
        return self._run(sentences, threads, progress, lambda found: to_forest(self.model, *found))

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[tuple[SentenceOptions, Lattice]], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._encode(words) for words in sentences]
        table = self._prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(table, *encoded[i])) for i in range(first, last)]

        parts = map_chunks(
            work,
            len(encoded),
            chunk=SENTENCES_AT_ONCE,
            threads=threads,
            progress=progress,
            label="translating",
        )
        return [result for part in parts for result in part]

    def _encode(self, words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source ids, and target ids of the words that may have to be copied."""
        source = self.model.source_vocabulary.ids(words)
        copied = [
            UNKNOWN if self._has_option[number] else self.model.target_vocabulary.add(_harmless(word))
            for number, word in zip(source.tolist(), words, strict=True)
        ]
        return source, np.array(copied, np.int32)

    def _prepare(self, sources: Sequence[NDArray[np.int32]]) -> PreparedTable:
        """The options of all source phrases in some sentences."""
        table, pairs = self.model.table, self.model.table.pairs
        offsets = np.concatenate([[0], np.cumsum([source.size for source in sources])]).astype(np.int64)
        words = np.concatenate([np.empty(0, np.int32), *sources])
        wanted = occurring_phrases(table.trie, len(pairs.sources), table.longest_source, words, offsets)
        return prepare_options(
            table.option_offsets,
            wanted,
            pairs.target,
            pairs.targets.offsets,
            pairs.targets.words,
            self._pair_scores,
            self._scoring.models,
            self._scoring.model_weights,
            self.model.settings.table_limit,
        )

    def _search(
        self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]
    ) -> tuple[SentenceOptions, Lattice]:
        options = sentence_options(
            self.model.table.trie,
            self.model.table.longest_source,
            table,
            self.model.table.pairs.targets.words,
            source,
            copies,
            self._copy_score,
            self._scoring.models,
            self._scoring.model_weights,
        )
        return options, search_sentence(options, future_scores(options), self._scoring, self._limits)


def _words_with_options(model: Model) -> NDArray[np.bool_]:
    """Which source words are phrases of the table: these are never copied."""
    sources = model.table.pairs.sources
    single = np.flatnonzero(np.diff(sources.offsets) == 1)
    found = np.zeros(len(model.source_vocabulary), np.bool_)
    found[sources.words[sources.offsets[single]]] = True
    return found


def _harmless(word: str) -> str:
    """A copied `<s>` must not end or begin a sentence for the language model."""
    return word.replace("<", "&lt;").replace(">", "&gt;") if word in RESERVED else word


def _weighted_reordering(model: Model, weights: Mapping[str, float]) -> NDArray[np.float32]:
    if model.table.reordering is None:
        return np.empty((0, len(REORDERING_FEATURES)), np.float32)
    factors = np.array([weights[name] for name in REORDERING_FEATURES], np.float32)
    return model.table.reordering * factors
