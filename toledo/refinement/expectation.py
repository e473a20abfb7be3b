"""Expected sentence BLEU of lists, and what each phrase pair gains: one pass over all hypotheses.

With posteriors P(E|F) from normalised weights (He and Deng 2012, formula 17), U_n = Σ_E P(E) BLEU(E) and U = Σ_n U_n,

    γ(pair) = Σ_n Σ_E P(E) [BLEU(E) − U_n] · #(pair in E):

the derivative of U by the log probability of the pair, up to its weight. On a list that is the advantage of each edge.
Scores are those of the model that found a hypothesis plus what has changed since: Σ_pairs λ (log p − log p⁰).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.kernels import kernel, map_chunks
from toledo.metrics.bleu import BLEU
from toledo.refinement.lists import ListArrays, PhraseLists, used_pairs
from toledo.refinement.sentence_bleu import LENGTH, MATCHES, ORDER, REFERENCE, SentenceBLEU, fit_sentence_bleu
from toledo.weights import Weights

SENTENCES_AT_ONCE = 500

Vector = NDArray[np.float64]


class Expectation(NamedTuple):
    """U; for each phrase pair γ and the sum of its negative parts; and what else one wants to know.

    `mean` is U per sentence, `best` the corpus BLEU of the best hypotheses, `entropy` that of a sentence in nats.
    """

    utility: float
    gains: Vector
    losses: Vector
    mean: float
    best: float
    entropy: float


class Space(Protocol):
    """Search spaces of a training text: lists or lattices."""

    @property
    def used(self) -> NDArray[np.int32]:
        """The phrase pairs that stand in them, in rising order."""
        ...

    def expect(self, exponents: Mapping[str, float], changes: Vector, threads: int | None = None) -> Expectation:
        """The expectation at some weights; `changes` is what each phrase pair's score has changed by."""
        ...


def normalised(weights: Weights, names: Sequence[str], scale: float) -> dict[str, float]:
    """The weights λ of some features at an L1 norm of `scale`; frozen ones, that nobody tunes, do not count for it."""
    norm = sum(abs(weights[name]) for name in names if name not in weights.frozen)
    if not norm:
        raise InputError("all weights are 0", remedy="tune the model first (toledo tune)")
    return {name: scale * weights[name] / norm for name in names}


@dataclass(frozen=True, eq=False)
class ListSpace:
    """Lists in parts, which may be larger than memory, and the BLEU that counts."""

    parts: Sequence[PhraseLists]

    def __post_init__(self) -> None:
        if not sum(part.firsts.size for part in self.parts):
            raise InputError("there are no lists to learn from", remedy="give a training text")
        if len({(part.feature_names, part.table_size) for part in self.parts}) > 1:
            raise InputError("lists of different models", remedy="remove the work directory to make them again")

    @cached_property
    def used(self) -> NDArray[np.int32]:
        """The phrase pairs of all lists."""
        return used_pairs(list(self.parts))

    @cached_property
    def bleu(self) -> SentenceBLEU:
        """Sentence BLEU with the priors of the first hypotheses: those of the baseline."""
        totals = sum(part.arrays.statistics[part.firsts].sum(axis=0, dtype=np.int64) for part in self.parts)
        return fit_sentence_bleu(np.asarray(totals), sum(part.firsts.size for part in self.parts))

    def expect(self, exponents: Mapping[str, float], changes: Vector, threads: int | None = None) -> Expectation:
        """One pass over all parts, one after the other; the result does not depend on the number of threads."""
        gains, losses = np.zeros(changes.size), np.zeros(changes.size)
        utility = entropy = 0.0
        sentences, chosen = 0, np.zeros(BLEU().size)
        for part in self.parts:
            weights = np.array([exponents[name] for name in part.feature_names])
            found = _work_on(part, weights, changes, self.bleu.scores(part.arrays.statistics), threads)
            _add_gains(part.arrays, found.advantages, gains, losses)
            used = found.best >= 0
            utility, entropy = utility + float(found.utility.sum()), entropy + float(found.entropy.sum())
            sentences, chosen = sentences + int(used.sum()), chosen + _totals(part, found.best[used])
        return Expectation(utility, gains, losses, utility / sentences, BLEU().score(chosen), entropy / sentences)


class _Found(NamedTuple):
    """P(E) [BLEU(E) − U_n] of each hypothesis; U_n, entropy and the best hypothesis of each sentence."""

    advantages: Vector
    utility: Vector
    entropy: Vector
    best: NDArray[np.int64]


def _work_on(part: PhraseLists, weights: Vector, changes: Vector, scores: Vector, threads: int | None) -> _Found:
    sentences = len(part)
    found = _Found(np.empty(scores.size), np.zeros(sentences), np.zeros(sentences), np.full(sentences, -1, np.int64))
    map_chunks(
        lambda first, last: _posteriors(part.arrays, weights, changes, scores, first, last, found),
        sentences,
        chunk=SENTENCES_AT_ONCE,
        threads=threads,
    )
    return found


def _totals(part: PhraseLists, best: NDArray[np.int64]) -> Vector:
    """The BLEU statistics of some hypotheses, as `toledo.metrics` has them."""
    rows = part.arrays.statistics[best].astype(np.float64)
    lengths = rows[:, LENGTH : LENGTH + 1]
    ngrams = np.maximum(lengths - np.arange(ORDER), 0.0)
    together = np.column_stack([lengths, rows[:, REFERENCE], rows[:, MATCHES:], ngrams])
    return np.asarray(together.sum(axis=0))


@kernel
def _posteriors(
    lists: ListArrays, weights: Vector, changes: Vector, bleu: Vector, first: int, last: int, found: _Found
) -> None:
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
            found.advantages[h] = score
            if score > found.advantages[best]:
                best = h
        found.best[s] = best
        highest, total = found.advantages[best], 0.0
        for h in range(begin, end):
            total += np.exp(found.advantages[h] - highest)
        utility = entropy = 0.0
        for h in range(begin, end):
            logarithm = found.advantages[h] - highest - np.log(total)
            posterior = np.exp(logarithm)
            utility += posterior * bleu[h]
            entropy -= posterior * logarithm
            found.advantages[h] = posterior
        for h in range(begin, end):
            found.advantages[h] *= bleu[h] - utility
        found.utility[s], found.entropy[s] = utility, entropy


@kernel
def _add_gains(lists: ListArrays, advantages: Vector, gains: Vector, losses: Vector) -> None:
    """In one thread: sums must not depend on how many there are, and it is little work."""
    for h in range(advantages.size):
        for p in range(lists.pair_offsets[h], lists.pair_offsets[h + 1]):
            gains[lists.pairs[p]] += advantages[h]
            if advantages[h] < 0.0:
                losses[lists.pairs[p]] -= advantages[h]
