"""A model with its weights, as all searches score with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.model import PhraseModel
from toledo.phrases.pruning import weighted_scores
from toledo.phrases.table import REORDERING_FEATURES, PhraseTable
from toledo.phrases.trie import occurring_phrases
from toledo.search.chain import Sentence
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
class EncodedSentence:
    """A source sentence: its words, their ids, and ids of the target language for those that may be copied."""

    words: Sequence[str]
    source: NDArray[np.int32]
    copies: NDArray[np.int32]
    table: PhraseTable

    @property
    def unknown(self) -> int:
        """The number of words that the model does not know."""
        return int((self.source == UNKNOWN).sum())


@dataclass(frozen=True, eq=False)
class WeightedModel:
    """What a step scores: phrase pairs and copied words by themselves, and the rest by its context."""

    model: PhraseModel
    pair_scores: NDArray[np.float64]
    copy_score: float
    scoring: Scoring
    has_option: NDArray[np.bool_]

    @property
    def longest_jump(self) -> int:
        """The distortion limit, at most the window of a search."""
        limit = self.model.settings.distortion_limit
        return WINDOW if limit is None else min(limit, WINDOW)

    def encode(self, sentence: Sequence[str] | EncodedSentence) -> EncodedSentence:
        """Return a sentence as ids, with new target words for source words that may be copied: not for threads."""
        if isinstance(sentence, EncodedSentence):
            if sentence.table is not self.model.table:
                raise ValueError("a sentence was encoded for another model")
            return sentence
        source = self.model.source_vocabulary.ids(sentence)
        copies = [
            UNKNOWN if self.has_option[number] else self.model.target_vocabulary.add(harmless(word))
            for number, word in zip(source.tolist(), sentence, strict=True)
        ]
        return EncodedSentence(sentence, source, np.array(copies, np.int32), self.model.table)

    def prepare(self, sentences: Sequence[EncodedSentence]) -> PreparedTable:
        """Return the options of all source phrases in some sentences."""
        table, pairs = self.model.table, self.model.table.pairs
        offsets = offsets_of([sentence.source.size for sentence in sentences])
        words = np.concatenate([np.empty(0, np.int32), *(sentence.source for sentence in sentences)])
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

    def options(self, table: PreparedTable, sentence: EncodedSentence) -> SentenceOptions:
        """Return the options of a sentence."""
        return sentence_options(
            self.model.table.trie,
            self.model.table.longest_source,
            table,
            self.model.table.pairs.targets.words,
            sentence.source,
            sentence.copies,
            self.copy_score,
            self.scoring.models,
            self.scoring.model_weights,
        )

    def sentence(self, options: SentenceOptions) -> Sentence:
        """Return a sentence as chains see it."""
        return Sentence(options, self.scoring, self.longest_jump, min(options.first.shape[1], WINDOW))


def weigh(model: PhraseModel, has_option: NDArray[np.bool_] | None = None) -> WeightedModel:
    """Multiply scores that do not depend on the sentence by their weights.

    `has_option` is that of the same model with other weights, if there is one.
    """
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
        has_option=_words_with_options(model) if has_option is None else has_option,
    )


def harmless(word: str) -> str:
    """Escape a reserved word: a copied `<s>` must not end or begin a sentence for the language model."""
    return word.replace("<", "&lt;").replace(">", "&gt;") if word in RESERVED else word


def as_given(text: str, source: Sequence[str]) -> str:
    """Restore reserved words of the source in a translation that has copied them escaped."""
    copied = {harmless(word): word for word in source if word in RESERVED}
    return " ".join(copied.get(word, word) for word in text.split(" ")) if copied else text


def _words_with_options(model: PhraseModel) -> NDArray[np.bool_]:
    """Which source words are phrases of the table: these are never copied."""
    sources = model.table.pairs.sources
    single = np.flatnonzero(np.diff(sources.offsets) == 1)
    found = np.zeros(len(model.source_vocabulary), np.bool_)
    found[sources.words[sources.offsets[single]]] = True
    return found


def _weighted_reordering(model: PhraseModel, weights: Mapping[str, float]) -> NDArray[np.float32]:
    if model.table.reordering is None:
        return np.empty((0, len(REORDERING_FEATURES)), np.float32)
    factors = np.array([weights[name] for name in REORDERING_FEATURES], np.float32)
    return model.table.reordering * factors
