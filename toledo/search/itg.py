"""Search with a phrasal inversion transduction grammar (Wu 1997; the model of Pauls, DeNero and Klein 2009).

Two spans side by side are joined in the same order (monotone) or the other way round (inverted); the smallest spans are
phrase pairs of the table. The space without language models is small, and is made in full. Splitting its nodes by
boundary words with a beam then adds the language models: `toledo.forest.ngrams.rescore_all`, which also localizes
n-grams. So every n-gram up to `order` is complete at one edge of the resulting forest.

A span is made in one of three ways: by a phrase pair, monotone, or inverted. Of the many trees for one order of phrases
only that which branches to the left is made: the second part (in target order) of a monotone span is not monotone, that
of an inverted one not inverted. So each segmentation and order has one derivation, and its probability does not depend
on its number of trees.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import doubled
from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.forest.assemble import Edges, from_edges
from toledo.forest.forest import Forest
from toledo.forest.ngrams import NGramForest, Rescoring, rescore_all
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.features import OPTION_FEATURES, edge_yields, option_features, option_sparse
from toledo.search.options import NONE, SentenceOptions
from toledo.search.search import Search, SearchResult, Sentences, Translation, best_translation
from toledo.search.settings import ITG
from toledo.search.steps import NO_PHRASE, pack
from toledo.weights import Weights

log = logging.getLogger(__name__)

ITG_FEATURES = ("itg.monotone", "itg.inverted")
PHRASE, MONOTONE, INVERTED = 0, 1, 2
WAYS = 3
TYPICAL_JUMP = 8  # words: to the second part, back to the first, and on


class Joins(NamedTuple):
    """Edges of two tails (the last ones, to the goal, of one): `ways` is how the head was made, NONE for the goal.

    Without words there is one edge, to the goal, with no tail.
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    ways: NDArray[np.int32]
    goal: int


def itg_features(model: PhraseModel) -> tuple[str, ...]:
    """Return the features of a derivation: those of phrase pairs, the counts of joins, and the language models."""
    return (*_grammar_features(model), *model.feature_names[: len(model.language_models)])


def itg_weights(model: PhraseModel) -> Weights:
    """Return the weights of a model with those of joins; by default an inversion costs as much as a jump of 8 words."""
    given = {"itg.monotone": 0.0, "itg.inverted": -TYPICAL_JUMP * model.weights["distortion"], **model.weights}
    return replace(model.weights, values_by_name=given)


def log_unused_weights(model: PhraseModel, search: str) -> None:
    """Log which weights a search does not use: ITG search those of jumps, all others those of joins."""
    joins = [name for name in ITG_FEATURES if name in model.weights]
    if search == "itg" and model.table.reordering is not None:
        log.warning("ITG search does not use the reordering table of the model, nor the weights of its features")
    elif search != "itg" and joins:
        log.warning(
            "`search=%s` has no %s: these weights are dropped. ITG search has no %s: weights tuned for it leave these "
            "as they were before",
            search,
            ", ".join(joins),
            ", ".join(name for name in model.feature_names if name not in itg_features(model)),
        )


def _grammar_features(model: PhraseModel) -> tuple[str, ...]:
    return (*model.table.feature_names, *OPTION_FEATURES, *ITG_FEATURES)


def grammar_forest(model: PhraseModel, options: SentenceOptions, longest_span: int) -> Forest:
    """Return the forest of one sentence; without words it has one derivation, of no words."""
    joins = _join_spans(options.first, options.stop, longest_span)
    phrases, length = options.begin.size, options.first.shape[0]
    spans = options.begin.astype(np.int64) * (length + 1) + options.end
    arity = np.concatenate([np.zeros(phrases, np.int64), np.where(joins.ways == NONE, min(length, 1), 2)])
    names = _grammar_features(model)
    features = np.zeros((phrases + joins.heads.size, len(names)), np.float32)
    features[:phrases, : -len(ITG_FEATURES)] = option_features(model, options)
    for way, column in ((MONOTONE, -2), (INVERTED, -1)):
        features[phrases:, column] = joins.ways == way
    provenance = np.full(features.shape[0], NO_PHRASE, np.int64)
    provenance[:phrases] = pack(options.begin, options.end, options.pairs)
    chosen = np.concatenate([np.arange(phrases), np.full(joins.heads.size, NONE)]).astype(np.int32)
    sparse_names, sparse = option_sparse(model, options, chosen)
    edges = Edges(
        heads=np.concatenate([spans * WAYS + PHRASE, joins.heads]).astype(np.int32),
        tail_offsets=np.concatenate([[0], np.cumsum(arity)]).astype(np.int32),
        tails=joins.tails,
        yields=edge_yields(options, arity, np.minimum(np.arange(chosen.size + 1), phrases), chosen[:phrases]),
        features=features,
        sparse=sparse,
        provenance=provenance,
    )
    return from_edges(edges, joins.goal, names, model.target_vocabulary, sparse_names)


@kernel
def _join_spans(first: NDArray[np.int32], stop: NDArray[np.int32], longest_span: int) -> Joins:
    """Join spans that can be made, short ones first; beyond the longest only from the left end, and in order.

    Phrases are joined however long they are.
    """
    length, longest_phrase = first.shape
    width, longest_part = length + 1, max(longest_span, longest_phrase)
    made = np.zeros(width * width * WAYS, np.bool_)
    for b in range(length):
        for n in range(1, min(longest_phrase, length - b) + 1):
            made[(b * width + b + n) * WAYS + PHRASE] = stop[b, n - 1] > first[b, n - 1]
    heads, tails, ways, count = np.empty(256, np.int32), np.empty(512, np.int32), np.empty(256, np.int32), 0
    for size in range(2, length + 1):
        for b in range(length - size + 1 if size <= longest_span else 1):
            span = b * width + b + size
            for k in range(max(b + 1, b + size - longest_part), b + size):
                left, right = (b * width + k) * WAYS, (k * width + b + size) * WAYS
                for way in (MONOTONE, INVERTED):
                    if way == INVERTED and size > longest_span:
                        continue
                    one, two = (left, right) if way == MONOTONE else (right, left)
                    for x in range(WAYS):
                        for y in range(WAYS):
                            if y != way and made[one + x] and made[two + y]:
                                if count + 1 >= heads.size:
                                    heads, tails, ways = doubled(heads), doubled(tails), doubled(ways)
                                heads[count], ways[count] = span * WAYS + way, way
                                tails[2 * count], tails[2 * count + 1] = one + x, two + y
                                count += 1
                                made[span * WAYS + way] = True
    goal, end = width * width * WAYS, 2 * count
    if length == 0:
        heads[count], ways[count] = goal, NONE
        count += 1
    for way in range(WAYS):
        if made[length * WAYS + way]:
            if count + 1 >= heads.size:
                heads, tails, ways = doubled(heads), doubled(tails), doubled(ways)
            heads[count], ways[count], tails[end] = goal, NONE, length * WAYS + way
            count, end = count + 1, end + 1
    return Joins(heads[:count], tails[:end], ways[:count], goal)


class ITGSearch(Search[NGramForest]):
    """An ITG search with one model and its weights; `itg_weights` gives those of joins if the model has none."""

    def __init__(self, model: PhraseModel, settings: ITG = ITG()) -> None:
        if not model.language_models:
            raise InputError(
                "ITG search needs a language model, and the model has none", remedy="add one: toledo model add"
            )
        super().__init__(model)
        self.settings = settings
        self.feature_names = itg_features(model)

    def local_forests(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> list[NGramForest]:
        """Return the forest of each sentence, whose edges know the n-grams that they complete."""
        return self._run(sentences, threads, progress, lambda found: found)

    def _complete(self, model: PhraseModel) -> PhraseModel:
        return model.with_weights(itg_weights(model))

    def _search(self, options: SentenceOptions, words: Sequence[str]) -> NGramForest:
        grammar = grammar_forest(self.model, options, self.settings.longest_span)
        names, weights = self.model.feature_names, self.model.weights
        return rescore_all(
            grammar,
            grammar.scores(weights, threads=1),
            self.settings.order,
            [Rescoring(one, names[m], weights[names[m]]) for m, one in enumerate(self.model.language_models)],
            beam=self.settings.beam,
            threads=1,
        )

    def _translation(self, found: NGramForest) -> Translation:
        return best_translation(found.forest, self.model.weights)

    def _forest(self, found: NGramForest) -> Forest:
        return found.forest

    def _result(self, found: NGramForest) -> SearchResult:
        forest = found.forest
        phrases = np.empty(0) if forest.provenance is None else forest.provenance[forest.provenance != NO_PHRASE]
        return SearchResult(self._translation(found), forest, np.unique(phrases).size, forest.edges, forest.nodes)
