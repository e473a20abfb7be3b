"""What the searches of all rounds found, united: the examples that a tuner sees.

N-best lists of lattices and forests, as forests again: an edge for each text, with features of its derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.forest.assemble import list_edges, prune_to_density, with_edges
from toledo.forest.derivations import Derivation
from toledo.forest.forest import Forest, Yields
from toledo.forest.kbest import k_best
from toledo.forest.linear import SparseArrays, SparseFeatures
from toledo.forest.uniting import unite
from toledo.progress import Progress, silent
from toledo.weights import Weights

SEGMENTS_AT_ONCE = 8


def best_lists(
    forests: Sequence[Forest],
    weights: Weights,
    size: int,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[Forest]:
    """The best derivations of the `size` best texts of each segment; what is a list already stays as it is."""

    def work(begin: int, end: int) -> list[Forest]:
        return [best_list(forest, weights, size) for forest in forests[begin:end]]

    parts = map_chunks(
        work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads, progress=progress, label="n-best lists"
    )
    return [forest for part in parts for forest in part]


def best_list(forest: Forest, weights: Weights, size: int) -> Forest:
    """The list of one segment."""
    if not forest.shape.tails.size:
        return forest
    found = list(islice(k_best(forest, forest.scores(weights, threads=1), distinct=True), size))
    words = [derivation.word_ids for derivation in found]
    yields = Yields(_offsets([len(some) for some in words]), np.concatenate([np.empty(0, np.int32), *words]))
    edges = list_edges(yields, _dense(forest, found), _sparse(forest, found))
    base = None if forest.base is None else np.array([derivation.base for derivation in found])
    return with_edges(forest, edges._replace(base=base), 0)


def _dense(forest: Forest, found: Sequence[Derivation]) -> NDArray[np.float32]:
    """Sums over edges in double precision, each in the order of its own edges: equal derivations, equal features."""
    totals = np.zeros((len(found), len(forest.feature_names)))
    for row, derivation in enumerate(found):
        totals[row] = forest.features[derivation.edges].sum(axis=0, dtype=np.float64)
    return totals.astype(np.float32)


def _sparse(forest: Forest, found: Sequence[Derivation]) -> SparseArrays | None:
    """The same for sparse features: each name once, in the order of the names."""
    if forest.sparse is None:
        return None
    offsets, ids, values = forest.sparse.arrays
    rows = []
    for derivation in found:
        places = np.concatenate([np.arange(offsets[edge], offsets[edge + 1]) for edge in derivation.edges.tolist()])
        own, numbers = np.unique(ids[places], return_inverse=True)
        rows.append((own, np.bincount(numbers, values[places], own.size)))
    return SparseArrays(
        _offsets([own.size for own, _ in rows]),
        np.concatenate([np.empty(0, np.int32), *(own for own, _ in rows)]),
        np.concatenate([np.empty(0), *(totals for _, totals in rows)]).astype(np.float32),
    )


def _offsets(sizes: Sequence[int]) -> NDArray[np.int32]:
    return offsets_of(sizes).astype(np.int32)


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
