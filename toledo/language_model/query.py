"""Scoring text with a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.kernels import map_chunks
from toledo.language_model.automaton import Automaton, begin_state, build_automaton
from toledo.language_model.backoff import BackoffModel
from toledo.language_model.boundaries import refuse_boundaries
from toledo.language_model.scoring import known_tokens, sentence_scores, token_scores
from toledo.progress import Progress, silent
from toledo.vocabulary import UNKNOWN

SENTENCES_AT_ONCE = 1000


@dataclass(frozen=True)
class Perplexity:
    """How well a model predicts a text: sums of log10 probabilities and numbers of tokens, sentence ends among them."""

    log10: float
    tokens: int
    unknown_log10: float
    unknown: int

    def __add__(self, other: Perplexity) -> Perplexity:
        """Of two texts together."""
        return Perplexity(
            self.log10 + other.log10,
            self.tokens + other.tokens,
            self.unknown_log10 + other.unknown_log10,
            self.unknown + other.unknown,
        )

    @property
    def including_unknown(self) -> float:
        """Perplexity where an unknown word has the probability of `<unk>`."""
        return float(10 ** (-self.log10 / max(self.tokens, 1)))

    @property
    def excluding_unknown(self) -> float:
        """Perplexity of the known words and sentence ends alone."""
        return float(10 ** (-(self.log10 - self.unknown_log10) / max(self.tokens - self.unknown, 1)))


class LanguageModel:
    """A back-off model ready for look-ups.

    Compiled code uses `automaton` with `toledo.language_model.automaton.advance`; a state is a number, 0 is no context,
    `begin` is the state after `<s>`, and a sentence ends with the word `</s>`.
    """

    def __init__(self, ngrams: BackoffModel) -> None:
        self.ngrams = ngrams

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return self.ngrams.order

    @cached_property
    def automaton(self) -> Automaton:
        """The look-up tables."""
        return build_automaton(self.ngrams)

    @property
    def begin(self) -> int:
        """The state at the beginning of a sentence."""
        return begin_state(self.automaton)

    def score(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> NDArray[np.float64]:
        """The log10 probability of each sentence, its end included."""
        refuse_boundaries(sentences)
        automaton = self.automaton

        def work(begin: int, end: int) -> NDArray[np.float64]:
            return sentence_scores(automaton, *_known(automaton, sentences, begin, end))

        parts = map_chunks(
            work, len(sentences), chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="scoring"
        )
        return np.concatenate([np.empty(0), *parts])

    def perplexity(self, sentences: Sentences, threads: int | None = None, progress: Progress = silent) -> Perplexity:
        """How well the model predicts a text."""
        refuse_boundaries(sentences)
        automaton = self.automaton

        def work(begin: int, end: int) -> Perplexity:
            tokens, scores = _tokens_and_scores(automaton, sentences, begin, end)
            unknown = tokens == UNKNOWN
            return Perplexity(
                float(scores.sum()), tokens.size, float(scores[unknown].sum()), int(np.count_nonzero(unknown))
            )

        parts = map_chunks(
            work, len(sentences), chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="scoring"
        )
        return sum(parts, start=Perplexity(0.0, 0, 0.0, 0))

    def word_scores(self, sentences: Sentences) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """All words and sentence ends of a text as the model sees them (unknown ones as UNKNOWN), and their log10."""
        refuse_boundaries(sentences)
        return _tokens_and_scores(self.automaton, sentences, 0, len(sentences))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Named arrays, for saving."""
        return self.ngrams.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], vocabulary_size: int) -> LanguageModel:
        """What `to_arrays` gave; arrays that do not fit together or the vocabulary are refused."""
        return cls(BackoffModel.from_arrays(arrays, vocabulary_size))


def _known(
    automaton: Automaton, sentences: Sentences, begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Some sentences as the model sees them, with their ends."""
    first, last = sentences.offsets[begin], sentences.offsets[end]
    return known_tokens(automaton, sentences.words[first:last], sentences.offsets[begin : end + 1] - first)


def _tokens_and_scores(
    automaton: Automaton, sentences: Sentences, begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The words and ends of some sentences as the model sees them, and their scores."""
    tokens, starts = _known(automaton, sentences, begin, end)
    return tokens, token_scores(automaton, tokens, starts)
