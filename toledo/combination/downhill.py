"""Downhill simplex on the BLEU of the best paths of lattices: the first baseline of Rosti et al. (2011), latBLEU.

It needs no gradient, but only works for few weights: shares and dense weights. After each descent a new simplex is set
up around the best point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from toledo.combination.ascent import scale_for_entropy
from toledo.combination.problem import Problem, References, Vector
from toledo.combination.stages import Stage
from toledo.forest.derivation import viterbi
from toledo.metrics.bleu import BLEU
from toledo.metrics.sequences import offsets_of
from toledo.tuning.text_statistics import TextStatistics

POINTS_PER_WEIGHT = 20  # evaluations in a descent
STEP = 0.5
CLOSE = 1e-3


@dataclass(frozen=True)
class Downhill:
    """Nelder and Mead's method, `descents` times; γ is only needed to prune afterwards."""

    references: References
    descents: int = 2
    entropy: float = 3.0

    def tune(self, problem: Problem, order: int) -> Stage:
        """The weights with the highest BLEU of the best paths, never below that at the start."""
        forest = problem.voted.forest
        known = TextStatistics(BLEU(), self.references, forest.vocabulary)
        sparse = set(forest.sparse.names if forest.sparse else ())
        names = (*problem.start.shares, *problem.names)
        free = np.array([place for place, name in enumerate(names) if name not in sparse])
        point, evaluations = problem.first.copy(), 0

        def loss(values: Vector) -> float:
            trial = point.copy()
            trial[free] = values
            return -best_path_bleu(problem, trial, known)

        for _ in range(self.descents):
            corners = np.vstack([point[free], point[free] + STEP * np.eye(free.size)])
            found = minimize(
                loss,
                point[free],
                method="Nelder-Mead",
                options={
                    "initial_simplex": corners,
                    "adaptive": True,
                    "maxfev": POINTS_PER_WEIGHT * free.size,
                    "xatol": CLOSE,
                    "fatol": CLOSE,
                },
            )
            point[free] = found.x
            evaluations += int(found.nfev)
        weights = problem.weights(point)
        scale = scale_for_entropy(problem.voted, weights, self.entropy, problem.threads)
        return Stage(weights, scale, best_path_bleu(problem, point, known), evaluations)


def best_path_bleu(problem: Problem, point: Vector, known: TextStatistics) -> float:
    """The BLEU of the best path of each lattice."""
    best = viterbi(problem.voted.forest, problem.voted.scores(problem.weights(point), problem.threads))
    texts = [np.empty(0, np.int32) if one is None else one.word_ids for one in best]
    statistics = known.of(
        np.concatenate([np.empty(0, np.int32), *texts]),
        offsets_of([text.size for text in texts]),
        np.arange(len(texts)),
    )
    return known.metric.score(statistics.sum(axis=0))
