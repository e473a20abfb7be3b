"""Test of two systems with several runs each: would other segments *and* other runs show the same sign?

D is the difference of the mean scores of runs. Its variance has two sources, which share the interaction of runs and
units: V = V_units + V_runs − V_both, at least as large as either of the first two.

- V_units = n/(n−1) Σ_i ψ_i², where ψ_i is the effect of unit i on D (see `toledo.metrics.significance.paired`);
- V_runs = s²/R summed over both systems, s² being the variance of the scores of R runs;
- V_both = n/(n−1) Σ_{r,i} (ψ_ri − ψ̄_i)² / (R (R−1)) summed over both systems, ψ_ri being effects on the score of run r.

D/√V is compared with Student's t; its degrees of freedom follow Satterthwaite (1946):
V² / (V_units²/(n−1) + Σ (s²/R)²/(R−1)). Runs are not paired: run 1 of one system has nothing to do with run 1 of
another. A system with a single run is taken to vary as much as the other one.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toledo.metrics.significance.paired import Estimate, Measured, standard_error, t_estimate, t_quantile

POWER = 0.8  # the share of cases in which a true difference shall be found
MOST_UNITS, MOST_RUNS = 1_000_000, 1000  # more is as good as never


class Variances(NamedTuple):
    """Where the variance of a difference comes from: units, runs, and what both of these contain."""

    units: float
    runs: float
    both: float

    @property
    def total(self) -> float:
        """The variance of the difference."""
        return max(self.units + self.runs - self.both, self.units, self.runs)


class RunSpread(NamedTuple):
    """Variance of the scores of a system's runs, how much of it is interaction with units, and the number of runs."""

    variance: float
    interaction: float
    runs: int


def run_spread(runs: Sequence[Measured]) -> RunSpread:
    """Return how much runs of one system differ; there must be two or more."""
    effects, units = np.array([run.effects for run in runs]), runs[0].effects.size
    around = float(np.sum((effects - effects.mean(axis=0)) ** 2)) / (len(runs) - 1)
    return RunSpread(float(np.var([run.score for run in runs], ddof=1)), around * units / max(units - 1, 1), len(runs))


def difference_of_runs(
    system: Sequence[Measured], baseline: Sequence[Measured], level: float = 0.95
) -> tuple[Estimate, Variances]:
    """Test the difference of mean scores; at least one of the systems must have two or more runs."""
    value, effects = 0.0, np.zeros(system[0].effects.size)
    for sign, runs in ((1.0, system), (-1.0, baseline)):
        value += sign * float(np.mean([run.score for run in runs]))
        effects += sign * np.mean([run.effects for run in runs], axis=0)
    spreads = [run_spread(runs) for runs in (system, baseline) if len(runs) > 1]
    alone = 2 - len(spreads)  # systems with one run, whose variance is that of a run of the other
    shares = [(spread, 1.0 / spread.runs + alone) for spread in spreads]
    found = Variances(
        standard_error(effects) ** 2,
        sum(spread.variance * share for spread, share in shares),
        sum(spread.interaction * share for spread, share in shares),
    )
    uncertain = found.units**2 / max(effects.size - 1, 1)
    uncertain += sum((spread.variance * share) ** 2 / (spread.runs - 1) for spread, share in shares)
    degrees = found.total**2 / uncertain if uncertain else 0.0
    return t_estimate(value, math.sqrt(found.total), degrees, level), found


def detectable(error: float, degrees: float, level: float = 0.95) -> float:
    """Return the true difference that a test with this standard error finds in four of five cases."""
    return error * (t_quantile(1.0 - level, degrees) + t_quantile(2.0 * (1.0 - POWER), degrees))


def units_needed(difference: float, variances: Variances, units: int, level: float = 0.95) -> int | None:
    """Return how many units a difference of this size needs to be found in four of five cases; None if too many.

    What varies by run alone does not fall with more units.
    """
    wanted = (difference / detectable(1.0, math.inf, level)) ** 2
    fixed = max(variances.runs - variances.both, 0.0)
    return _rounded_up(units * (variances.total - fixed) / (wanted - fixed)) if wanted > fixed else None


def runs_needed(difference: float, variances: Variances, runs: float, level: float = 0.95) -> int | None:
    """Return how many runs of each system such a difference needs on these units; None if no number is enough."""
    fixed = max(variances.units - variances.both, 0.0)

    def is_enough(number: int) -> bool:
        varying = variances.runs * runs / number
        degrees = 2.0 * (number - 1) * ((fixed + varying) / varying) ** 2 if varying else math.inf
        return detectable(math.sqrt(fixed + varying), degrees, level) <= abs(difference)

    if not is_enough(MOST_RUNS):
        return None
    place: int = bisect.bisect_left(range(2, MOST_RUNS), True, key=is_enough)
    return place + 2


def _rounded_up(number: float) -> int | None:
    """Return a number with two digits: it is an estimate."""
    if number > MOST_UNITS:
        return None
    unit: int = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / unit) * unit
