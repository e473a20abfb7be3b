"""Differences between groups of stored runs, tested as `toledo compare` does, as cells of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.metrics.significance.paired import measure, studentized_bootstrap
from toledo.metrics.significance.runs import difference_of_runs

RESAMPLES, SEED, LEVEL = 9_999, 1, 0.95
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """What one group of runs has more than another, with a 95 % interval, and p of no difference (two-sided)."""

    value: float
    low: float  # −inf and inf if the data give no interval
    high: float
    p: float

    def text(self, p: float) -> str:
        """As a cell of a table, with p as it is after a correction."""
        shown = "<0.001" if p < 0.001 else f"{p:.3f}"
        interval = f"{signed(self.low)} to {signed(self.high)}" if np.isfinite(self.low) else "no interval"
        return f"{signed(self.value)} ({interval}) | {shown}"


def signed(value: float) -> str:
    """With a sign, that of typography."""
    return f"{value:+.2f}".replace("-", "−")


def compare(metric: Metric, runs: Sequence[Rows], base: Sequence[Rows]) -> Difference:
    """Compare groups of runs, given the statistics of the same segments for each run.

    One run each: the studentized paired bootstrap of segments, which says nothing about other runs. Several runs: the t
    test with the variance over segments and over runs.
    """
    if len({rows.shape for rows in (*runs, *base)}) != 1:
        raise ValueError("runs of different segments cannot be compared")
    groups = [[measure(metric, rows) for rows in some] for some in (runs, base)]
    if len(runs) == len(base) == 1:
        both = [groups[0][0], groups[1][0]]
        made = studentized_bootstrap(metric, both, [(0, 1)], resamples=RESAMPLES, seed=SEED, level=LEVEL)
        found = made.differences[0]
    else:
        found = difference_of_runs(*groups, level=LEVEL)[0]
    low, high = (-np.inf, np.inf) if found.interval is None else (found.interval.low, found.interval.high)
    return Difference(found.value, low, high, found.p)
