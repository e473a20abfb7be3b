"""Distinct texts with their probabilities: what n-best rules choose from, and what they compare with.

Entries with the same text are one: their probabilities add up. On lists this is exact; on lattices and forests it is
so for the best derivations, which are all that is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import number_rows
from toledo.compiled.ragged import Sequences, offsets_of
from toledo.forest.derivations import sample, texts_of_derivations
from toledo.forest.forest import Forest, Scores, check_scores
from toledo.forest.kbest import k_best_batches

DERIVATIONS_PER_TEXT = 4  # a lattice writes a text in many ways: how far to look for as many texts as wanted


@dataclass(frozen=True)
class WeightedTexts:
    """Distinct texts, best first, and their probabilities, which add up to 1 (if there is any text)."""

    texts: Sequences
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, size: int) -> WeightedTexts:
        """Return the first texts; their probabilities add up to 1 again."""
        if size >= len(self):
            return self
        offsets = self.texts.offsets[: size + 1]
        kept = self.probabilities[:size]
        return WeightedTexts(Sequences(self.texts.symbols[: offsets[-1]], offsets), kept / kept.sum())

    def likeliest(self, size: int) -> WeightedTexts:
        """Return the most probable texts, in order of their probabilities, which add up to 1 again."""
        chosen = np.argsort(-self.probabilities, kind="stable")[:size]
        kept = self.probabilities[chosen]
        return WeightedTexts(self.texts.gather(chosen), kept / kept.sum())


def best_texts(forest: Forest, scores: Scores, size: int) -> WeightedTexts:
    """Return the best texts of a segment by their best derivations; probabilities count all derivations seen."""
    if len(forest) != 1:
        raise ValueError("lists are made for one segment at a time")
    check_scores(forest.shape, scores)
    if forest.shape.tails.size:
        return _merge(*best_derivations(forest, scores, size))
    possible = np.flatnonzero(scores > -np.inf)
    order = possible[np.argsort(-scores[possible], kind="stable")]
    texts = Sequences(forest.yields.words, forest.yields.offsets.astype(np.int64))
    return _merge(texts.gather(order), scores[order]).first(size)


def sampled_texts(forest: Forest, scores: Scores, size: int, seed: int) -> WeightedTexts:
    """Return the texts of independent draws from the distribution of a segment: each draw counts the same."""
    drawn = [derivation.word_ids for derivation in sample(forest, scores, size, seed)]
    return _merge(_texts(drawn), np.zeros(len(drawn)))


def best_derivations(forest: Forest, scores: Scores, size: int) -> tuple[Sequences, NDArray[np.float64]]:
    """Texts and scores of the best derivations: up to `size` distinct texts, or until more would take too long."""
    texts, totals = Sequences(np.empty(0, np.int32), np.zeros(1, np.int64)), np.empty(0)
    for batch in k_best_batches(forest, scores, most=DERIVATIONS_PER_TEXT * size):
        words, ends = texts_of_derivations(forest.yields, batch.edges, batch.offsets)
        symbols = np.concatenate((texts.symbols, words))
        texts = Sequences(symbols, np.concatenate((texts.offsets, texts.offsets[-1] + ends[1:])))
        totals = np.concatenate((totals, batch.scores))
        _, firsts = number_rows(texts.symbols, texts.offsets[:-1], texts.offsets[1:])
        if firsts.size > size:
            kept = int(firsts[size])
            offsets = texts.offsets[: kept + 1]
            return Sequences(texts.symbols[: offsets[-1]], offsets), totals[:kept]
    return texts, totals


def _texts(words: list[NDArray[np.int32]]) -> Sequences:
    return Sequences(np.concatenate([np.empty(0, np.int32), *words]), offsets_of([some.size for some in words]))


def _merge(texts: Sequences, logarithms: NDArray[np.float64]) -> WeightedTexts:
    """Return one of each text, in order of first appearance, with the softmax of all its entries."""
    if not len(texts):
        return WeightedTexts(texts, np.empty(0))
    numbers, firsts = number_rows(texts.symbols, texts.offsets[:-1], texts.offsets[1:])
    weights = np.bincount(numbers, np.exp(logarithms - logarithms.max()), firsts.size)
    return WeightedTexts(texts.gather(firsts), weights / weights.sum())
