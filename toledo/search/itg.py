"""Search with a phrasal inversion transduction grammar (Wu 1997; the model of Pauls, DeNero and Klein 2009).

Two spans side by side are joined in the same order (monotone) or the other way round (inverted); the smallest spans are
phrase pairs of the table. The space without a language model is small, and is made in full. Splitting its nodes by
boundary words with a beam then brings in the language model: `toledo.forest.rescore`, the same code that localises
n-grams. So every n-gram up to `order` is complete at one edge of the forest that comes out.

All ways to join phrase pairs by a phrasal ITG, as a forest without a language model.

A span is made in one of three ways: by a phrase pair, monotone, or inverted. Of the many trees for one order of phrases
only that which branches to the left is made: the second part (in target order) of a monotone span is not monotone, that
of an inverted one not inverted. So each segmentation and order has one derivation, and its probability is not that of
how many trees it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import doubled
from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import InputError
from toledo.forest.assemble import Edges, from_edges
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Yields
from toledo.forest.ngrams import NGramForest, rescore
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.search.beam.search import SearchResult, Translation, option_features, option_sparse
from toledo.search.options import PreparedTable, SentenceOptions
from toledo.search.steps import NO_PHRASE, pack, steps_of
from toledo.search.weighted_model import weigh
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


__all__ = ["ITG_FEATURES", "ITGSearch", "ITGSettings", "itg_weights"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class ITGSettings:
    """How hard to search: edges kept for each span and way to make it; the longest span that may be turned round.

    `order` is that of the n-grams which must be local, 4 for BLEU. Longer spans are joined from the left in order, so
    that time does not explode with long sentences. It grows faster than they do: 3.7 to 4.9 ms were measured for each
    word of 40 at a beam of 100, and 6.3 to 7.1 for each of 100.
    """

    beam: int = 100
    order: int = 4
    longest_span: int = 20

    def __post_init__(self) -> None:
        if min(self.beam, self.order, self.longest_span) < 1:
            raise ValueError("beam, order and longest span must be at least 1")


class ITGSearch:
    """An ITG search with one model and its weights; `itg_weights` gives those of joins if the model has none."""

    def __init__(self, model: Model, settings: ITGSettings = ITGSettings()) -> None:
        if len(model.language_models) != 1:
            raise InputError(
                f"ITG search needs one language model, and the model has {len(model.language_models)}",
                remedy="interpolate them: toledo lm interpolate",
            )
        self.model = model.with_weights(itg_weights(model))
        self.weights = self.model.weights
        self.settings = settings
        self.feature_names = itg_features(model)
        self._weighted = weigh(model)

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence a forest of all translations that the search kept."""
        return self._run(sentences, threads, progress, lambda found: found.forest)

    def local_forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[NGramForest]:
        """The same forests, whose edges know the n-grams that they complete."""
        return self._run(sentences, threads, progress, lambda found: found)

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """For each sentence its best translation, its forest, and how much work it was."""
        return self._run(sentences, threads, progress, lambda found: self._result(found.forest))

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The best translation of each sentence."""
        return self._run(sentences, threads, progress, lambda found: self._best(found.forest))

    def _result(self, forest: Forest) -> SearchResult:
        phrases = np.empty(0) if forest.provenance is None else forest.provenance[forest.provenance != NO_PHRASE]
        options = np.unique(phrases).size
        return SearchResult(self._best(forest), forest, options, forest.edges, forest.nodes)

    def _best(self, forest: Forest) -> Translation:
        (best,) = viterbi(forest, forest.scores(self.weights, threads=1))
        return Translation((), -np.inf) if best is None else Translation(steps_of(best), best.score)

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[NGramForest], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._weighted.encode(words) for words in sentences]
        table = self._weighted.prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(self._grammar(table, *encoded[i]))) for i in range(first, last)]

        parts = map_chunks(work, len(encoded), chunk=1, threads=threads, progress=progress, label="translating")
        return [result for part in parts for result in part]

    def _grammar(self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]) -> Forest:
        options = self._weighted.options(table, source, copies)
        return grammar_forest(self.model, options, self.settings.longest_span)

    def _search(self, grammar: Forest) -> NGramForest:
        name = self.model.feature_names[0]
        return rescore(
            grammar,
            grammar.scores(self.weights, threads=1),
            self.settings.order,
            self.model.language_models[0],
            name,
            self.weights[name],
            beam=self.settings.beam,
            threads=1,
        )
