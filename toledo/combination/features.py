"""Features of the n-grams of a lattice: functions of the words and of the outputs that have them.

After expansion every n-gram is completed at one edge. An edge has the sum of a feature over the n-grams that it
completes, so any function of a word and the words before it is a feature of edges.

    novel(2)                               `novel.bigram`: 1 for a bigram that no output has (Rosti et al. 2011)
    support(3)                             `support.3`: the share of systems whose output has the trigram
    of_words("long", 1, lambda words: float(len(words[0]) > 12))
    supporters(2)                          a sparse feature for each system whose output has the bigram
    each_ngram(2)                          a sparse feature for each pair of words

For n-grams and language models, nodes are split by their last words; NULL leaves these as they are. First all lattices
are expanded to bigrams. Once weights are tuned there, edges that are hardly ever used are pruned, and what is left is
expanded to the full order of the language model (Rosti et al. 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toledo.combination.lattice import SKELETONS, NetworkLattice
from toledo.combination.settings import NGRAM_NAMES, parse_feature
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.forest.assemble import prune_by_posterior, split
from toledo.forest.forest import Forest, Scores
from toledo.forest.linear import SparseArrays, SparseFeatures
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, find_ngram, words_of
from toledo.forest.ngrams import CompletedNGrams, NGramForest, join_ngrams, localize, rescore
from toledo.language_model.model import LanguageModel
from toledo.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class SegmentNGrams:
    """The n-grams of a segment: `had[g, output]` tells which distinct outputs have n-gram g."""

    index: NGramIndex
    orders: NDArray[np.uint8]
    had: NDArray[np.bool_]
    lattice: NetworkLattice

    def systems(self) -> NDArray[np.bool_]:
        """Return which systems have each n-gram in their best output."""
        best = self.lattice.hypotheses.confidences == 1.0
        return np.asarray(self.had.astype(np.int32) @ best.astype(np.int32) > 0)

    def words(self, ngram: int) -> tuple[str, ...]:
        """Return the words of an n-gram."""
        return tuple(self.lattice.forest.vocabulary.words(words_of(self.index, ngram)))


@dataclass(frozen=True)
class NGramFeature:
    """A dense feature: one number for each n-gram of a segment; only those of the feature's order count."""

    name: str
    order: int
    values: Callable[[SegmentNGrams], NDArray[np.float64]]


@dataclass(frozen=True)
class SparseNGramFeatures:
    """Sparse features: names for each n-gram of the order, each worth 1."""

    order: int
    names: Callable[[SegmentNGrams, int], Sequence[str]]


Feature = NGramFeature | SparseNGramFeatures


def novel(order: int) -> NGramFeature:
    """Counts n-grams that no output has."""

    def values(ngrams: SegmentNGrams) -> NDArray[np.float64]:
        return np.asarray(~ngrams.had.any(axis=1), np.float64)

    return NGramFeature(f"novel.{NGRAM_NAMES[order]}", order, values)


def support(order: int) -> NGramFeature:
    """Adds up the share of systems whose output has the n-gram."""

    def values(ngrams: SegmentNGrams) -> NDArray[np.float64]:
        return np.asarray(ngrams.systems().mean(axis=1), np.float64)

    return NGramFeature(f"support.{order}", order, values)


def named_feature(name: str) -> Feature:
    """Return the feature, or the sparse features, of a name such as `novel.bigram`, `support.1` or `words.2`."""
    kind, order = parse_feature(name)
    kinds: dict[str, Callable[[int], Feature]] = {
        "novel": novel, "support": support, "system": supporters, "words": each_ngram,
    }  # fmt: skip
    return kinds[kind](order)


def of_words(name: str, order: int, value: Callable[[tuple[str, ...]], float]) -> NGramFeature:
    """Any function of the words of an n-gram: the last one after those before it."""

    def values(ngrams: SegmentNGrams) -> NDArray[np.float64]:
        result = np.zeros(ngrams.orders.size)
        for ngram in np.flatnonzero(ngrams.orders == order).tolist():
            result[ngram] = value(ngrams.words(ngram))
        return result

    return NGramFeature(name, order, values)


def supporters(order: int) -> SparseNGramFeatures:
    """Return a weight for each system whose output has the n-gram: `system.2.NAME`."""

    def of_ngram(ngrams: SegmentNGrams, ngram: int) -> Sequence[str]:
        best = ngrams.lattice.hypotheses.confidences[ngrams.had[ngram]] == 1.0
        names = ngrams.lattice.systems
        return [f"system.{order}.{names[system]}" for system in np.flatnonzero(best.any(axis=0)).tolist()]

    return SparseNGramFeatures(order, of_ngram)


def each_ngram(order: int) -> SparseNGramFeatures:
    """Return a weight for each n-gram of some order: `words:of~the`."""
    return SparseNGramFeatures(order, lambda ngrams, ngram: [f"words:{'~'.join(ngrams.words(ngram))}"])


def add_features(ngrams: NGramForest, lattice: NetworkLattice, features: Sequence[Feature]) -> NGramForest:
    """Return the expanded lattice of one segment with more features."""
    usable = [feature for feature in features if feature.order <= ngrams.order]
    if not usable:
        return ngrams
    index, size = ngrams.indexes[0], ngrams.orders.size
    texts = lattice.hypotheses.texts
    had = _had(index, size, texts.symbols, texts.offsets, ngrams.order)
    segment = SegmentNGrams(index, ngrams.orders, had, lattice)
    dense = [feature for feature in usable if isinstance(feature, NGramFeature)]
    forest = ngrams.forest
    columns = [
        ngrams.edge_sums(np.where(ngrams.orders == feature.order, feature.values(segment), 0.0), threads=1)
        for feature in dense
    ]
    sparse = forest.sparse
    for feature in usable:
        if isinstance(feature, SparseNGramFeatures):
            sparse = _with_names(sparse, ngrams, segment, feature)
    larger = replace(
        forest,
        features=np.column_stack([forest.features, *columns]).astype(np.float32),
        feature_names=(*forest.feature_names, *(feature.name for feature in dense)),
        sparse=sparse,
    )
    return replace(ngrams, forest=larger)


def _with_names(
    sparse: SparseFeatures | None, ngrams: NGramForest, segment: SegmentNGrams, feature: SparseNGramFeatures
) -> SparseFeatures:
    """Return the sparse features of edges and those of the n-grams that they complete."""
    numbers = {name: number for number, name in enumerate(sparse.names)} if sparse else {}
    rows = [
        [numbers.setdefault(name, len(numbers)) for name in feature.names(segment, ngram)]
        if order == feature.order
        else []
        for ngram, order in enumerate(ngrams.orders.tolist())
    ]
    flat = np.array([number for row in rows for number in row], np.int32)
    old = (
        sparse.arrays
        if sparse
        else SparseArrays(np.zeros(ngrams.forest.edges + 1, np.int32), flat[:0], np.empty(0, np.float32))
    )
    more = SparseArrays(offsets_of([len(row) for row in rows]).astype(np.int32), flat, np.ones(flat.size, np.float32))
    return SparseFeatures(tuple(numbers), _with_completed(old, ngrams.completed, more))


@kernel
def _with_completed(own: SparseArrays, completed: CompletedNGrams, of_ngram: SparseArrays) -> SparseArrays:
    """Return the sparse features of edges, and after them those of the n-grams that each edge completes."""
    edges = own.offsets.size - 1
    offsets = np.zeros(edges + 1, np.int32)
    for h in range(edges):
        size = own.offsets[h + 1] - own.offsets[h]
        for i in range(completed.offsets[h], completed.offsets[h + 1]):
            size += of_ngram.offsets[completed.ids[i] + 1] - of_ngram.offsets[completed.ids[i]]
        offsets[h + 1] = offsets[h] + size
    ids, values = np.empty(offsets[edges], np.int32), np.empty(offsets[edges], np.float32)
    for h in range(edges):
        place = offsets[h]
        for j in range(own.offsets[h], own.offsets[h + 1]):
            ids[place], values[place] = own.ids[j], own.values[j]
            place += 1
        for i in range(completed.offsets[h], completed.offsets[h + 1]):
            for j in range(of_ngram.offsets[completed.ids[i]], of_ngram.offsets[completed.ids[i] + 1]):
                ids[place], values[place] = of_ngram.ids[j], of_ngram.values[j]
                place += 1
    return SparseArrays(offsets, ids, values)


@kernel
def _had(
    index: NGramIndex, ngrams: int, words: NDArray[np.int32], offsets: NDArray[np.int64], order: int
) -> NDArray[np.bool_]:
    """Return which texts have which n-grams."""
    had = np.zeros((ngrams, offsets.size - 1), np.bool_)
    for text in range(offsets.size - 1):
        for first in range(offsets[text], offsets[text + 1]):
            ngram = NO_NGRAM
            for last in range(first, min(first + order, offsets[text + 1])):
                ngram = find_ngram(index, ngram, words[last])
                if ngram == NO_NGRAM:
                    break
                had[ngram, text] = True
    return had


LANGUAGE_MODEL = "lm"
SEGMENTS_AT_ONCE = 4


def expand(
    forests: Sequence[Forest],
    lattices: Sequence[NetworkLattice],
    order: int,
    model: LanguageModel | None,
    features: Sequence[Feature] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> NGramForest:
    """Return all segments in a row: see `expand_each`."""
    return join_ngrams(expand_each(forests, lattices, order, model, features, threads, progress))


def expand_each(
    forests: Sequence[Forest],
    lattices: Sequence[NetworkLattice],
    order: int,
    model: LanguageModel | None,
    features: Sequence[Feature] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> list[NGramForest]:
    """Return each segment, split so that n-grams up to an order are completed at edges, with their features.

    `forests` are the lattices, or what was made of them.
    """

    def work(first: int, last: int) -> list[NGramForest]:
        return [
            add_features(_split(forest, order, model), lattice, features)
            for forest, lattice in zip(forests[first:last], lattices[first:last], strict=True)
        ]

    parts = map_chunks(
        work,
        len(forests),
        chunk=SEGMENTS_AT_ONCE,
        threads=threads,
        progress=progress,
        label=f"expanding to {order}-grams",
    )
    return [one for some in parts for one in some]


def _split(forest: Forest, order: int, model: LanguageModel | None) -> NGramForest:
    scores = np.zeros(forest.edges)  # without a beam they have no say
    if model is None:
        return localize(forest, scores, order, threads=1)
    return rescore(forest, scores, order, model, LANGUAGE_MODEL, 0.0, threads=1)


def pruned(forest: Forest, scores: Scores, threshold: float, names: Sequence[str]) -> list[Forest]:
    """Return for each segment the edges with expected counts above a threshold, as `with_features` leaves them.

    The best path always stays.
    """
    smaller = with_features(prune_by_posterior(forest, scores, threshold), names)
    return [part for part, _, _ in split(smaller)]


def with_features(forest: Forest, names: Sequence[str]) -> Forest:
    """Return the forest with the named dense features, and without the sparse ones of n-grams.

    What is made of n-grams is made again when the forest is expanded again.
    """
    columns = [forest.feature_names.index(name) for name in names]
    dense = np.ascontiguousarray(forest.features[:, columns])
    sparse = None if forest.sparse is None else _of_skeletons(forest.sparse)
    return replace(forest, features=dense, feature_names=tuple(names), sparse=sparse)


def _of_skeletons(sparse: SparseFeatures) -> SparseFeatures:
    numbers = [number for number, name in enumerate(sparse.names) if name.startswith(SKELETONS)]
    places = np.full(len(sparse.names), -1, np.int32)
    places[numbers] = np.arange(len(numbers))
    kept = places[sparse.arrays.ids] >= 0
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    arrays = SparseArrays(
        before[sparse.arrays.offsets], places[sparse.arrays.ids[kept]], np.ascontiguousarray(sparse.arrays.values[kept])
    )
    return SparseFeatures(tuple(sparse.names[number] for number in numbers), arrays)
