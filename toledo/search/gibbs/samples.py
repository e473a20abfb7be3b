"""What a sampler found for a sentence: distinct derivations with counts, as a forest, and which chain saw what when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.forest import Edges, Forest, from_edges
from toledo.forest.scoring import SparseArrays
from toledo.forest.structure import Yields
from toledo.kernels import kernel
from toledo.language_model.automaton import advance, begin_state
from toledo.metrics.sequences import offsets_of
from toledo.model import Model
from toledo.search.beam.arrays import NONE, EdgeArrays, Lattice, Scoring
from toledo.search.beam.lattice import Translation, edge_features, option_sparse
from toledo.search.beam.options import LN10, SentenceOptions
from toledo.search.gibbs.expectations import ExpectedNGrams, count_ngrams
from toledo.search.gibbs.running import Visits
from toledo.search.gibbs.state import Sentence
from toledo.search.steps import Step
from toledo.vocabulary import END


@dataclass(frozen=True, eq=False)
class Samples:
    """Distinct derivations, those visited most often first, of equal ones the one with the best score.

    Derivation d has the options `chosen[offsets[d]:offsets[d + 1]]` in target order, was visited `counts[d]` times and
    has the model score `scores[d]`. `visited[c, t]` is the derivation of sample t of chain c. `tally` has a row for
    each operator: draws from more than one possibility, and those that changed the derivation. `asked` is how often the
    language models were asked about a phrase that was not in memory.
    """

    model: Model
    sentence: Sentence
    scale: float
    offsets: NDArray[np.int64]
    chosen: NDArray[np.int32]
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    visited: NDArray[np.int32]
    tally: NDArray[np.int64]
    asked: int

    @property
    def options(self) -> SentenceOptions:
        """The options of the sentence."""
        return self.sentence.options

    def __len__(self) -> int:
        """The number of distinct derivations."""
        return self.counts.size

    @property
    def size(self) -> int:
        """The number of samples."""
        return self.visited.size

    @property
    def trace(self) -> NDArray[np.float64]:
        """The model score of each sample of each chain."""
        return self.scores[self.visited]

    @property
    def best(self) -> int:
        """The derivation with the highest model score."""
        return int(np.argmax(self.scores))

    def translation(self, derivation: int) -> Translation:
        """The phrases and the score of a derivation."""
        options, steps = self.options, []
        for option in self.chosen[self.offsets[derivation] : self.offsets[derivation + 1]].tolist():
            first = int(options.word_begin[option])
            words = self.model.target_vocabulary.words(options.words[first : first + options.lengths[option]].tolist())
            begin, end, pair = (int(array[option]) for array in (options.begin, options.end, options.pairs))
            steps.append(Step(begin, end, pair, tuple(words)))
        return Translation(tuple(steps), float(self.scores[derivation]))

    @cached_property
    def forest(self) -> Forest:
        """One edge for each derivation with its features; scale · score is the logarithm of its count.

        So the distribution of the forest at the model's weights and the scale of the sampler is that of the samples. At
        other weights derivations count by count · exp(scale · (score − old score)): importance sampling, whose gradient
        at the old weights is the covariance of the samples. `translation` knows their phrases.
        """
        lattice = self._lattice()
        edges, ends = lattice.edges, self.offsets[1:] + np.arange(1, len(self) + 1)
        starts = np.concatenate([[0], ends[:-1]])
        features = np.add.reduceat(edge_features(self.model, self.options, lattice).astype(np.float64), starts)
        names, sparse = option_sparse(self.model, self.options, edges.options)
        if sparse is not None:
            rows = np.concatenate([[0], ends])
            sparse = SparseArrays(sparse.offsets[rows], sparse.ids, sparse.values)
        none = np.zeros(len(self) + 1, np.int32)
        yields = _yields(self.offsets, self.chosen, self.options)
        given = Edges(none[1:], none, none[:0], yields, features.astype(np.float32), sparse=sparse)
        plain = from_edges(given, 0, self.model.feature_names, self.model.target_vocabulary, names)
        return replace(plain, base=np.log(self.counts) / self.scale - plain.scores(self.model.weights, threads=1))

    def expected_ngrams(self, order: int = 4, *, smoothed: bool = True) -> ExpectedNGrams:
        """Expected counts of n-grams; smoothed ones use all translations that each phrase could have had instead."""
        shares = self.counts / self.size
        return count_ngrams(self.sentence, self.offsets, self.chosen, shares, order, self.scale if smoothed else None)

    def _lattice(self) -> Lattice:
        """All derivations one after the other, each edge with a node of its own before it."""
        size = len(self)
        last = self.offsets[1:] + np.arange(size)  # the edges that end sentences
        steps = np.ones(self.chosen.size + size, np.bool_)
        steps[last] = False
        chosen = np.full(steps.size, NONE, np.int32)
        chosen[steps] = self.chosen
        previous = np.concatenate([np.array([NONE], np.int32), chosen[:-1]])  # NONE where a derivation begins
        begin, end = (np.append(array, 0)[previous] for array in (self.options.begin, self.options.end))
        scores = _model_scores(self.offsets, self.chosen, self.options, self.sentence.scoring)
        numbers = np.arange(steps.size, dtype=np.int32)
        edges = EdgeArrays(numbers, numbers, chosen, scores)
        return Lattice(steps.size, edges, numbers, end, begin, previous, 0.0)


def collect(
    model: Model,
    sentence: Sentence,
    scale: float,
    visits: Visits,
    tally: NDArray[np.int64],
    asked: int,
) -> Samples:
    """Sort what chains visited."""
    counts = np.bincount(visits.visited.ravel(), minlength=visits.scores.size)
    order = np.lexsort((-visits.scores, -counts))
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    lengths = np.diff(visits.offsets)[order]
    offsets = offsets_of(lengths)
    places = np.arange(offsets[-1]) + np.repeat(visits.offsets[order] - offsets[:-1], lengths)
    return Samples(
        model, sentence, scale, offsets, visits.options[places], counts[order], visits.scores[order],
        number[visits.visited].astype(np.int32), tally, asked,
    )  # fmt: skip


@kernel
def _yields(offsets: NDArray[np.int64], chosen: NDArray[np.int32], options: SentenceOptions) -> Yields:
    """The words of each derivation."""
    ends = np.zeros(offsets.size, np.int32)
    for d in range(offsets.size - 1):
        ends[d + 1] = ends[d]
        for i in range(offsets[d], offsets[d + 1]):
            ends[d + 1] += options.lengths[chosen[i]]
    words, place = np.empty(ends[-1], np.int32), 0
    for option in chosen:
        for k in range(options.lengths[option]):
            words[place] = options.words[options.word_begin[option] + k]
            place += 1
    return Yields(ends, words)


@kernel
def _model_scores(
    offsets: NDArray[np.int64], chosen: NDArray[np.int32], options: SentenceOptions, scoring: Scoring
) -> NDArray[np.float32]:
    """The natural log probability of each phrase, and of the end of the sentence after those of each derivation."""
    scores, place = np.empty((chosen.size + offsets.size - 1, len(scoring.models)), np.float32), 0
    for d in range(offsets.size - 1):
        for m in range(len(scoring.models)):
            place, state = offsets[d] + d, begin_state(scoring.models[m])
            for i in range(offsets[d], offsets[d + 1]):
                begin, total = options.word_begin[chosen[i]], 0.0
                for k in range(begin, begin + options.lengths[chosen[i]]):
                    score, state = advance(scoring.models[m], state, options.words[k])
                    total += score
                scores[place, m] = total * LN10
                place += 1
            scores[place, m] = advance(scoring.models[m], state, END)[0] * LN10
    return scores
