"""The list of texts that a forest is kept with: found once, scored again whenever weights or the scale change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import number_rows
from toledo.compiled.ragged import Sequences, offsets_of
from toledo.consensus.texts import DERIVATIONS_PER_TEXT, WeightedTexts
from toledo.forest.derivations import Derivation, texts_of_derivations
from toledo.forest.forest import Forest, Scores
from toledo.forest.kbest import k_best_batches

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best derivations of a forest, in order of their scores when they were found.

    Derivation i has the edges `edges[i]` and writes the text `numbers[i]`; `features` are sums over its edges, `rest`
    what no dense weight changes.
    """

    forest: Forest
    texts: Sequences
    numbers: NDArray[np.int64]
    edges: tuple[NDArray[np.int32], ...]
    features: Floats
    rest: Floats

    def __len__(self) -> int:
        return len(self.texts)

    def scores(self, weights: Floats) -> Floats:
        """Return the score of each derivation for weights of the dense features."""
        return np.asarray(np.einsum("ij,j->i", self.features, weights) + self.rest)

    def derivation(self, place: int, score: float) -> Derivation:
        """Return a derivation."""
        return Derivation(self.forest, score, self.edges[place])

    def words(self, text: int) -> NDArray[np.int32]:
        """Return the words of a text, as ids."""
        return self.texts.symbols[self.texts.offsets[text] : self.texts.offsets[text + 1]]

    @property
    def nbytes(self) -> int:
        """Return about how much memory the list takes, beside its forest."""
        arrays = (self.texts.symbols, self.texts.offsets, self.numbers, self.features, self.rest)
        return sum(one.nbytes for one in arrays) + sum(one.nbytes + 112 for one in self.edges)


@dataclass(frozen=True, eq=False)
class RankedTexts:
    """Texts at some weights and a scale: best first by score, each with its best derivation."""

    weighted: WeightedTexts
    derivations: NDArray[np.int64]  # the place of the best derivation of each
    scores: Floats  # of these, not scaled

    def __len__(self) -> int:
        return len(self.weighted)

    def words(self, text: int) -> NDArray[np.int32]:
        """Return the words of a text, as ids."""
        offsets = self.weighted.texts.offsets
        return self.weighted.texts.symbols[offsets[text] : offsets[text + 1]]


def find_candidates(forest: Forest, scores: Scores, size: int, dense_scores: Floats) -> Candidates:
    """Return up to `size` texts with their best derivations, as decision rules look at them.

    `dense_scores` are the scores of edges by dense features alone.
    """
    edges = list(_derivations(forest, scores, size))
    offsets = offsets_of([one.size for one in edges])
    flat = np.concatenate([np.empty(0, np.int32), *edges])
    words, ends = texts_of_derivations(forest.yields, flat, offsets)
    numbers, firsts = number_rows(words, ends[:-1], ends[1:])
    if firsts.size > size:
        kept = int(firsts[size])
        edges, numbers, firsts = edges[:kept], numbers[:kept], firsts[:size]
    columns = len(forest.feature_names)
    features = [forest.features[one].sum(axis=0, dtype=np.float64) for one in edges]
    rest = scores - dense_scores
    return Candidates(
        forest, Sequences(words, ends).gather(firsts), numbers.astype(np.int64), tuple(edges),
        np.array(features).reshape(len(edges), columns), np.array([rest[one].sum() for one in edges]),
    )  # fmt: skip


def _derivations(forest: Forest, scores: Scores, size: int) -> list[NDArray[np.int32]]:
    """Return the edges of the best derivations: enough for `size` texts, or until more would take too long."""
    if not forest.shape.tails.size:  # a list: each edge is a derivation
        possible = np.flatnonzero(scores > -np.inf)
        order = possible[np.argsort(-scores[possible], kind="stable")].astype(np.int32)
        return [order[place : place + 1] for place in range(order.size)]
    found: list[NDArray[np.int32]] = []
    texts: set[bytes] = set()
    for batch in k_best_batches(forest, scores, most=DERIVATIONS_PER_TEXT * size):
        words, ends = texts_of_derivations(forest.yields, batch.edges, batch.offsets)
        for number in range(batch.scores.size):
            found.append(batch.edges[batch.offsets[number] : batch.offsets[number + 1]])
            texts.add(words[ends[number] : ends[number + 1]].tobytes())
        if len(texts) > size:
            break
    return found


def rank(candidates: Candidates, weights: Floats, scale: float) -> RankedTexts:
    """Return the texts for weights of the dense features, with probabilities p ∝ exp(scale · score)."""
    scores = candidates.scores(weights)
    order = np.argsort(-scores, kind="stable")
    numbers, firsts = np.unique(candidates.numbers[order], return_index=True)
    by_score = np.argsort(firsts, kind="stable")
    best = order[firsts[by_score]]
    logarithms = scale * scores
    shares = np.exp(logarithms - logarithms.max()) if logarithms.size else logarithms
    sums = np.asarray(np.bincount(candidates.numbers, shares, len(candidates))[numbers[by_score]], np.float64)
    sums /= max(sums.sum(), 1e-300)
    texts = candidates.texts.gather(numbers[by_score])
    return RankedTexts(WeightedTexts(texts, sums), best, scores[best])
