"""All ways to join phrase pairs by a phrasal ITG, as a forest without a language model.

A span is made in one of three ways: by a phrase pair, monotone, or inverted. Of the many trees for one order of phrases
only that which branches to the left is made: the second part (in target order) of a monotone span is not monotone, that
of an inverted one not inverted. So each segmentation and order has one derivation, and its probability is not that of
how many trees it has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest import Edges, Forest, from_edges
from toledo.forest.structure import Yields
from toledo.growing import doubled
from toledo.kernels import kernel
from toledo.model import Model
from toledo.search.beam.lattice import option_features, option_sparse
from toledo.search.beam.options import SentenceOptions
from toledo.search.steps import NO_PHRASE, pack
from toledo.weights import Weights

ITG_FEATURES = ("itg.monotone", "itg.inverted")
PHRASE, MONOTONE, INVERTED = 0, 1, 2
WAYS = 3
TYPICAL_JUMP = 8  # of words: to the second part, back to the first, and on
NONE = -1


class Joins(NamedTuple):
    """Edges of two tails (the last ones, to the goal, of one): `ways` is how the head was made, NONE for the goal.

    Without words there is one edge, to the goal, with no tail.
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    ways: NDArray[np.int32]
    goal: int


def itg_features(model: Model) -> tuple[str, ...]:
    """The features of a derivation: those of phrase pairs, the counts of joins, and the language model."""
    return (*_grammar_features(model), model.feature_names[0])


def itg_weights(model: Model) -> Weights:
    """The weights of a model, with some for joins if it has none: an inversion costs as much as a jump of 8 words."""
    given = {"itg.monotone": 0.0, "itg.inverted": -TYPICAL_JUMP * model.weights["distortion"], **model.weights}
    return replace(model.weights, values_by_name=given)


def _grammar_features(model: Model) -> tuple[str, ...]:
    return (*model.table.feature_names, "word.penalty", "phrase.penalty", "oov", *ITG_FEATURES)


def grammar_forest(model: Model, options: SentenceOptions, longest_span: int) -> Forest:
    """The forest of one sentence; without words it has one derivation, of no words."""
    joins = _join_spans(options.first, options.stop, longest_span)
    phrases, length = options.begin.size, options.first.shape[0]
    spans = options.begin.astype(np.int64) * (length + 1) + options.end
    arity = np.where(joins.ways == NONE, min(length, 1), 2)
    names = _grammar_features(model)
    features = np.zeros((phrases + joins.heads.size, len(names)), np.float32)
    features[:phrases, : -len(ITG_FEATURES)] = option_features(model, options)
    for way, column in ((MONOTONE, -2), (INVERTED, -1)):
        features[phrases:, column] = joins.ways == way
    provenance = np.full(features.shape[0], NO_PHRASE, np.int64)
    provenance[:phrases] = pack(options.begin, options.end, options.pairs)
    sparse_names, sparse = option_sparse(
        model, options, np.concatenate([np.arange(phrases), np.full(joins.heads.size, NONE)]).astype(np.int32)
    )
    edges = Edges(
        heads=np.concatenate([spans * WAYS + PHRASE, joins.heads]).astype(np.int32),
        tail_offsets=np.concatenate([np.zeros(phrases + 1), np.cumsum(arity)]).astype(np.int32),
        tails=joins.tails,
        yields=_yields(options, arity),
        features=features,
        sparse=sparse,
        provenance=provenance,
    )
    return from_edges(edges, joins.goal, names, model.target_vocabulary, sparse_names)


def _yields(options: SentenceOptions, arity: NDArray[np.int64]) -> Yields:
    """The words of each option, then the tails of each join in target order."""
    sizes = np.concatenate([options.lengths, arity])
    joined = np.where(np.arange(2) < arity[:, None], [-1, -2], 0)
    words = [options.words, joined[joined < 0]]
    return Yields(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), np.concatenate(words).astype(np.int32))


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
