"""Expected BLEU of lists, and what each phrase pair gains: two passes over all hypotheses.

With posteriors P(E|F) from normalized weights (He and Deng 2012, formula 17), U_n = Σ_E P(E) BLEU(E) and U = Σ_n U_n,

    γ(pair) = Σ_n Σ_E P(E) [BLEU(E) − U_n] · #(pair in E):

the derivative of U by the log probability of the pair, up to its weight. On a list that is the advantage of each edge.
Scores are those of the model that found a hypothesis plus what has changed since: Σ_pairs λ (log p − log p⁰).

BLEU(E) is that of the sentence, as in the paper; or U is BLEU of the corpus with expected statistics, times the number
of sentences, and BLEU(E) the part of a hypothesis in its derivative: lengths then count as they do in an evaluation.

On lattices, which hold far more translations than a list, γ is the advantage of each edge, summed over the edges of a
phrase pair. Sentence BLEU is not a sum over edges, so BLEU of expected n-gram counts (xBLEU; Rosti et al. 2011) is
maximized, of each part of the text as a corpus, weighted by its sentences: U = Σ_parts sentences · xBLEU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of, sum_of_products
from toledo.errors import InputError
from toledo.forest.assemble import join, prune_to_density
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import advantage, distribution
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.metrics.references import PreparedReferences
from toledo.objectives.objective import MatchedForest, Objective, Situation, match
from toledo.objectives.xbleu import XBLEU
from toledo.refinement.phrase_lists import (
    COLUMNS,
    LENGTH,
    MATCHES,
    ORDER,
    ListArrays,
    PhraseLists,
    SentenceBLEU,
    fit_sentence_bleu,
    used_pairs,
)
from toledo.search.steps import NO_PHRASE, unpack
from toledo.weights import Weights

SENTENCES_AT_ONCE = 500
UTILITIES = ("sentence", "corpus")
CORPUS_BLEU = BLEU(smooth_method="none")

Vector = NDArray[np.float64]


class Expectation(NamedTuple):
    """U; for each phrase pair γ and the sum of its negative parts; and numbers to report.

    `mean` is U per sentence, `best` the corpus BLEU of the best hypotheses, `entropy` that of a sentence in nats.
    """

    utility: float
    gains: Vector
    losses: Vector
    mean: float
    best: float
    entropy: float


def normalized(weights: Weights, names: Sequence[str], scale: float) -> dict[str, float]:
    """Return the weights λ of features at an L1 norm of `scale`; frozen weights, which are not tuned, do not count."""
    norm = sum(abs(weights[name]) for name in names if name not in weights.frozen)
    if not norm:
        raise InputError("all weights are 0", remedy="tune the model first (toledo tune)")
    return {name: scale * weights[name] / norm for name in names}


@dataclass(frozen=True, eq=False)
class ListSpace:
    """Lists in parts, mapped into memory, and the BLEU that counts: of sentences, or of the corpus."""

    parts: Sequence[PhraseLists]
    utility: str = "sentence"

    def __post_init__(self) -> None:
        if self.utility not in UTILITIES:
            raise ValueError(f"no utility {self.utility!r}: choose from {', '.join(UTILITIES)}")
        if not self.sentences:
            raise InputError("there are no lists to learn from", remedy="give a training text")
        if len({(part.feature_names, part.table_size) for part in self.parts}) > 1:
            raise InputError("lists of different models", remedy="remove the work directory to make them again")

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """The phrase pairs of all lists."""
        return used_pairs(self.parts)

    @cached_property
    def sentences(self) -> int:
        """Number of sentences whose list is not empty."""
        return sum(part.firsts.size for part in self.parts)

    @cached_property
    def bleu(self) -> SentenceBLEU:
        """Sentence BLEU with the priors of the first hypotheses: those of the baseline."""
        totals = sum(part.arrays.statistics[part.firsts].sum(axis=0, dtype=np.int64) for part in self.parts)
        return fit_sentence_bleu(np.asarray(totals), self.sentences)

    def expect(self, exponents: Mapping[str, float], changes: Vector, threads: int | None = None) -> Expectation:
        """Compute the expectation at some weights; `changes` is what the score of each phrase pair has changed by."""
        found = [_find(part, exponents, changes, threads) for part in self.parts]
        chosen = sum(
            _statistics(part.arrays, own.best[own.best >= 0]) for part, own in zip(self.parts, found, strict=True)
        )
        utility, scores = self._utility(found)
        gains, losses = np.zeros(changes.size), np.zeros(changes.size)
        for part, own, some in zip(self.parts, found, scores, strict=True):
            _advantages(part.arrays.hypotheses, own.posteriors, some)
            _add_gains(part.arrays, own.posteriors, gains, losses)
        entropy = sum(float(own.entropy.sum()) for own in found) / self.sentences
        best = CORPUS_BLEU.score(np.asarray(chosen))
        return Expectation(utility, gains, losses, utility / self.sentences, best, entropy)

    @cached_property
    def _sentence_scores(self) -> list[Vector]:
        """Sentence BLEU of all hypotheses of each part."""
        return [self.bleu.scores(part.arrays.statistics) for part in self.parts]

    def _utility(self, found: Sequence[_Found]) -> tuple[float, Iterable[Vector]]:
        """U, and the scores of the hypotheses of each part."""
        if self.utility == "sentence":
            scores = self._sentence_scores
            return sum(
                float(sum_of_products(own.posteriors, some)) for own, some in zip(found, scores, strict=True)
            ), scores
        expected = np.zeros(CORPUS_BLEU.size)
        for part, own in zip(self.parts, found, strict=True):
            _add_expected(part.arrays.statistics, own.posteriors, expected)
        if not expected[MATCHES + ORDER - 1] > 0.0:
            raise InputError(
                f"no hypothesis has {ORDER} words in a row in common with its reference (no matching {ORDER}-grams), "
                "and without them BLEU of the corpus is 0",
                remedy="set `level='sentence'`, or use more text; check that lines belong together",
            )
        slope = self.sentences / 100.0 * CORPUS_BLEU.gradient(expected)
        return self.sentences / 100.0 * CORPUS_BLEU.score(expected), (
            _linear(part.arrays.statistics, slope) for part in self.parts
        )


class _Found(NamedTuple):
    """P(E) of each hypothesis; entropy and the best hypothesis of each sentence, −1 if there is none."""

    posteriors: Vector
    entropy: Vector
    best: NDArray[np.int64]


def _find(part: PhraseLists, exponents: Mapping[str, float], changes: Vector, threads: int | None) -> _Found:
    weights, sentences = np.array([exponents[name] for name in part.feature_names]), len(part)
    found = _Found(np.empty(part.arrays.pair_offsets.size - 1), np.zeros(sentences), np.full(sentences, -1, np.int64))
    map_chunks(
        lambda first, last: _posteriors(part.arrays, weights, changes, first, last, found),
        sentences,
        chunk=SENTENCES_AT_ONCE,
        threads=threads,
    )
    return found


def _statistics(lists: ListArrays, chosen: NDArray[np.int64]) -> Vector:
    """Sum the BLEU statistics of some hypotheses, as `toledo.metrics` has them."""
    totals = np.zeros(CORPUS_BLEU.size)
    _add_expected(lists.statistics[chosen], np.ones(chosen.size), totals)
    return totals


@kernel
def _posteriors(lists: ListArrays, weights: Vector, changes: Vector, first: int, last: int, found: _Found) -> None:
    for s in range(first, last):
        begin, end = lists.hypotheses[s], lists.hypotheses[s + 1]
        if begin == end:
            continue
        best = begin
        for h in range(begin, end):
            score = 0.0
            for k in range(weights.size):
                score += weights[k] * lists.features[h, k]
            for p in range(lists.pair_offsets[h], lists.pair_offsets[h + 1]):
                score += changes[lists.pairs[p]]
            found.posteriors[h] = score
            if score > found.posteriors[best]:
                best = h
        found.best[s] = best
        highest, total = found.posteriors[best], 0.0
        for h in range(begin, end):
            total += np.exp(found.posteriors[h] - highest)
        entropy = 0.0
        for h in range(begin, end):
            logarithm = found.posteriors[h] - highest - np.log(total)
            found.posteriors[h] = np.exp(logarithm)
            entropy -= found.posteriors[h] * logarithm
        found.entropy[s] = entropy


@kernel
def _add_expected(statistics: NDArray[np.int32], posteriors: Vector, totals: Vector) -> None:
    """Add lengths, matches and n-grams, as `toledo.metrics` orders them."""
    for h in range(posteriors.size):
        for k in range(COLUMNS):
            totals[k] += posteriors[h] * statistics[h, k]
        for n in range(ORDER):
            totals[COLUMNS + n] += posteriors[h] * max(statistics[h, LENGTH] - n, 0)


@kernel
def _linear(statistics: NDArray[np.int32], slope: Vector) -> Vector:
    """Return the statistics of each hypothesis times a slope."""
    scores = np.zeros(statistics.shape[0])
    for h in range(scores.size):
        for k in range(COLUMNS):
            scores[h] += slope[k] * statistics[h, k]
        for n in range(ORDER):
            scores[h] += slope[COLUMNS + n] * max(statistics[h, LENGTH] - n, 0)
    return scores


@kernel
def _advantages(hypotheses: NDArray[np.int64], posteriors: Vector, scores: Vector) -> None:
    """Turn P(E) into P(E) [BLEU(E) − U_n]."""
    for s in range(hypotheses.size - 1):
        utility = 0.0
        for h in range(hypotheses[s], hypotheses[s + 1]):
            utility += posteriors[h] * scores[h]
        for h in range(hypotheses[s], hypotheses[s + 1]):
            posteriors[h] *= scores[h] - utility


@kernel
def _add_gains(lists: ListArrays, advantages: Vector, gains: Vector, losses: Vector) -> None:
    """Add up in one thread: sums must not depend on the number of threads, and it is little work."""
    for h in range(advantages.size):
        for p in range(lists.pair_offsets[h], lists.pair_offsets[h + 1]):
            gains[lists.pairs[p]] += advantages[h]
            if advantages[h] < 0.0:
                losses[lists.pairs[p]] -= advantages[h]


FORESTS_AT_ONCE = 16
STEEPNESS = 30.0  # of the penalty for short texts: with the usual penalty gradients stop at its edge
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
    """Keep at most `density` edges for each word; an edge's provenance becomes the number of its phrase pair, or −1.

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
    """Return the phrase pair of each edge, as the trained table numbers it; −1 for copied words, starts and ends."""
    pairs = np.full(provenance.size, NO_PAIR, np.int64)
    phrases = provenance != NO_PHRASE
    pairs[phrases] = unpack(provenance[phrases]).pair
    return pairs if rows is None else np.where(pairs < 0, NO_PAIR, rows[np.maximum(pairs, 0)]).astype(np.int64)


def lattice_part(
    forest: Forest, references: Sequence[Sequence[str]], weights: Weights, threads: int | None = None
) -> LatticePart:
    """Match lattices of `pruned_lattices` with one reference each."""
    some = [[words] for words in references]
    matched = match(localize(forest, forest.scores(weights, threads), ORDER, threads=threads), some)
    pairs = matched.ngrams.forest.provenance
    if pairs is None:
        raise InputError("lattices that do not know their phrase pairs", remedy="make them again")
    return LatticePart(matched, pairs, CORPUS_BLEU.prepare(some, forest.vocabulary))


@dataclass(frozen=True, eq=False)
class LatticeSpace:
    """Lattices in parts, all in memory, and the function of expected counts, from 0 to 1, to maximize."""

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
        """Number of lattices."""
        return sum(len(part.forest) for part in self.parts)

    def expect(self, exponents: Mapping[str, float], changes: Vector, threads: int | None = None) -> Expectation:
        """Compute the expectation at some weights, in two sweeps over all edges."""
        gains, losses = np.zeros(changes.size), np.zeros(changes.size)
        utility = entropy = 0.0
        chosen = np.zeros(CORPUS_BLEU.size)
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
        best = CORPUS_BLEU.score(chosen)
        return Expectation(utility, gains, losses, utility / self.sentences, best, entropy / self.sentences)


def _best(part: LatticePart, scores: Scores) -> Vector:
    """Return the BLEU statistics of the best translations."""
    none = np.empty(0, np.int32)
    words = [none if one is None else one.word_ids for one in viterbi(part.forest, scores)]
    offsets = offsets_of([own.size for own in words])
    statistics = part.references.statistics(np.concatenate(words), offsets, np.arange(len(words)), threads=1)
    return np.asarray(statistics.sum(axis=0))


SearchSpaces: TypeAlias = ListSpace | LatticeSpace
