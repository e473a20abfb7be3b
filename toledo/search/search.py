"""What all searches do: encode sentences, prepare the table for them, search each, and finish what was found.

search = Beam(pop_limit=200).search(model)
sentences = search.encode([["das", "haus"]])
search.translate(sentences)
search.with_weights(other).forests(sentences)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from toledo.compiled.kernels import map_chunks
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.options import SentenceOptions
from toledo.search.steps import Step, steps_of
from toledo.search.weighted_model import EncodedSentence, weigh
from toledo.weights import Weights

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
        """The words of all phrases."""
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
