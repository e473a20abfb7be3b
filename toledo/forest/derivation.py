"""One derivation: the edges it uses and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Forest, Scores, Yields, check_scores
from toledo.forest.viterbi import best_below, best_derivation
from toledo.growing import doubled
from toledo.kernels import kernel


@dataclass(frozen=True, eq=False)
class Derivation:
    """A way to derive a translation: its score, and its edges top down and left to right (with repetition)."""

    forest: Forest
    score: float
    edges: NDArray[np.int32]

    @cached_property
    def word_ids(self) -> NDArray[np.int32]:
        """The words it writes, as ids."""
        return derivation_words(self.forest.yields, self.edges)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words it writes."""
        return tuple(self.forest.vocabulary.words(self.word_ids.tolist()))

    @cached_property
    def features(self) -> dict[str, float]:
        """The sum of each feature over its edges, sparse ones only where they occur."""
        totals = self.forest.features[self.edges].sum(axis=0, dtype=np.float64)
        found = dict(zip(self.forest.feature_names, totals.tolist(), strict=True))
        if self.forest.sparse is not None:
            offsets, ids, values = self.forest.sparse.arrays
            for edge in self.edges.tolist():
                for place in range(offsets[edge], offsets[edge + 1]):
                    name = self.forest.sparse.names[ids[place]]
                    found[name] = found.get(name, 0.0) + float(values[place])
        return found

    @cached_property
    def base(self) -> float:
        """The sum of the base scores of its edges, which no weight changes."""
        return 0.0 if self.forest.base is None else float(self.forest.base[self.edges].sum())

    @cached_property
    def provenance(self) -> tuple[int, ...]:
        """Where each of its edges came from; empty if the forest does not know."""
        return () if self.forest.provenance is None else tuple(self.forest.provenance[self.edges].tolist())

    def __str__(self) -> str:
        return " ".join(self.words)

    def __repr__(self) -> str:
        return f"Derivation({' '.join(self.words)!r}, score {self.score:.6g}, {self.edges.size} edges)"


def viterbi(forest: Forest, scores: Scores) -> list[Derivation | None]:
    """The best derivation of each segment, or None where there is none."""
    check_scores(forest.shape, scores)
    best = best_below(forest.shape, scores)
    found = []
    for goal in (forest.shape.sentences[1:] - 1).tolist():
        edges = best_derivation(forest.shape, best, goal)
        found.append(Derivation(forest, float(best.scores[goal]), edges) if edges.size else None)
    return found


@kernel
def derivation_words(yields: Yields, edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """The words that a derivation writes, from its edges top down and left to right.

    Tails are written in order, so a walk through the yields with a stack of half-read edges meets the edges in theirs.
    """
    words, size = np.empty(64, np.int32), 0
    place_of, end_of = np.empty(edges.size, np.int32), np.empty(edges.size, np.int32)
    depth = used = 0
    if edges.size:
        place_of[0], end_of[0] = yields.offsets[edges[0]], yields.offsets[edges[0] + 1]
        depth = used = 1
    while depth:
        place = place_of[depth - 1]
        if place == end_of[depth - 1]:
            depth -= 1
            continue
        place_of[depth - 1] += 1
        if yields.words[place] < 0:
            place_of[depth], end_of[depth] = yields.offsets[edges[used]], yields.offsets[edges[used] + 1]
            depth += 1
            used += 1
            continue
        if size == words.size:
            words = doubled(words)
        words[size] = yields.words[place]
        size += 1
    return words[:size]


@kernel
def texts_of_derivations(
    yields: Yields, edges: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The words of all derivations `edges[offsets[i]:offsets[i + 1]]` in a row, and where each text begins."""
    words, ends = np.empty(1024, np.int32), np.zeros(offsets.size, np.int64)
    for i in range(offsets.size - 1):
        own, end = derivation_words(yields, edges[offsets[i] : offsets[i + 1]]), ends[i]
        while end + own.size > words.size:
            words = doubled(words)
        words[end : end + own.size] = own
        ends[i + 1] = end + own.size
    return words[: ends[-1]].copy(), ends
