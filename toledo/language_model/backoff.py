"""A back-off model as sorted arrays: what estimation makes, ARPA files hold and look-up tables are built from.

An n-gram is the pair (its first n−1 words, its last word). Its probability given its first n−1 words is listed; that
of an n-gram not listed is backoff(first n−1 words) · p(last word | one word less).

Sentences between `<s>` and `</s>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.sorting import sort_pairs
from toledo.errors import InputError
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import BEGIN, END, RESERVED

MOST_WORDS = 6
MOST_NEGATIVE = -1e9  # no logarithm of a probability is below; larger numbers do not fit a line of an ARPA file
FIELDS = {"contexts": np.int32, "words": np.int32, "scores": np.float32, "backoffs": np.float32}


@dataclass(frozen=True)
class NGramTable:
    """The n-grams of one order in rising order of (context, word).

    `contexts[i]` is the place of the first n−1 words among the n-grams of the order below (0 for unigrams), `words[i]`
    the last word, `scores[i]` its log10 probability, `backoffs[i]` the log10 weight of backing off from the n-gram as a
    context. The highest order has no such weights: the array is empty.
    """

    contexts: NDArray[np.int32]
    words: NDArray[np.int32]
    scores: NDArray[np.float32]
    backoffs: NDArray[np.float32]

    def __len__(self) -> int:
        return self.words.size


@dataclass(frozen=True)
class BackoffModel:
    """The n-grams of each order, from unigrams up; the first unigrams are `<unk>`, `<s>` and `</s>`."""

    orders: tuple[NGramTable, ...]

    @property
    def order(self) -> int:
        """Return the length of the longest n-grams."""
        return len(self.orders)

    def words_of(self, order: int, part: slice = slice(None)) -> NDArray[np.int32]:
        """Return N-grams of an order, all or a part of them, as a matrix of word ids."""
        columns: list[NDArray[np.int32]] = []
        places = np.arange(*part.indices(len(self.orders[order - 1])), dtype=np.int32)
        for ngrams in reversed(self.orders[:order]):
            columns.append(ngrams.words[places])
            places = ngrams.contexts[places]
        return np.stack(columns[::-1], axis=1)

    def longest_suffix(self, words: Sequence[int]) -> int:
        """Return the length of the longest n-gram of the model that ends these words."""
        return next((len(words) - i for i in range(len(words)) if self._has(words[i:])), 0)

    def _has(self, words: Sequence[int]) -> bool:
        place = 0
        for ngrams, word in zip(self.orders, words, strict=False):
            begin, end = np.searchsorted(ngrams.contexts, [place, place + 1])
            place = int(begin + np.searchsorted(ngrams.words[begin:end], word))
            if place == end or ngrams.words[place] != word:
                return False
        return len(words) <= self.order

    def renumber_words(self, ids: NDArray[np.int32]) -> BackoffModel:
        """Return the same model over another vocabulary, where word i is word `ids[i]`."""
        orders, places = [], np.zeros(1, np.int32)
        for ngrams in self.orders:
            contexts, words = places[ngrams.contexts], ids[ngrams.words]
            by_place = sort_pairs(contexts, words)
            backoffs = ngrams.backoffs[by_place] if ngrams.backoffs.size else ngrams.backoffs
            orders.append(NGramTable(contexts[by_place], words[by_place], ngrams.scores[by_place], backoffs))
            places = np.empty(len(ngrams), np.int32)
            places[by_place] = np.arange(len(ngrams), dtype=np.int32)
        return BackoffModel(tuple(orders))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, for saving."""
        return {
            f"{order}.{name}": getattr(ngrams, name)
            for order, ngrams in enumerate(self.orders, start=1)
            for name in FIELDS
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], vocabulary_size: int) -> BackoffModel:
        """Return the model of `to_arrays`; refuse arrays that do not fit together or the vocabulary."""
        order = next((n for n in range(MOST_WORDS, 0, -1) if f"{n}.words" in arrays), 0)
        kinds = {f"{n}.{name}": kind for n in range(1, max(order, 1) + 1) for name, kind in FIELDS.items()}
        missing = [name for name, kind in kinds.items() if not _has(arrays, name, kind)]
        if missing:
            raise _damaged(f"lacks the array {missing[0]} or holds another type of it")
        model = cls(tuple(NGramTable(*(arrays[f"{n}.{name}"] for name in FIELDS)) for n in range(1, order + 1)))
        model.check(vocabulary_size)
        return model

    def check(self, vocabulary_size: int) -> None:
        """Refuse arrays that a look-up could not trust."""
        below, words = 1, self.orders[0].words
        if words[: len(RESERVED)].tolist() != list(range(len(RESERVED))):
            raise _damaged("does not begin with <unk>, <s> and </s>")
        if words.min() < 0 or words.max() >= vocabulary_size:
            raise _damaged("has words that are not in the vocabulary")
        known = np.zeros(vocabulary_size, np.bool_)
        known[words] = True
        for order, ngrams in enumerate(self.orders, start=1):
            fault = _fault(ngrams, below, known, highest=order == self.order)
            if fault:
                raise _damaged(f"has {order}-grams {fault}")
            below = len(ngrams)


def _fault(ngrams: NGramTable, below: int, known: NDArray[np.bool_], highest: bool) -> str:
    """Return a description of the first fault of the n-grams of an order, or an empty text."""
    size, contexts, words = len(ngrams), ngrams.contexts, ngrams.words
    if (contexts.size, ngrams.scores.size, ngrams.backoffs.size) != (size, size, 0 if highest else size):
        return "with arrays of different lengths"
    if not size:
        return ""
    if contexts.min() < 0 or contexts.max() >= below:
        return "whose context is not in the model"
    if words.min() < 0 or words.max() >= known.size or not known[words].all():
        return "with words that are not unigrams"
    rises = (contexts[1:] > contexts[:-1]) | ((contexts[1:] == contexts[:-1]) & (words[1:] > words[:-1]))
    if not rises.all():
        return "out of order or twice"
    if not (np.all(ngrams.scores <= 0) and np.all(ngrams.scores > MOST_NEGATIVE)):
        return "whose log probability is positive or no number"
    return "" if np.all(np.abs(ngrams.backoffs) < -MOST_NEGATIVE) else "whose back-off weight is not a number"


def _has(arrays: Mapping[str, NDArray[Any]], name: str, kind: type) -> bool:
    return name in arrays and arrays[name].dtype == kind and arrays[name].ndim == 1


def _damaged(reason: str) -> InputError:
    return InputError(f"a stored language model {reason}", remedy="restore it from a copy or make it again")


def refuse_boundaries(sentences: Sentences) -> None:
    """Refuse `<s>` and `</s>` in a text: they are added here."""
    if sentences.words.min(initial=0) < 0 or count_boundaries(sentences.words):
        raise ValueError("a text holds words of the vocabulary, and not <s> or </s>")


@kernel
def count_boundaries(words: NDArray[np.int32]) -> int:
    """Return the number of `<s>` and `</s>` among the words."""
    count = 0
    for word in words:
        count += (word == BEGIN) | (word == END)
    return count


@kernel
def with_boundaries(
    words: NDArray[np.int32], offsets: NDArray[np.int64], begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the sentences `begin:end`, each with `<s>` before and `</s>` after it, and where each begins."""
    tokens = np.empty(offsets[end] - offsets[begin] + 2 * (end - begin), np.int32)
    starts = np.empty(end - begin + 1, np.int64)
    place = 0
    for sentence in range(begin, end):
        starts[sentence - begin] = place
        tokens[place] = BEGIN
        place += 1
        for i in range(offsets[sentence], offsets[sentence + 1]):
            tokens[place] = words[i]
            place += 1
        tokens[place] = END
        place += 1
    starts[-1] = place
    return tokens, starts
