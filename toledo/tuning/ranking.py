"""Linear models on pairs of hypotheses: a loss of the difference of their scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toledo.tuning.fitting import fit
from toledo.tuning.pairs import Pairs
from toledo.tuning.rows import Parameters, Rows, Vector, row_scores, select_rows, spread, weighted_sum

PairLoss = Callable[[Vector], tuple[float, Vector]]  # of the margins: the sum, and the derivative by each


def fit_pairs(
    loss: PairLoss,
    pairs: Pairs,
    rows: Rows,
    parameters: Parameters,
    start: Vector,
    l2: float,
    threads: int | None = None,
) -> tuple[Vector, float]:
    """Minimise the sum of a loss over pairs; only the hypotheses that are in pairs are scored."""
    both = np.concatenate([pairs.better, pairs.worse])
    chosen, places = np.unique(both, return_inverse=True)
    own = select_rows(rows, chosen)
    better, worse = places[: pairs.better.size], places[pairs.better.size :]
    columns = len(parameters.names)

    def total(weights: Vector) -> tuple[float, Vector]:
        scores = row_scores(own, weights, threads)
        value, slopes = loss(scores[better] - scores[worse])
        factors = np.zeros(chosen.size)
        factors += np.bincount(better, slopes, chosen.size)
        factors -= np.bincount(worse, slopes, chosen.size)
        return value, weighted_sum(own, factors, columns, threads)

    ends = np.arange(0, 2 * pairs.better.size + 1, 2)
    twice = select_rows(own, np.column_stack([better, worse]).ravel())
    return fit(total, parameters, start, l2, 0.5 * spread(twice, ends, columns))
