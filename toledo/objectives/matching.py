"""Forests beside their references: what an objective looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, find_ngram
from toledo.forest.ngrams import NGramForest
from toledo.forest.structure import Forest
from toledo.kernels import kernel
from toledo.vocabulary import Vocabulary

References = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class MatchedForest:
    """A forest with, for each of its n-grams, how often the references have it (the most of any one reference).

    `reference_lengths[i, j]` is the length of reference j of segment i; `sentence_of[g]` the segment of n-gram g.
    """

    ngrams: NGramForest
    reference_counts: NDArray[np.float64]
    reference_lengths: NDArray[np.float64]
    sentence_of: NDArray[np.int32]

    def require_order(self, order: int) -> None:
        """Refuse a forest that does not know all n-grams up to an order."""
        if self.ngrams.order < order:
            raise ValueError(f"order {order} needs a forest split for it, not for {self.ngrams.order}")

    def lengths(self, expected: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The expected length of all segments together, and the closest reference length of each."""
        single = self.ngrams.orders == 1
        counts = expected[single].astype(np.float64)
        each = np.bincount(self.sentence_of[single], counts, len(self.ngrams.forest)).astype(np.float64)
        return float(each.sum()), closest_lengths(self.reference_lengths, each)


def match(ngrams: NGramForest, references: Sequence[References]) -> MatchedForest:
    """Put the references of each segment (all segments must have the same number of them) beside a forest."""
    segments = len(ngrams.forest)
    if len(references) != segments:
        raise InputError(
            f"references for {len(references)} segments, but {segments} forests", remedy="give one set each"
        )
    if len({len(some) for some in references}) != 1 or not references[0]:
        raise InputError(
            "segments differ in their number of references", remedy="give each the same number, at least 1"
        )
    vocabulary = ngrams.forest.vocabulary
    counts = np.zeros(ngrams.orders.size)
    for i, some in enumerate(references):
        own = counts[ngrams.sentences[i] : ngrams.sentences[i + 1]]
        for reference in some:
            found = np.zeros(own.size)
            _count(ngrams.indexes[i], _ids(reference, vocabulary), ngrams.order, found)
            np.maximum(own, found, out=own)
    lengths = np.array([[len(reference) for reference in some] for some in references], np.float64)
    sentence_of = np.repeat(np.arange(segments, dtype=np.int32), np.diff(ngrams.sentences))
    return MatchedForest(ngrams, counts, lengths, sentence_of)


def without_ngrams(forest: Forest) -> MatchedForest:
    """A forest for objectives that look at whole hypotheses and not at n-grams."""
    offsets, none = np.zeros(forest.edges + 1, np.int64), np.empty(0, np.int32)
    bounds = np.zeros(len(forest) + 1, np.int64)
    ngrams = NGramForest(forest, 0, offsets, none, bounds, np.empty(0, np.uint8), ())
    return MatchedForest(ngrams, np.empty(0), np.empty((len(forest), 0)), none)


def closest_lengths(lengths: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The reference length closest to each expected length, the shorter one of two equally close."""
    distance = np.abs(lengths - expected[:, None])
    nearest = distance.min(axis=1, keepdims=True)
    return np.asarray(np.where(distance == nearest, lengths, np.inf).min(axis=1))


def _ids(words: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    """A word that the vocabulary lacks matches nothing, not even another such word."""
    return np.array([vocabulary.id(word) if word in vocabulary else -1 for word in words], np.int32)


@kernel
def _count(index: NGramIndex, words: NDArray[np.int32], order: int, counts: NDArray[np.float64]) -> None:
    for first in range(words.size):
        ngram = NO_NGRAM
        for last in range(first, min(first + order, words.size)):
            if words[last] < 0:
                break
            ngram = find_ngram(index, ngram, words[last])
            if ngram == NO_NGRAM:
                break
            counts[ngram] += 1.0
