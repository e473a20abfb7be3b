"""What the searches of all rounds found, united: the examples that a tuner sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from toledo.forest.pruning import prune_to_density
from toledo.forest.scoring import SparseArrays, SparseFeatures
from toledo.forest.structure import Forest
from toledo.forest.uniting import unite
from toledo.kernels import map_chunks
from toledo.progress import Progress, silent
from toledo.tuning.best_lists import best_lists
from toledo.weights import Weights

SEGMENTS_AT_ONCE = 8


@dataclass(frozen=True)
class Collecting:
    """What to keep of a search: the best texts of each segment, or lattices of so many edges per word."""

    wants: Literal["lists", "forests"]
    n_best: int
    density: float
    threads: int | None = None
    progress: Progress = silent

    def keep(self, found: Sequence[Forest], weights: Weights) -> list[Forest]:
        """What a tuner may see of the forests of a search."""
        if self.wants == "lists":
            kept = best_lists(found, weights, self.n_best, self.threads, self.progress)
        else:
            kept = self._each(lambda place: self._pruned(found[place], weights), len(found), "pruning")
        return [in_order_of_names(forest) for forest in kept]

    def add(self, pool: Sequence[Forest], kept: Sequence[Forest]) -> list[Forest]:
        """The union, segment by segment; nothing is in it twice."""
        if not pool:
            return self._each(lambda place: unite([kept[place]]), len(kept), "uniting")
        return self._each(lambda place: unite([pool[place], kept[place]]), len(kept), "uniting")

    def _pruned(self, forest: Forest, weights: Weights) -> Forest:
        if not forest.shape.tails.size:
            return forest
        return prune_to_density(forest, forest.scores(weights, threads=1), self.density)

    def _each(self, work: Callable[[int], Forest], total: int, label: str) -> list[Forest]:
        parts = map_chunks(
            lambda begin, end: [work(place) for place in range(begin, end)],
            total,
            chunk=SEGMENTS_AT_ONCE,
            threads=self.threads,
            progress=self.progress,
            label=label,
        )
        return [forest for part in parts for forest in part]


def in_order_of_names(forest: Forest) -> Forest:
    """The same forest with only those sparse features that occur, numbered in the order of their names.

    So it does not matter whether a forest comes from a search or from a file that it shared with others.
    """
    if forest.sparse is None:
        return forest
    old, (offsets, ids, values) = forest.sparse.names, forest.sparse.arrays
    ordered = sorted(np.unique(ids).tolist(), key=lambda number: old[number])
    numbers = np.zeros(len(old), np.int32)
    numbers[ordered] = np.arange(len(ordered), dtype=np.int32)
    names = tuple(old[number] for number in ordered)
    renumbered = numbers[ids] if ids.size else ids
    return replace(forest, sparse=SparseFeatures(names, SparseArrays(offsets, renumbered, values)))
