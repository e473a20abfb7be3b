"""MMI, maximum mutual information (Och and Ney 2002): make the best hypotheses of the lists likely.

With the best hypotheses O_i of segment i, the *oracles*, in place of references, which no list contains:

    maximize Σ_i log Σ_{e ∈ O_i} P(e) − λ/2 |w|²,    P(e) ∝ exp(base + w · x_e) over the list

The gradient is Σ_i E[x | O_i] − E[x]. Here the scale of the weights means something, and is what is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.forest.linear import Vector, row_scores, spread, weighted_sum
from toledo.metrics.bleu import BLEU
from toledo.objectives.lists import HypothesisLists, best_hypotheses, sentence_gains, sign
from toledo.progress import Progress
from toledo.settings import Meta, Settings
from toledo.tuning.maximize import Function, fit
from toledo.tuning.tuner import ListTuner, Tuned, TuningProblem

MOST_PASSES = 20


@dataclass(frozen=True)
class MMI(Settings, ListTuner):
    """Maximize the likelihood of oracles on lists, with any metric; for thousands of sparse features, too.

    Oracles are those that, exchanged one segment after the other until nothing changes, give the best corpus score; or
    with `oracle="sentence"` the hypotheses with the best sentence score.
    """

    oracle: Annotated[
        Literal["sentence", "corpus"], Meta(description="Choose oracles by sentence scores or by the corpus score.")
    ] = "corpus"
    l2: Annotated[float, Meta(ge=0, description="L2 penalty on the weights.")] = 1.0

    name = "mmi"

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the weights with the highest likelihood; nothing is random, so the seed does not matter."""
        lists, given = problem.lists, problem.space
        with progress(self.name, 2) as advance:
            oracles = is_oracle(lists, self.oracle)
            advance(1)
            curvature = spread(problem.rows, lists.offsets, len(given.names)) * len(lists) / max(oracles.size, 1)
            values, loss = fit(likelihood_loss(problem, oracles), given, given.start, self.l2, curvature)
            advance(1)
        return problem.tuned(values, -loss, {"oracles": float(np.count_nonzero(oracles))})


def likelihood_loss(problem: TuningProblem, oracles: NDArray[np.bool_]) -> Function:
    """Return minus the logarithm of the oracles' probability, and its gradient, as a function of the weights."""
    columns, threads = len(problem.space.names), problem.threads

    def loss(weights: Vector) -> tuple[float, Vector]:
        scores = row_scores(problem.rows, weights, threads)
        slopes = np.zeros(scores.size)
        value = _likelihood(scores, problem.lists.offsets, oracles, slopes)
        return -value, weighted_sum(problem.rows, -slopes, columns, threads)

    return loss


def is_oracle(lists: HypothesisLists, kind: Literal["sentence", "corpus"] = "sentence") -> NDArray[np.bool_]:
    """Return which hypotheses are as good as the best of their segment; those of equal statistics are all in."""
    best = best_hypotheses(sentence_gains(lists), lists.offsets)
    if kind == "corpus":
        best = _corpus_oracle(lists, best)
    segments = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    return np.asarray((lists.statistics == lists.statistics[best[segments]]).all(axis=1))


def _corpus_oracle(lists: HypothesisLists, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exchange one hypothesis after the other for the best one beside all others, until none changes."""
    chosen, metric = chosen.copy(), lists.metric
    segments = np.flatnonzero(np.diff(lists.offsets))
    total = lists.statistics[chosen[segments]].sum(axis=0)
    smooth: BLEU | None = (
        BLEU(max_ngram_order=metric.max_ngram_order, smooth_method="floor", smooth_value=1e-9)
        if isinstance(metric, BLEU)
        else None
    )
    for _ in range(MOST_PASSES):
        changed = False
        for segment in segments.tolist():
            begin, end, old = lists.offsets[segment], lists.offsets[segment + 1], chosen[segment]
            others = total - lists.statistics[old]
            gains = sign(metric) * (smooth or metric).scores(others + lists.statistics[begin:end])
            best = int(np.argmax(gains))
            if gains[best] > gains[old - begin]:
                chosen[segment], changed = begin + best, True
                total = others + lists.statistics[begin + best]
        if not changed:
            break
    return chosen


@kernel
def _likelihood(scores: Vector, offsets: NDArray[np.int64], oracles: NDArray[np.bool_], slopes: Vector) -> float:
    """Return Σ log P(oracles), and write its derivatives by the scores: P(e | oracles) − P(e)."""
    total = 0.0
    for segment in range(offsets.size - 1):
        begin, end = offsets[segment], offsets[segment + 1]
        top = top_oracle = -np.inf
        for h in range(begin, end):
            top = max(top, scores[h])
            if oracles[h]:
                top_oracle = max(top_oracle, scores[h])
        mass = oracle_mass = 0.0
        for h in range(begin, end):
            mass += np.exp(scores[h] - top)
            if oracles[h]:
                oracle_mass += np.exp(scores[h] - top_oracle)
        for h in range(begin, end):
            slopes[h] = -np.exp(scores[h] - top) / mass
            if oracles[h]:
                slopes[h] += np.exp(scores[h] - top_oracle) / oracle_mass
        if end > begin:
            total += np.log(oracle_mass) + top_oracle - np.log(mass) - top
    return total
