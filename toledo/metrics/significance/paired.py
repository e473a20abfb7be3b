"""Tests of two systems with one run each, on the same units: segments or documents.

The effect of unit i on a score S is ψ_i = (n−1)/n · (mean of S without one unit − S without unit i), as in the
jackknife; on a difference of scores it is the difference of effects. The standard error is se² = n/(n−1) Σ ψ_i². All
tests are two-sided; their intervals are symmetric, from the same draws, and leave out 0 if and only if p < 1 − level.

- `bootstrap`: studentized paired bootstrap. Units are drawn with replacement, with counts w; t* = (D* − D)/se* with
  se*² = n/(n−1) (Σ w_i ψ_i² − (Σ w_i ψ_i)²/n), and p is the share of |t*| ≥ |D/se|.
- `randomization` (Riezler and Maxwell 2005): outputs are swapped unit by unit; p is the share of |D*| ≥ |D|. It tests
  whether outputs are exchangeable, which may be false for equal scores.
- `jackknife`: D/se is compared with Student's t with n − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.resampling import bootstrap_sums, exact, swapped_sums

Floats = NDArray[np.float64]
Pair = tuple[int, int]  # places of a system and its baseline
ROUNDING = 1e-9  # differences of chance that are smaller by no more than this share count as equal
DIGITS = 9  # of 1 − level, since 1 − 0.95 is a little more than 0.05
NO_EFFECT = 1e-13  # a smaller share of the score is a rounding error
NO_SPREAD = 1e-6  # a standard error smaller than this share of another one is only rounding error


class Measured(NamedTuple):
    """A system on test units: statistics (a row for each unit), their score, and the effect of each unit on it."""

    rows: Floats
    score: float
    effects: Floats


@dataclass(frozen=True)
class Estimate:
    """A score or a difference: its standard error, half the width of its interval, and p of its being 0 in truth.

    The margin is infinite where the data give no interval. `mean` is that of resampled values.
    """

    value: float
    standard_error: float
    margin: float
    p: float
    mean: float
    degrees: float | None = None  # of freedom, for tests by Student's t
    percentiles: ScoreInterval | None = None  # of sacreBLEU's bootstrap, which are not symmetric

    @property
    def interval(self) -> ScoreInterval | None:
        """The interval; None if the data give none."""
        if self.percentiles is not None:
            return self.percentiles
        if not math.isfinite(self.margin):
            return None
        return ScoreInterval(self.mean, self.value - self.margin, self.value + self.margin)


class Bootstrap(NamedTuple):
    """Estimates of all scores, and of all differences of pairs, from the same draws."""

    scores: list[Estimate]
    differences: list[Estimate]


def measure(metric: Metric, rows: Floats) -> Measured:
    """Score a system and find the effect of each unit by leaving it out."""
    kept, units = exact(rows), len(rows)
    total = kept.sum(axis=0)
    if units < 2:
        return Measured(kept, metric.score(total), np.zeros(units))
    without, score = metric.scores(total - kept), metric.score(total)
    effects = (units - 1) / units * (without.mean() - without)
    effects[np.abs(effects) < NO_EFFECT * abs(score)] = 0.0
    return Measured(kept, score, exact(effects))


def standard_error(effects: Floats) -> float:
    """Return the standard error of a score from the effects of units; 0 if there are fewer than two."""
    units = effects.size
    return math.sqrt(units / (units - 1) * float(np.sum(effects * effects))) if units > 1 else 0.0


def studentized_bootstrap(
    metric: Metric,
    systems: Sequence[Measured],
    pairs: Sequence[Pair],
    *,
    resamples: int,
    seed: int,
    level: float = 0.95,
    threads: int | None = None,
) -> Bootstrap:
    """Estimate the scores of systems and the differences of pairs (system, baseline)."""
    _require_same_units(systems)
    effects = [one.effects for one in systems] + [systems[a].effects - systems[b].effects for a, b in pairs]
    table = np.column_stack(effects)
    columns = np.hstack([*(one.rows for one in systems), exact(table), exact(table * table)])
    sums = bootstrap_sums(columns, resamples, seed, threads)
    width, number = systems[0].rows.shape[1], len(systems)
    drawn = [metric.scores(np.ascontiguousarray(sums[:, k * width : (k + 1) * width])) for k in range(number)]
    values = [one.score for one in systems] + [systems[a].score - systems[b].score for a, b in pairs]
    drawn += [drawn[a] - drawn[b] for a, b in pairs]
    linear, squares = np.split(sums[:, number * width :].T, 2)
    found = [
        _studentized(value, error, scores, _resampled_errors(one, square, len(table)), level)
        for value, error, scores, one, square in zip(
            values, map(standard_error, effects), drawn, linear, squares, strict=True
        )
    ]
    return Bootstrap(found[:number], found[number:])


def randomization_test(
    metric: Metric, system: Measured, baseline: Measured, *, shuffles: int, seed: int, level: float = 0.95
) -> Estimate:
    """Test the difference of two systems by swapping their outputs; with the same seed the draws are sacreBLEU's."""
    _require_same_units([system, baseline])
    first = baseline.rows.sum(axis=0) + swapped_sums(system.rows - baseline.rows, shuffles, seed)
    second = (system.rows + baseline.rows).sum(axis=0) - first
    value, error = system.score - baseline.score, standard_error(system.effects - baseline.effects)
    chance = np.abs(metric.scores(first) - metric.scores(second)) * (1.0 + ROUNDING)
    return Estimate(value, error, _margin(chance, level), _p_value(value, chance), value)


def jackknife_t(value: float, effects: Floats, level: float = 0.95) -> Estimate:
    """Estimate a score or a difference of scores from the effects of units, without random numbers."""
    return t_estimate(value, standard_error(effects), effects.size - 1, level)


def t_estimate(value: float, error: float, degrees: float, level: float) -> Estimate:
    """Compare a value with Student's t."""
    if not error > 0.0 or degrees <= 0:
        return Estimate(value, error, math.inf, 1.0, value, degrees)
    p = t_tail(abs(value) / error, degrees)
    return Estimate(value, error, t_quantile(round(1.0 - level, DIGITS), degrees) * error, p, value, degrees)


def t_tail(t: float, degrees: float) -> float:
    """Return the probability that |T| is at least t; infinite degrees of freedom mean a normal distribution."""
    if math.isinf(degrees):
        return math.erfc(t / math.sqrt(2.0))
    from scipy.special import stdtr  # SciPy takes long to load, and the bootstrap does without it

    return float(2.0 * stdtr(degrees, -t))


def t_quantile(p: float, degrees: float) -> float:
    """Return the largest t whose tail is at least p, so that a larger one is significant and no other is."""
    low, high = 0.0, 1.0
    while t_tail(high, degrees) >= p:
        low, high = high, 2.0 * high
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if t_tail(middle, degrees) >= p else (low, middle)
    return low


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979): the k-th smallest of m times m − k + 1, never falling."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def _resampled_errors(sums: Floats, squares: Floats, units: int) -> Floats:
    spread = squares - sums * sums / units
    return np.sqrt(np.maximum(spread, 0.0) * (units / max(units - 1, 1)))


def _studentized(value: float, error: float, values: Floats, errors: Floats, level: float) -> Estimate:
    """Compare with t* of resamples; one without spread counts as extreme."""
    usable = errors > NO_SPREAD * error
    chance = np.full(values.size, np.inf)
    chance[usable] = np.abs(values[usable] - value) / errors[usable] * error * (1.0 + ROUNDING)
    p = _p_value(value, chance) if value else 1.0
    return Estimate(value, error, _margin(chance, level), p, float(values.mean()))


def _p_value(value: float, chance: Floats) -> float:
    """Return the share of absolute values of chance that are at least as large, with 1 added to both counts."""
    return float((np.count_nonzero(chance >= abs(value)) + 1) / (chance.size + 1))


def _margin(chance: Floats, level: float) -> float:
    """Return the largest value for which p is not below 1 − level; infinite if no value has such a p."""
    beyond = math.ceil(round((1.0 - level) * (chance.size + 1), DIGITS)) - 2  # as many of chance may be larger
    if beyond < 0:
        return math.inf
    place = chance.size - 1 - beyond
    return float(np.partition(chance, place)[place])


def _require_same_units(systems: Sequence[Measured]) -> None:
    shapes = {one.rows.shape for one in systems}
    if len(shapes) > 1:
        raise ValueError(f"statistics of different shapes cannot be compared: {' and '.join(map(str, sorted(shapes)))}")
