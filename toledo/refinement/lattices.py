"""Lattices instead of lists: the same γ, as the advantage of each edge, summed over the edges of a phrase pair.

A lattice holds far more translations than a list of its best. Sentence BLEU is no sum over edges, so what is
maximised is BLEU of expected n-gram counts (xBLEU; Rosti et al. 2011), of each part of the text as a corpus, weighed by
its sentences: U = Σ_parts sentences · xBLEU. The derivative of U by the score of an edge is its advantage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.derivation import viterbi
from toledo.forest.inside_outside import advantage, distribution
from toledo.forest.joining import join
from toledo.forest.ngrams import localise
from toledo.forest.pruning import prune_to_density
from toledo.forest.structure import Forest, Scores
from toledo.kernels import map_chunks
from toledo.metrics.bleu import BLEU
from toledo.metrics.prepared import PreparedReferences
from toledo.metrics.sequences import offsets_of
from toledo.objectives import XBLEU, MatchedForest, Objective, match
from toledo.objectives.objective import Situation
from toledo.refinement.expectation import Expectation, Vector
from toledo.search.steps import NO_PHRASE, unpack
from toledo.tuning.text_statistics import encoded_references
from toledo.weights import Weights

FORESTS_AT_ONCE = 16
ORDER = 4
STEEPNESS = 30.0  # of the penalty for short texts: with the usual one gradients stop at its edge
NO_PAIR = -1


@dataclass(frozen=True, eq=False)
class LatticePart:
    """Lattices that know their n-grams, beside their references, and the phrase pair of each edge (−1 for none)."""

    matched: MatchedForest
    pairs: NDArray[np.int64]
    references: PreparedReferences

    @property
    def forest(self) -> Forest:
        """All lattices in a row."""
        return self.matched.ngrams.forest


def pruned_lattices(
    forests: Sequence[Forest],
    weights: Weights,
    density: float,
    rows: NDArray[np.int32] | None,
    threads: int | None = None,
) -> Forest:
    """At most `density` edges for each word; an edge's provenance becomes the number of its phrase pair, or −1.

    `rows` has the number of each phrase pair of the searched table in the trained one; None where it is that one.
    """

    def work(begin: int, end: int) -> list[Forest]:
        return [prune_to_density(one, one.scores(weights, threads=1), density) for one in forests[begin:end]]

    chunks = map_chunks(work, len(forests), chunk=FORESTS_AT_ONCE, threads=threads)
    joined = join([one for chunk in chunks for one in chunk])
    if joined.provenance is None:
        raise ValueError("the forest does not know where its edges came from")
    return replace(joined, provenance=edge_pairs(joined.provenance, rows))


def edge_pairs(provenance: NDArray[np.int64], rows: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """The phrase pair of each edge, as the trained table numbers it; −1 for copied words, starts and ends."""
    pairs = np.full(provenance.size, NO_PAIR, np.int64)
    phrases = provenance != NO_PHRASE
    pairs[phrases] = unpack(provenance[phrases]).pair
    return pairs if rows is None else np.where(pairs < 0, NO_PAIR, rows[np.maximum(pairs, 0)]).astype(np.int64)


def lattice_part(
    forest: Forest, references: Sequence[Sequence[str]], weights: Weights, threads: int | None = None
) -> LatticePart:
    """Lattices, as `pruned_lattices` gave them, beside one reference each."""
    some = [[words] for words in references]
    matched = match(localise(forest, forest.scores(weights, threads), ORDER, threads=threads), some)
    pairs = matched.ngrams.forest.provenance
    if pairs is None:
        raise InputError("lattices that do not know their phrase pairs", remedy="make them again")
    return LatticePart(matched, pairs, encoded_references(BLEU(), some, forest.vocabulary))


@dataclass(frozen=True, eq=False)
class LatticeSpace:
    """Lattices in parts, all in memory, and what is maximised: between 0 and 1, and a function of expected counts."""

    parts: Sequence[LatticePart]
    objective: Objective = field(default_factory=lambda: XBLEU(ORDER, STEEPNESS))

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("there are no lattices to learn from", remedy="give a training text")

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """The phrase pairs of all lattices."""
        pairs = np.unique(np.concatenate([part.pairs for part in self.parts]))
        return np.asarray(pairs[pairs != NO_PAIR], np.int32)

    @cached_property
    def sentences(self) -> int:
        """How many lattices there are."""
        return sum(len(part.forest) for part in self.parts)

    def expect(self, exponents: Mapping[str, float], changes: Vector, threads: int | None = None) -> Expectation:
        """Two sweeps over all edges."""
        gains, losses = np.zeros(changes.size), np.zeros(changes.size)
        utility = entropy = 0.0
        chosen = np.zeros(BLEU().size)
        for part in self.parts:
            known = part.pairs != NO_PAIR
            scores = part.forest.scores(exponents, threads)
            scores[known] += changes[part.pairs[known]]
            given = distribution(part.forest.shape, scores, threads)
            value, rewards = self.objective.rewards(Situation(part.matched, scores, given, threads))
            edges = len(part.forest) * advantage(given, rewards, threads)
            utility += len(part.forest) * value
            gains += np.bincount(part.pairs[known], edges[known], changes.size)
            losses += np.bincount(part.pairs[known], np.maximum(-edges[known], 0.0), changes.size)
            entropy += float(given.entropy().sum())
            chosen += _best(part, scores)
        best = BLEU().score(chosen)
        return Expectation(utility, gains, losses, utility / self.sentences, best, entropy / self.sentences)


def _best(part: LatticePart, scores: Scores) -> Vector:
    """The BLEU statistics of the best translations."""
    none = np.empty(0, np.int32)
    words = [none if one is None else one.word_ids for one in viterbi(part.forest, scores)]
    offsets = offsets_of([own.size for own in words])
    statistics = part.references.statistics(np.concatenate(words), offsets, np.arange(len(words)), threads=1)
    return np.asarray(statistics.sum(axis=0))
