"""Distinct texts with their probabilities: what n-best rules choose from, and what they compare with.

Entries with the same text are one: their probabilities add up. On lists this is exact; on lattices and forests it is
so for the best derivations, which are all that is seen.

Which of some texts are the same: a number for each, compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, MULTIPLIER
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Sequences, offsets_of
from toledo.forest.derivations import sample, texts_of_derivations
from toledo.forest.forest import Forest, Scores, check_scores
from toledo.forest.kbest import k_best_batches
from toledo.text.vocabulary import Vocabulary

FREE = -1


@kernel
def number_texts(symbols: NDArray[np.int32], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number texts as they come, equal ones alike; gives the number of each, and where each number is first used."""
    texts = offsets.size - 1
    numbers, firsts, found = np.empty(texts, np.int64), np.empty(texts, np.int64), 0
    slots = 4
    while slots < 2 * texts:
        slots *= 2
    table, hashes = np.full(slots, FREE, np.int64), np.empty(texts, np.uint64)
    for text in range(texts):
        key = _hash(symbols, offsets[text], offsets[text + 1])
        slot = np.int64(key & np.uint64(slots - 1))
        while table[slot] != FREE:
            other = firsts[table[slot]]
            if hashes[table[slot]] == key and _same(symbols, offsets, text, other):
                break
            slot = (slot + 1) & (slots - 1)
        if table[slot] == FREE:
            table[slot], firsts[found], hashes[found] = found, text, key
            found += 1
        numbers[text] = table[slot]
    return numbers, firsts[:found].copy()


@kernel
def _hash(symbols: NDArray[np.int32], begin: int, end: int) -> np.uint64:
    key = np.uint64(end - begin)
    for place in range(begin, end):
        key = (key ^ np.uint64(symbols[place])) * MULTIPLIER
        key ^= key >> HALF
    return key


@kernel
def _same(symbols: NDArray[np.int32], offsets: NDArray[np.int64], one: int, other: int) -> bool:
    return np.array_equal(symbols[offsets[one] : offsets[one + 1]], symbols[offsets[other] : offsets[other + 1]])


DERIVATIONS_PER_TEXT = 4  # a lattice writes a text in many ways: how far to look for as many texts as wanted


@dataclass(frozen=True)
class WeightedTexts:
    """Distinct texts, best first, and their probabilities, which add up to 1 (if there is any text)."""

    texts: Sequences
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, size: int) -> WeightedTexts:
        """The first texts; their probabilities add up to 1 again."""
        if size >= len(self):
            return self
        offsets = self.texts.offsets[: size + 1]
        kept = self.probabilities[:size]
        return WeightedTexts(Sequences(self.texts.symbols[: offsets[-1]], offsets), kept / kept.sum())

    def likeliest(self, size: int) -> WeightedTexts:
        """The most probable texts, in order of their probabilities, which add up to 1 again."""
        chosen = np.argsort(-self.probabilities, kind="stable")[:size]
        kept = self.probabilities[chosen]
        return WeightedTexts(select_texts(self.texts.symbols, self.texts.offsets, chosen), kept / kept.sum())


def best_texts(forest: Forest, scores: Scores, size: int) -> WeightedTexts:
    """The best texts of a segment, by the best derivation of each; all derivations seen count for probabilities."""
    if len(forest) != 1:
        raise ValueError("lists are made for one segment at a time")
    check_scores(forest.shape, scores)
    if forest.shape.tails.size:
        return _merge(*best_derivations(forest, scores, size))
    possible = np.flatnonzero(scores > -np.inf)
    order = possible[np.argsort(-scores[possible], kind="stable")]
    return _merge(select_texts(forest.yields.words, forest.yields.offsets, order), scores[order]).first(size)


def sampled_texts(forest: Forest, scores: Scores, size: int, seed: int) -> WeightedTexts:
    """The texts of independent draws from the distribution of a segment: each draw counts the same."""
    drawn = [derivation.word_ids for derivation in sample(forest, scores, size, seed)]
    return _merge(_texts(drawn), np.zeros(len(drawn)))


def spell(texts: Sequences, vocabulary: Vocabulary) -> Sequences:
    """The characters of texts of words, without white space (chrF does not see it)."""
    words, places = np.unique(texts.symbols, return_inverse=True)
    spelt = ["".join(word.split()) for word in vocabulary.words(words.tolist())]
    encoded = np.frombuffer("".join(spelt).encode("utf-32-le", "surrogatepass"), np.int32)
    starts, lengths = offsets_of([len(word) for word in spelt])[:-1], np.array([len(word) for word in spelt], np.int64)
    ends = offsets_of(lengths[places])
    shifts = np.repeat(starts[places] - ends[:-1], lengths[places])
    return Sequences(encoded[np.arange(ends[-1]) + shifts], ends[texts.offsets])


def best_derivations(forest: Forest, scores: Scores, size: int) -> tuple[Sequences, NDArray[np.float64]]:
    """Texts and scores of the best derivations: up to `size` distinct texts, or until more would take too long."""
    texts, totals = Sequences(np.empty(0, np.int32), np.zeros(1, np.int64)), np.empty(0)
    for batch in k_best_batches(forest, scores):
        words, ends = texts_of_derivations(forest.yields, batch.edges, batch.offsets)
        symbols = np.concatenate((texts.symbols, words))
        texts = Sequences(symbols, np.concatenate((texts.offsets, texts.offsets[-1] + ends[1:])))
        totals = np.concatenate((totals, batch.scores))
        _, firsts = number_texts(texts.symbols, texts.offsets)
        if firsts.size > size or len(texts) >= DERIVATIONS_PER_TEXT * size:
            kept = min(int(firsts[size]) if firsts.size > size else len(texts), DERIVATIONS_PER_TEXT * size)
            offsets = texts.offsets[: kept + 1]
            return Sequences(texts.symbols[: offsets[-1]], offsets), totals[:kept]
    return texts, totals


def _texts(words: list[NDArray[np.int32]]) -> Sequences:
    return Sequences(np.concatenate([np.empty(0, np.int32), *words]), offsets_of([some.size for some in words]))


def select_texts(words: NDArray[np.int32], offsets: NDArray[Any], chosen: NDArray[np.int64]) -> Sequences:
    """Some of the texts `words[offsets[i]:offsets[i + 1]]`."""
    lengths = np.diff(offsets)[chosen].astype(np.int64)
    ends = offsets_of(lengths)
    return Sequences(words[np.arange(ends[-1]) + np.repeat(offsets[chosen] - ends[:-1], lengths)], ends)


def _merge(texts: Sequences, logarithms: NDArray[np.float64]) -> WeightedTexts:
    """One of each text, in order of first appearance, with the softmax of all its entries."""
    if not len(texts):
        return WeightedTexts(texts, np.empty(0))
    numbers, firsts = number_texts(texts.symbols, texts.offsets)
    weights = np.bincount(numbers, np.exp(logarithms - logarithms.max()), firsts.size)
    return WeightedTexts(select_texts(texts.symbols, texts.offsets, firsts), weights / weights.sum())
