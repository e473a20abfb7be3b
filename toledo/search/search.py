"""What all searches share: a model with its weights, and how to encode, prepare and search sentences.

search = Beam(pop_limit=200).search(model)
sentences = search.encode([["das", "haus"]])
search.translate(sentences)
search.with_weights(other).forests(sentences)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.phrases.pruning import weighted_scores
from toledo.phrases.table import REORDERING_FEATURES, PhraseTable
from toledo.phrases.trie import occurring_phrases
from toledo.progress import Progress, silent
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
from toledo.search.steps import Step, steps_of
from toledo.text.vocabulary import RESERVED, UNKNOWN
from toledo.weights import Weights


@dataclass(frozen=True, eq=False)
class EncodedSentence:
    """A source sentence: its words, their ids, and ids of the target language for those that may be copied."""

    words: Sequence[str]
    source: NDArray[np.int32]
    copies: NDArray[np.int32]
    table: PhraseTable

    @property
    def unknown(self) -> int:
        """Return the number of words that the model does not know."""
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
        """Return the distortion limit, at most the window of a search."""
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
            np.array(() if pairs.origin is None else pairs.origin, np.uint8),  # a copy: one kind of array for kernels
            self.scoring,
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
            self.scoring,
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
    """Return which source words are phrases of the table: these are never copied."""
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


Found = TypeVar("Found")
Result = TypeVar("Result")
Sentences = Sequence[Sequence[str]] | Sequence[EncodedSentence]


@dataclass(frozen=True)
class Translation:
    """The best translation of a sentence: its phrases in target order, and its score."""

    steps: tuple[Step, ...]
    score: float

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of all phrases."""
        return tuple(word for step in self.steps for word in step.words)

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class SearchResult:
    """The best translation, the forest, and how much work it was: options, steps tried, and nodes made."""

    translation: Translation
    forest: Forest
    options: int
    pops: int
    nodes: int


class Search(ABC, Generic[Found]):
    """A search with one model and its weights; translates any number of sentences, in threads.

    `model` has a weight for every feature of the search. A subclass says how to search one sentence, and how to read
    what it found.
    """

    sentences_at_once: ClassVar[int] = 1
    label: ClassVar[str] = "translating"

    def __init__(self, model: PhraseModel, seed: int = 1) -> None:
        self.model, self.seed = self._complete(model), seed
        self._weighted = weigh(self.model)

    def with_weights(self, weights: Weights, seed: int | None = None) -> Self:
        """Return the same search with other weights, which reads the encoded sentences of this one."""
        other = copy(self)
        other.model, other.seed = self._complete(self.model.with_weights(weights)), self.seed if seed is None else seed
        other._weighted = weigh(other.model, self._weighted.has_option)
        return other

    def encode(self, sentences: Sentences) -> list[EncodedSentence]:
        """Return sentences as ids, once for any number of searches. New words are added: not for threads."""
        return [self._weighted.encode(sentence) for sentence in sentences]

    def options(self, sentence: EncodedSentence) -> SentenceOptions:
        """Return the translation options of a sentence."""
        return self._weighted.options(self._weighted.prepare([sentence]), sentence)

    def translate(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """Return the best translation of each sentence."""
        return self._run(sentences, threads, progress, self._translation)

    def results(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """Return the best translation of each sentence, its forest, and how much work it was."""
        return self._run(sentences, threads, progress, self._result)

    def forests(self, sentences: Sentences, threads: int | None = None, progress: Progress = silent) -> list[Forest]:
        """Return for each sentence a forest of all translations that the search kept."""
        return self._run(sentences, threads, progress, self._forest)

    def _run(
        self, sentences: Sentences, threads: int | None, progress: Progress, finish: Callable[[Found], Result]
    ) -> list[Result]:
        encoded = self.encode(sentences)
        table = self._weighted.prepare(encoded)

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(self._weighted.options(table, one), one.words)) for one in encoded[first:last]]

        parts = map_chunks(
            work, len(encoded), chunk=self.sentences_at_once, threads=threads, progress=progress, label=self.label
        )
        return [result for part in parts for result in part]

    def _complete(self, model: PhraseModel) -> PhraseModel:
        """Return the model with a weight for every feature of the search."""
        return model

    @abstractmethod
    def _search(self, options: SentenceOptions, words: Sequence[str]) -> Found:
        """Search one sentence."""

    @abstractmethod
    def _translation(self, found: Found) -> Translation:
        """Return the best derivation."""

    @abstractmethod
    def _forest(self, found: Found) -> Forest:
        """Return all derivations."""

    @abstractmethod
    def _result(self, found: Found) -> SearchResult:
        """Return everything about one sentence."""


def best_translation(forest: Forest, weights: Weights) -> Translation:
    """Return the best derivation of the forest of a phrase-based search, with a score of −inf if there is none."""
    (best,) = viterbi(forest, forest.scores(weights, threads=1))
    return Translation((), -np.inf) if best is None else Translation(steps_of(best), best.score)
