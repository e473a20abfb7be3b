"""Forests whose edges know the n-grams they complete: expected counts, and the chance that an n-gram occurs at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import gather_rows, offsets_of
from toledo.errors import InputError
from toledo.forest.assemble import edges_of, from_edges, join, join_offsets, refuse_boundaries, split
from toledo.forest.boundary_words import EdgeTask, boundary_needs, buffer_for
from toledo.forest.forest import Forest, Scores, check_scores, edges_of_sentences, sentences_at_once
from toledo.forest.inside_outside import Distribution
from toledo.forest.ngram_index import NGramIndex, empty_index, number_of, words_of
from toledo.forest.occurrence import occurrence
from toledo.forest.splitting import NO_NODE, Split, split_nodes
from toledo.language_model.automaton import CONTEXT, TRANSITION, UNIGRAM, Automaton
from toledo.language_model.model import LanguageModel

UNLIMITED = 2**62
LARGEST_ORDER = 255  # lengths of n-grams are kept in a byte


class CompletedNGrams(NamedTuple):
    """What kernels see: edge h completes the n-grams `ids[offsets[h]:offsets[h + 1]]`."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NGramForest:
    """A forest whose edge h completes the n-grams `ids[offsets[h]:offsets[h + 1]]`.

    The n-grams of sentence i are numbered `sentences[i]:sentences[i + 1]`; `orders` are their lengths.
    """

    forest: Forest
    order: int
    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    sentences: NDArray[np.int64]
    orders: NDArray[np.uint8]
    indexes: tuple[NGramIndex, ...]

    def __repr__(self) -> str:
        return f"NGramForest({self.forest!r}, {self.orders.size} n-grams up to order {self.order})"

    @property
    def completed(self) -> CompletedNGrams:
        """The n-grams that edges complete, for kernels."""
        return CompletedNGrams(self.offsets, self.ids)

    def number(self, sentence: int, ngram: Sequence[int]) -> int:
        """Return the number of an n-gram of a sentence, given by word ids; −1 if splitting never met it."""
        found = number_of(self.indexes[sentence], ngram)
        return found if found < 0 else found + int(self.sentences[sentence])

    def ngrams(self, sentence: int) -> Iterator[tuple[int, ...]]:
        """Return the n-grams of a sentence as word ids, in the order of their numbers.

        Some may be on no derivation that is left (dead ends, or what a beam dropped): their expected count is 0.
        """
        index = self.indexes[sentence]
        return (words_of(index, number) for number in range(int(index.used[0])))

    def expected_counts(self, distribution: Distribution, threads: int | None = None) -> NDArray[np.float64]:
        """Return the expected number of occurrences of each n-gram, for a distribution over `forest`."""
        self._check(distribution)
        counts = np.zeros(self.orders.size)
        self._for_edges(
            lambda begin, end: add_expected(self.completed, distribution.posteriors[begin:end], begin, end, counts),
            threads,
        )
        return counts

    def edge_sums(self, values: NDArray[np.float64], threads: int | None = None) -> Scores:
        """Return for each edge the sum of some value over the n-grams that it completes."""
        if values.shape != self.orders.shape:
            raise ValueError(f"values of shape {values.shape} for {self.orders.size} n-grams")
        sums = np.empty(self.forest.edges)
        self._for_edges(lambda begin, end: add_values(self.completed, values, begin, end, sums[begin:end]), threads)
        return sums

    def _check(self, distribution: Distribution) -> None:
        if distribution.posteriors.size != self.forest.edges:
            raise ValueError(
                f"a distribution over {distribution.posteriors.size} edges for {self.forest.edges}: "
                "take that of the split forest, `distribution(ngrams.forest.shape, …)`"
            )

    def _for_edges(self, work: Callable[[int, int], None], threads: int | None) -> None:
        """Over edges in threads, sentence by sentence: no two sentences share an n-gram."""
        edges = edges_of_sentences(self.forest.shape)
        map_chunks(
            lambda first, last: work(int(edges[first]), int(edges[last])),
            len(self.forest),
            chunk=sentences_at_once(self.forest.shape),
            threads=threads,
        )

    def occurrence(self, distribution: Distribution, threads: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each n-gram to occur at least once; 0 where nothing is possible at all."""
        self._check(distribution)

        def work(sentence: int, _: int) -> NDArray[np.float64]:
            return occurrence(
                self.forest.shape, sentence, self.offsets, self.ids, distribution.conditional,
                distribution.posteriors, int(self.sentences[sentence]), int(self.sentences[sentence + 1]),
            )  # fmt: skip

        return np.concatenate(map_chunks(work, len(self.forest), chunk=1, threads=threads))


class Rescoring(NamedTuple):
    """A language model that scores edges while they are made, its feature, and the weight of this for the beam."""

    model: LanguageModel
    feature: str
    weight: float


def localize(
    forest: Forest,
    scores: Scores,
    order: int,
    *,
    beam: int | None = None,
    threads: int | None = None,
    rescoring: Sequence[Rescoring] = (),
) -> NGramForest:
    """Split nodes by boundary words so that every n-gram up to `order` is completed at one edge.

    With a `beam`, at most that many edges are kept for each node of the forest, the best by `scores` (cube pruning).
    """
    if not 1 <= order <= LARGEST_ORDER or (beam is not None and beam < 1):
        raise ValueError(f"the order of n-grams must be 1 to {LARGEST_ORDER}, the beam at least 1")
    check_scores(forest.shape, scores)
    parts, model_orders = split(forest), [one.model.order for one in rescoring]
    context = max([order, *model_orders]) - 1
    no_model = Automaton(np.zeros(1, TRANSITION), np.zeros(1, UNIGRAM), np.zeros(1, CONTEXT))
    models = tuple(one.model.automaton for one in rescoring) or (no_model,)

    def work(number: int, _: int) -> NGramForest:
        part, begin, end = parts[number]
        task = EdgeTask(
            shape=part.shape,
            yields=part.yields,
            needs=boundary_needs(part.shape, part.yields),
            scores=scores[begin:end],
            order=order,
            context=context,
            beam=UNLIMITED if beam is None else beam,
            scored=bool(rescoring),
            models=models,
            model_orders=np.array(model_orders, np.int64),
            weights=np.array([one.weight for one in rescoring]),
        )
        found = split_nodes(task, buffer_for(part.shape, part.yields, context), empty_index())
        return _assemble(part, found, order, tuple(one.feature for one in rescoring))

    return join_ngrams(map_chunks(work, len(parts), chunk=1, threads=threads))


def rescore(
    forest: Forest,
    scores: Scores,
    order: int,
    model: LanguageModel,
    feature: str,
    weight: float,
    *,
    beam: int | None = None,
    threads: int | None = None,
) -> NGramForest:
    """As `localize`, and a language model scores the edges in the same pass: a new dense feature (natural logs).

    `weight` is what the feature weighs where the beam chooses; `<s>` and `</s>` are around each text. The model must
    have been made with the vocabulary of the forest, as it knows words by number alone.
    """
    return rescore_all(forest, scores, order, [Rescoring(model, feature, weight)], beam=beam, threads=threads)


def rescore_all(
    forest: Forest,
    scores: Scores,
    order: int,
    rescoring: Sequence[Rescoring],
    *,
    beam: int | None = None,
    threads: int | None = None,
) -> NGramForest:
    """As `rescore`, with several language models of any orders, each of which is a feature."""
    known = {*forest.feature_names, *(forest.sparse.names if forest.sparse is not None else ())}
    for one in rescoring:
        if one.feature in known:
            raise ValueError(f"the forest has a feature {one.feature} already")
        known.add(one.feature)
    refuse_boundaries(forest)
    return localize(forest, scores, order, beam=beam, threads=threads, rescoring=rescoring)


def join_ngrams(parts: Sequence[NGramForest]) -> NGramForest:
    """Put several split forests in a row."""
    if len({part.order for part in parts}) != 1:
        raise ValueError("n-gram forests of different orders cannot be joined")
    shifts = offsets_of(part.orders.size for part in parts)
    if shifts[-1] >= 2**31:
        raise InputError("the forests together have too many n-grams", remedy="join fewer, or prune them first")
    return NGramForest(
        forest=join([part.forest for part in parts]),
        order=parts[0].order,
        offsets=join_offsets([part.offsets for part in parts]),
        ids=np.concatenate([part.ids + np.int32(shifts[i]) for i, part in enumerate(parts)]),
        sentences=join_offsets([part.sentences for part in parts]),
        orders=np.concatenate([part.orders for part in parts]),
        indexes=tuple(index for part in parts for index in part.indexes),
    )


def _assemble(forest: Forest, found: Split, order: int, scored: tuple[str, ...]) -> NGramForest:
    """Sort the new edges into a forest and give them what the old ones had. Edges of a node stay in the old order."""
    ranked = np.argsort(found.origins, kind="stable")
    origins = found.origins[ranked]
    tail_offsets, tails = gather_rows(found.tail_offsets, found.tails, ranked)
    edges = edges_of(forest).select(origins)
    if scored:
        edges = edges._replace(features=np.column_stack([edges.features, found.model_scores[ranked]]))
    provenance = np.arange(origins.size)  # for the way back to what was found
    edges = edges._replace(heads=found.heads[ranked], tail_offsets=tail_offsets, tails=tails, provenance=provenance)
    names = (*forest.feature_names, *scored)
    sparse_names = forest.sparse.names if forest.sparse else ()
    goal = found.nodes if found.goal == NO_NODE else found.goal  # a new node, without edges, where nothing is possible
    ordered = from_edges(edges, goal, names, forest.vocabulary, sparse_names)
    chosen = np.arange(0) if ordered.provenance is None else ordered.provenance
    offsets, ids = gather_rows(found.ngram_offsets, found.ngram_ids, ranked[chosen])
    old = None if forest.provenance is None else forest.provenance[origins[chosen]]
    count = int(found.ngrams.used[0])
    return NGramForest(
        forest=Forest.from_checked(**{**vars(ordered), "provenance": old}),
        order=order,
        offsets=offsets,
        ids=ids,
        sentences=np.array([0, count]),
        orders=found.ngrams.orders[:count].copy(),
        indexes=(found.ngrams,),
    )


@kernel
def add_expected(completed: CompletedNGrams, posteriors: Scores, begin: int, end: int, counts: Scores) -> None:
    """Add the posteriors of the edges `begin:end` to the counts of the n-grams that they complete."""
    offsets, ids = completed
    for h in range(begin, end):
        posterior = posteriors[h - begin]
        for i in range(offsets[h], offsets[h + 1]):
            counts[ids[i]] += posterior


@kernel
def add_values(completed: CompletedNGrams, values: Scores, begin: int, end: int, sums: Scores) -> None:
    """Add, for the edges `begin:end`, the sum of some value over the n-grams that each completes."""
    offsets, ids = completed
    for h in range(begin, end):
        total = 0.0
        for i in range(offsets[h], offsets[h + 1]):
            total += values[ids[i]]
        sums[h - begin] = total
