"""Is the difference between two groups of runs more than chance? From the stored statistics of their segments.

One run each: a studentized paired bootstrap of segments; it says nothing about other runs. Several runs: a t test with
the variance over segments and over runs, without their interaction, which both contain. A single run against several
has the variance of the others over runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from toledo.metrics.metric import Metric

RESAMPLES, SEED, LEVEL = 9_999, 1, 0.95
ROUNDING = 1e-9
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """What one group of runs has more than another, with a 95 % interval, and p of no difference (two-sided)."""

    value: float
    low: float
    high: float
    p: float

    def text(self, p: float) -> str:
        """As a cell of a table, with p as it is after a correction."""
        shown = "<0.001" if p < 0.001 else f"{p:.3f}"
        return f"{signed(self.value)} ({signed(self.low)} to {signed(self.high)}) | {shown}"


def signed(value: float) -> str:
    """With a sign, that of typography."""
    return f"{value:+.2f}".replace("-", "−")


def compare(metric: Metric, runs: Sequence[Rows], base: Sequence[Rows]) -> Difference:
    """Compare groups of runs, given the statistics of the same segments for each run."""
    if len({rows.shape for rows in (*runs, *base)}) != 1:
        raise ValueError("runs of different segments cannot be compared")
    if len(runs) == len(base) == 1:
        return _of_one_run(metric, runs[0], base[0])
    return _of_several(metric, runs, base)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for their number (Holm 1979)."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def _effects(metric: Metric, rows: Rows) -> Rows:
    """The effect of each segment on the score, to first order."""
    effects: Rows = rows @ metric.gradient(rows.sum(axis=0))
    return effects - effects.mean()


def _of_one_run(metric: Metric, rows: Rows, base: Rows) -> Difference:
    size = len(rows)
    effects = _effects(metric, rows) - _effects(metric, base)
    value = metric.score(rows.sum(axis=0)) - metric.score(base.sum(axis=0))
    error = np.sqrt(size / (size - 1) * np.sum(effects**2))
    if error < ROUNDING:
        return Difference(value, value, value, 1.0 if abs(value) < ROUNDING else 0.0)
    columns = np.column_stack((rows, base, effects, effects**2))
    generator, width = np.random.default_rng(SEED), rows.shape[1]
    draws = (np.bincount(generator.integers(size, size=size), minlength=size) for _ in range(RESAMPLES))
    sums = np.array([counts @ columns for counts in draws])
    drawn = metric.scores(sums[:, :width]) - metric.scores(sums[:, width : 2 * width])
    variances = size / (size - 1) * (sums[:, -1] - sums[:, -2] ** 2 / size)
    ratios = np.full(RESAMPLES, np.inf)
    np.divide(np.abs(drawn - value), np.sqrt(np.maximum(variances, 0.0)), out=ratios, where=variances > 0)
    extreme = int(np.sum(ratios >= abs(value) / error - ROUNDING))
    half = error * float(np.quantile(ratios, LEVEL))
    return Difference(value, value - half, value + half, (extreme + 1) / (RESAMPLES + 1))


def _of_several(metric: Metric, runs: Sequence[Rows], base: Sequence[Rows]) -> Difference:
    size, groups = len(runs[0]), (runs, base)
    scores = [[metric.score(rows.sum(axis=0)) for rows in group] for group in groups]
    effects = [np.array([_effects(metric, rows) for rows in group]) for group in groups]
    value = float(np.mean(scores[0]) - np.mean(scores[1]))
    factor = size / (size - 1)
    of_segments = factor * np.sum((effects[0].mean(axis=0) - effects[1].mean(axis=0)) ** 2)
    known = [(float(np.var(own, ddof=1)), len(own)) for own in scores if len(own) > 1]
    both = factor * sum(
        np.sum((own - own.mean(axis=0)) ** 2) / (len(own) * (len(own) - 1)) for own in effects if len(own) > 1
    )
    of_runs, freedom = 0.0, of_segments**2 / (size - 1)
    for own in scores:
        variance, count = (float(np.var(own, ddof=1)), len(own)) if len(own) > 1 else known[0]
        of_runs += variance / len(own)
        freedom += (variance / len(own)) ** 2 / (count - 1)
    total = max(of_segments + of_runs - both, of_segments, of_runs)
    if total < ROUNDING:
        return Difference(value, value, value, 1.0 if abs(value) < ROUNDING else 0.0)
    degrees = total**2 / freedom
    half = float(student.ppf((1 + LEVEL) / 2, degrees) * np.sqrt(total))
    p = float(2 * student.sf(abs(value) / np.sqrt(total), degrees))
    return Difference(value, value - half, value + half, p)
