"""Downhill simplex (Nelder and Mead 1965) on the metric's score of the best hypotheses of lists.

It needs no gradient and no statistics that add up, but only works for few weights. The score is a step function, so the
first simplex is wide, and after each descent a new one is set up around the best point, in random directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from toledo.progress import Progress
from toledo.tuning.rows import Vector
from toledo.tuning.tuner import ListProblem, ListTuner, Tuned

POINTS_PER_WEIGHT = 40  # evaluations in a descent
CLOSE = 1e-3  # in units of the first steps, and of the score


@dataclass(frozen=True)
class Simplex(ListTuner):
    """Searches for dense weights; sparse ones stay as they are, but for a common factor. Takes any metric.

    `step` is the size of the first simplex as a part of the mean weight. Free weights get the L1 norm of those at the
    start if that costs nothing.
    """

    descents: int = 4
    step: float = 1.0

    name = "simplex"

    def __post_init__(self) -> None:
        if self.descents < 1 or not self.step > 0.0:
            raise ValueError("simplex: at least one descent, with a positive step")

    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """The best weights found, never worse on the lists than those at the start."""
        given, random = problem.parameters, np.random.default_rng(seed)
        free = np.flatnonzero(given.free[: given.dense])
        values = given.start
        if not free.size:
            return problem.tuned(values)
        unit = float(np.abs(values[free]).mean()) or 1.0
        with progress(self.name, self.descents) as advance:
            for descent in range(self.descents):
                directions = np.eye(free.size) if descent == 0 else _random_directions(free.size, random)
                values = _descend(problem, values, free, directions * (self.step * unit))
                advance(1)
        return problem.tuned(problem.at_norm_of_start(values))


def _random_directions(size: int, random: np.random.Generator) -> Vector:
    """Orthogonal ones, so that the simplex is not flat."""
    return np.asarray(np.linalg.qr(random.standard_normal((size, size)))[0], np.float64)


def _descend(problem: ListProblem, start: Vector, free: NDArray[np.int64], steps: Vector) -> Vector:
    given = problem.parameters

    def loss(point: Vector) -> float:
        values = start.copy()
        values[free] = point
        return -problem.gain(values)

    low, high = given.low[free], given.high[free]
    outside = (start[free] + steps < low) | (start[free] + steps > high)  # then the other way
    corners = np.clip(np.vstack([start[free], start[free] + np.where(outside, -steps, steps)]), low, high)
    found = minimize(
        loss,
        start[free],
        method="Nelder-Mead",
        bounds=list(zip(low, high, strict=True)),
        options={
            "initial_simplex": corners,
            "adaptive": True,
            "maxfev": POINTS_PER_WEIGHT * free.size,
            "xatol": CLOSE * float(np.abs(steps).max()),
            "fatol": CLOSE,
        },
    )
    values = start.copy()
    values[free] = found.x
    return values if -float(found.fun) >= problem.gain(start) else start
