"""Examples for tuners: what the searches of all rounds found, united, beside references; and how good choices are.

N-best lists of lattices and forests are forests again: an edge for each text, with features of its derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.consensus.asking import ShownTexts
from toledo.consensus.decide import decide
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.forest.assemble import Edges, from_edges, join, prune_to_density
from toledo.forest.derivations import Derivation
from toledo.forest.forest import Forest, Yields
from toledo.forest.kbest import k_best
from toledo.forest.linear import SparseArrays, SparseFeatures
from toledo.forest.uniting import unite
from toledo.metrics.given import sources_of
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.objectives.lists import HypothesisLists, MetricRange, make_lists
from toledo.progress import Progress, silent
from toledo.text.corpus import WrittenWords
from toledo.weights import Weights

SEGMENTS_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class Examples:
    """All that searches have found for each segment so far (one-segment forests), its references, and the metric."""

    forests: Sequence[Forest]
    references: Sequence[References]
    metric: Metric
    range: MetricRange | None = None  # of the metric; None: that of its scores in the lists

    def __post_init__(self) -> None:
        if len(self.forests) != len(self.references) or not self.forests:
            raise InputError(
                f"{len(self.forests)} segments but references for {len(self.references)}", remedy="give one set each"
            )

    def only(self, segments: Sequence[int] | NDArray[np.int64]) -> Examples:
        """Return some of the segments."""
        known = None if self.metric.in_per_cent else self.lists.range
        references = [self.references[number] for number in segments]
        return Examples([self.forests[number] for number in segments], references, self.metric, known)

    @cached_property
    def forest(self) -> Forest:
        """Return all segments in a row."""
        return join(list(self.forests))

    @cached_property
    def lists(self) -> HypothesisLists:
        """Return lists with statistics; refuse lattices and forests."""
        return make_lists(self.forest, self.references, self.metric, self.range)


@dataclass(frozen=True, eq=False)
class OneBest:
    """The score of the chosen translations, how many are empty that should not be, and the sum of their statistics."""

    score: float
    empty: int
    statistics: NDArray[np.float64]


def want_words(references: Sequence[References]) -> list[bool]:
    """Return which segments should not have an empty translation: those without an empty reference."""
    return [bool(some) and all(some) for some in references]


def one_best(
    forests: Sequence[Forest],
    weights: Weights,
    references: Sequence[References],
    metric: Metric,
    rule: Rule,
    scale: float = 1.0,
    threads: int | None = None,
    write: Callable[[str], str] | None = None,
) -> OneBest:
    """Score what a decision rule chooses for each segment.

    `write` makes text of words separated by spaces; then texts are scored, against references as written.
    """
    shown = ShownTexts(sources_of(references))
    if write is not None:
        shown = replace(shown, write=lambda _, words: write(" ".join(words)))
    decisions = decide(rule, forests, weights, scale, threads, shown=shown)
    texts = [
        forest.vocabulary.words(decision.words.tolist()) for forest, decision in zip(forests, decisions, strict=True)
    ]
    empty = sum(needed and not text for needed, text in zip(want_words(references), texts, strict=True))
    statistics = statistics_of(metric, texts, references, threads, write)
    return OneBest(metric.score(statistics), empty, statistics)


def statistics_of(
    metric: Metric,
    texts: Sequence[Sequence[str]],
    references: Sequence[References],
    threads: int | None = None,
    write: Callable[[str], str] | None = None,
) -> NDArray[np.float64]:
    """Return the sum of the statistics of words, or of the texts that `write` makes of them."""
    sources = sources_of(references)
    if write is None:
        rows = metric.corpus_statistics(texts, references, threads, sources)
    else:
        written = [write(" ".join(text)) for text in texts]
        known = [[cast(WrittenWords, one).text for one in some] for some in references]
        rows = metric.corpus_statistics(written, known, threads, sources)
    total: NDArray[np.float64] = rows.sum(axis=0)
    return total


def best_list(forest: Forest, weights: Weights, size: int) -> Forest:
    """Return the best derivations of the `size` best texts of a segment; what is a list already stays as it is."""
    if not forest.shape.tails.size:
        return forest
    found = list(islice(k_best(forest, forest.scores(weights, threads=1), distinct=True), size))
    words = [derivation.word_ids for derivation in found]
    edges = Edges(
        heads=np.zeros(len(found), np.int32),
        tail_offsets=np.zeros(len(found) + 1, np.int32),
        tails=np.empty(0, np.int32),
        yields=Yields(offsets_of(map(len, words)).astype(np.int32), np.concatenate([np.empty(0, np.int32), *words])),
        features=_dense(forest, found),
        base=None if forest.base is None else np.array([derivation.base for derivation in found]),
        sparse=_sparse(forest, found),
    )
    names = forest.sparse.names if forest.sparse else ()
    return from_edges(edges, 0, forest.feature_names, forest.vocabulary, names)


def _dense(forest: Forest, found: Sequence[Derivation]) -> NDArray[np.float32]:
    """Return sums over edges in double precision, each in the order of its edges: equal derivations, equal features."""
    totals = np.zeros((len(found), len(forest.feature_names)))
    for row, derivation in enumerate(found):
        totals[row] = forest.features[derivation.edges].sum(axis=0, dtype=np.float64)
    return totals.astype(np.float32)


def _sparse(forest: Forest, found: Sequence[Derivation]) -> SparseArrays | None:
    """Return the same for sparse features: each name once, in the order of the names."""
    if forest.sparse is None:
        return None
    offsets, ids, values = forest.sparse.arrays
    rows = []
    for derivation in found:
        places = np.concatenate([np.arange(offsets[edge], offsets[edge + 1]) for edge in derivation.edges.tolist()])
        own, numbers = np.unique(ids[places], return_inverse=True)
        rows.append((own, np.bincount(numbers, values[places], own.size)))
    return SparseArrays(
        offsets_of(own.size for own, _ in rows).astype(np.int32),
        np.concatenate([np.empty(0, np.int32), *(own for own, _ in rows)]),
        np.concatenate([np.empty(0), *(totals for _, totals in rows)]).astype(np.float32),
    )


@dataclass(frozen=True)
class Collecting:
    """What to keep of a search: the `n_best` texts of each segment, or lattices of `density` edges per word."""

    wants: Literal["lists", "forests"]
    n_best: int
    density: float
    threads: int | None = None
    progress: Progress = silent

    def keep(self, found: Sequence[Forest], weights: Weights) -> list[Forest]:
        """Return what a tuner may see of the forests of a search."""
        if self.wants == "lists":
            kept = self._each(lambda place: best_list(found[place], weights, self.n_best), len(found), "n-best lists")
        else:
            kept = self._each(lambda place: self._pruned(found[place], weights), len(found), "pruning")
        return [in_order_of_names(forest) for forest in kept]

    def add(self, pool: Sequence[Forest], kept: Sequence[Forest]) -> list[Forest]:
        """Return the union, segment by segment, without duplicates."""
        parts = [pool, kept] if pool else [kept]
        return self._each(lambda place: unite([part[place] for part in parts]), len(kept), "uniting")

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
    """Return the forest with only those sparse features that occur, numbered in the order of their names.

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
