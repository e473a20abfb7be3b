"""Lines through the weights of n-best lists: what MERT needs of them, laid out for speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inner_kernel
from toledo.metrics.metric import Metric
from toledo.tuning.line_search import Line, Steps, statistics_along
from toledo.tuning.problem import ListProblem
from toledo.tuning.rows import Vector, row_scores


@dataclass(frozen=True, eq=False)
class ListLines:
    """Hypotheses of lists: a row of `features` for each free weight, `fixed` is what the other weights give.

    Hypotheses of a segment that agree in features and statistics are there once.
    """

    features: NDArray[np.float64]
    fixed: Vector
    statistics: NDArray[np.float64]
    offsets: NDArray[np.int64]
    metric: Metric

    def from_point(self, values: Vector) -> Callable[[Vector], Steps]:
        """For directions from a point: the sums of statistics along these lines."""
        scores = self.fixed.copy()
        _add_products(self.features, values, scores)

        def along(direction: Vector) -> Steps:
            slopes = np.zeros(scores.size)
            _add_products(self.features, direction, slopes)
            return statistics_along(Line(scores, slopes, self.offsets, self.statistics))

        return along


def list_lines(problem: ListProblem, free: NDArray[np.int64]) -> ListLines:
    """The lists of a problem seen from some of its dense weights; all others stay as they are at the start."""
    lists, given = problem.lists, problem.parameters
    others = given.start.copy()
    others[free] = 0.0
    fixed = row_scores(problem.rows, others, problem.threads)
    features = problem.rows.dense[:, free].astype(np.float64)
    segments = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    table = np.column_stack([segments, fixed, features, lists.statistics])
    kept = _first_of_equals(table)
    offsets = np.searchsorted(segments[kept], np.arange(len(lists) + 1))
    return ListLines(np.ascontiguousarray(features[kept].T), fixed[kept], lists.statistics[kept], offsets, lists.metric)


def _first_of_equals(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where rows stand that do not occur before. (As bytes rows are sorted at once; 0 and −0 are made equal before.)"""
    rows = np.ascontiguousarray(table + 0.0)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])


@inner_kernel
def _add_products(features: NDArray[np.float64], weights: Vector, scores: Vector) -> None:
    for k in range(weights.size):
        weight = weights[k]
        if weight != 0.0:
            for h in range(scores.size):
                scores[h] += weight * features[k, h]
