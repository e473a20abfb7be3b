"""Lines through the weights of n-best lists: what MERT needs of them, laid out for speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.tuning.line_search import Line, Steps, add_scaled, statistics_along
from toledo.tuning.problem import ListProblem
from toledo.tuning.rows import Vector, row_scores


@dataclass(frozen=True, eq=False)
class ListLines:
    """Hypotheses of lists: a row of `features` for each free weight, `fixed` is what the other weights give.

    Hypotheses of a segment that agree in features and statistics are there once.
    """

    features: NDArray[np.float32]
    fixed: Vector
    statistics: NDArray[np.floating[Any]]
    offsets: NDArray[np.int64]
    metric: Metric

    def from_point(self, values: Vector) -> Callable[[Vector], Steps]:
        """For directions from a point: the sums of statistics along these lines."""
        scores = self.fixed.copy()
        for row, value in zip(self.features, values.tolist(), strict=True):
            add_scaled(row, value, scores)
        return lambda direction: statistics_along(Line(scores, self.features, direction, self.offsets, self.statistics))


def list_lines(problem: ListProblem, free: NDArray[np.int64]) -> ListLines:
    """The lists of a problem seen from some of its dense weights; all others stay as they are at the start."""
    lists, given = problem.lists, problem.parameters
    others = given.start.copy()
    others[free] = 0.0
    fixed = row_scores(problem.rows, others, problem.threads)
    features = problem.rows.dense[:, free]
    segments = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    table = np.column_stack([segments, fixed, features, lists.statistics])
    kept = _first_of_equals(table)
    offsets = np.searchsorted(segments[kept], np.arange(len(lists) + 1))
    return ListLines(
        np.ascontiguousarray(features[kept].T), fixed[kept], _compact(lists.statistics[kept]), offsets, lists.metric
    )


def _compact(statistics: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """Half the memory where nothing is lost, as with counts: lines read statistics here and there."""
    half = statistics.astype(np.float32)
    return half if np.array_equal(half, statistics) else statistics


def _first_of_equals(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Where rows stand that do not occur before. (As bytes rows are sorted at once; 0 and −0 are made equal before.)"""
    rows = np.ascontiguousarray(table + 0.0)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])
