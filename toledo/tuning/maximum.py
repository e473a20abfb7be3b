"""Maxima of smooth functions of many numbers between limits: by L-BFGS, or by gradient ascent with adaptive steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]  # the value and the gradient at a point
Optimiser = Literal["lbfgs", "ascent"]

MEMORY = 10
TOLERANCE = 1e-9  # relative to the value
FIRST_STEP, GROW, SHRINK, SMALLEST_STEP = 0.05, 1.5, 0.5, 1e-9


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the search ended, the value there, how often the function was evaluated, and the value after each step."""

    point: Vector
    value: float
    evaluations: int
    path: tuple[float, ...] = ()

    def then(self, further: Maximum) -> Maximum:
        """Where a search from this point ended, and what both took."""
        return replace(further, evaluations=self.evaluations + further.evaluations, path=self.path + further.path)


@dataclass(frozen=True, eq=False)
class Limits:
    """Between which numbers each coordinate must stay; ±inf for no limit."""

    low: Vector
    high: Vector

    def clip(self, point: Vector) -> Vector:
        """The nearest point within the limits."""
        return np.clip(point, self.low, self.high)


def maximise(function: Function, start: Vector, limits: Limits, optimiser: Optimiser, steps: int) -> Maximum:
    """A local maximum, never below the value at the start."""
    if not start.size:
        return Maximum(start, function(start)[0], 1)
    return (_lbfgs if optimiser == "lbfgs" else ascend)(function, limits.clip(start), limits, steps)


def _lbfgs(function: Function, start: Vector, limits: Limits, steps: int) -> Maximum:
    """L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995). The best point met is kept: kinks may end a line search early."""
    best, path = Maximum(start, -np.inf, 0), []

    def loss(point: Vector) -> tuple[float, Vector]:
        nonlocal best
        value, gradient = function(point)
        better = value > best.value
        best = Maximum(point.copy() if better else best.point, max(value, best.value), best.evaluations + 1)
        return -value, -gradient

    minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([limits.low, limits.high]),
        callback=lambda _: path.append(best.value),
        options={"maxiter": steps, "maxfun": 3 * steps, "maxcor": MEMORY, "ftol": TOLERANCE, "gtol": 0.0},
    )
    return replace(best, path=tuple(path))


def ascend(function: Function, start: Vector, limits: Limits, steps: int) -> Maximum:
    """Gradient ascent whose value never falls (Pauls, DeNero and Klein 2009).

    After a success the step grows by a factor; otherwise it shrinks and is tried again. Coordinates have very different
    ranges, so each is divided by the root of the sum of its squared derivatives so far (AdaGrad; Duchi et al. 2011).
    """
    point, (value, gradient) = start, function(start)
    evaluations, step, squares, path = 1, FIRST_STEP, np.zeros(start.size), []
    for _ in range(steps):
        squares += gradient**2
        direction = gradient / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        improved = False
        while not improved and step > SMALLEST_STEP:
            tried = limits.clip(point + step * direction)
            tried_value, tried_gradient = function(tried)
            evaluations += 1
            improved = tried_value > value
            step *= GROW if improved else SHRINK
        if not improved:
            break
        gain, point, value, gradient = tried_value - value, tried, tried_value, tried_gradient
        path.append(value)
        if gain <= TOLERANCE * max(abs(value), 1.0):
            break
    return Maximum(point, value, evaluations, tuple(path))
