"""Maxima of smooth functions of many numbers between limits: by L-BFGS, or by gradient ascent with adaptive steps.

L-BFGS between limits, for many weights: two loops over the last steps (Nocedal 1980), on those not held by a limit.

Beside SciPy's L-BFGS-B this has two merits for tuning. No sum is left to a BLAS library, whose order of addition, and
so the result, depends on the number of its threads; and for some 10,000 weights those threads cost more than the work.

Minimises smooth losses of linear models with L2: L-BFGS, for many weights, some frozen and some with limits.

Deterministic annealing: from a smooth landscape to the true one (Smith and Eisner 2006; Arun et al. 2010).

At temperature T not J alone is maximised, but J + T · H with the mean entropy H of the segments, in nats. A high
temperature keeps distributions flat and leaves few maxima. As it falls, the maximum found is followed. At the end T is
0, so the result is a maximum of J itself.

Quenching goes on below 0: entropy is punished, distributions become sharp, and expectations come close to counts in the
best translations. Viterbi decoding then gets what was tuned, at the price of a less smooth objective.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from toledo.tuning.rows import Parameters, Vector

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


SUFFICIENT, HALVINGS = 1e-4, 40  # of the descent that the gradient promises; of a step

Steps = deque[tuple[Vector, Vector, float]]  # s, y and s · y


def minimise(
    function: Function, start: Vector, low: Vector, high: Vector, *, steps: int, tolerance: float
) -> tuple[Vector, float]:
    """A local minimum of a smooth function, and its value: ends when a step gains less than `tolerance`, relatively."""
    point = np.clip(start, low, high)
    value, gradient = function(point)
    memory: Steps = deque(maxlen=MEMORY)
    for _ in range(steps):
        held = ((point <= low) & (gradient > 0.0)) | ((point >= high) & (gradient < 0.0))
        slope = np.where(held, 0.0, gradient)
        if not slope.any():
            break
        direction = np.where(held, 0.0, -_newton(slope, memory))
        found = _search(function, point, value, gradient, direction, low, high)
        if found is None:
            if not memory:
                break
            memory.clear()  # what was learnt may mislead: try the gradient itself
            continue
        new, new_value, new_gradient = found
        step, change = new - point, new_gradient - gradient
        if (curvature := dot(step, change)) > 1e-12 * dot(change, change):
            memory.append((step, change, curvature))
        gain, point, value, gradient = value - new_value, new, new_value, new_gradient
        if gain <= tolerance * max(abs(value), 1.0):
            break
    return point, value


def dot(a: Vector, b: Vector) -> float:
    """Adds up in one order always."""
    return float(np.sum(a * b))


def _newton(slope: Vector, memory: Steps) -> Vector:
    """The slope times the inverse of the curvature seen in the last steps."""
    result, factors = slope.copy(), []
    for step, change, curvature in reversed(memory):
        factors.append(dot(step, result) / curvature)
        result -= factors[-1] * change
    if memory:
        _, change, curvature = memory[-1]
        result *= curvature / dot(change, change)
    else:
        result /= max(float(np.abs(slope).sum()), 1.0)
    for (step, change, curvature), factor in zip(memory, reversed(factors), strict=True):
        result += (factor - dot(change, result) / curvature) * step
    return result


def _search(
    function: Function, point: Vector, value: float, gradient: Vector, direction: Vector, low: Vector, high: Vector
) -> tuple[Vector, float, Vector] | None:
    """The first point, of steps halved again and again, that descends enough; None if there is none."""
    size = 1.0
    for _ in range(HALVINGS):
        new = np.clip(point + size * direction, low, high)
        promise = dot(gradient, new - point)
        if promise >= 0.0:
            return None
        new_value, new_gradient = function(new)
        if new_value <= value + SUFFICIENT * promise:
            return new, new_value, new_gradient
        size *= 0.5
    return None


MOST_STEPS = 500
LOSS_TOLERANCE = 1e-8  # relative, of the loss

Loss = Callable[[Vector], tuple[float, Vector]]


def fit(loss: Loss, parameters: Parameters, start: Vector, l2: float, curvature: Vector) -> tuple[Vector, float]:
    """The weights that minimise `loss` + l2 / 2 · Σ w² over the free ones, and that minimum.

    `curvature` estimates the second derivative of the loss by each weight: in units of its root all directions are
    about equally curved, and few steps suffice though features have very different ranges.
    """
    free = np.flatnonzero(parameters.free)
    curved = np.maximum(curvature[free], 0.0) + l2
    units = 1.0 / np.sqrt(np.where(curved > 0.0, curved, 1.0))
    values = parameters.clipped(start)

    def penalised(scaled: Vector) -> tuple[float, Vector]:
        values[free] = scaled * units
        value, gradient = loss(values)
        own = values[free]
        return value + 0.5 * l2 * dot(own, own), (gradient[free] + l2 * own) * units

    if not free.size:
        return values, loss(values)[0]
    low, high = parameters.low[free] / units, parameters.high[free] / units
    found, least = minimise(penalised, values[free] / units, low, high, steps=MOST_STEPS, tolerance=LOSS_TOLERANCE)
    values[free] = found * units
    return parameters.clipped(values), least


@dataclass(frozen=True)
class Annealing:
    """Temperatures from `start` down to `end` by the factor `cooling`, then 0; then those of `quenching`, below 0.

    A temperature is a gain of the objective per nat; at most `steps` are spent at each but 0. An objective between 0
    and 1 changes by 0.01 for a point of BLEU.
    """

    start: float = 0.1
    cooling: float = 0.5
    end: float = 0.001
    quenching: tuple[float, ...] = ()
    steps: int = 15

    def __post_init__(self) -> None:
        if not (self.start >= self.end > 0.0 and 0.0 < self.cooling < 1.0 and self.steps > 0):
            raise ValueError("annealing needs start ≥ end > 0, a cooling between 0 and 1, and steps")
        if any(temperature >= 0.0 for temperature in self.quenching):
            raise ValueError("temperatures of quenching are below 0")

    @property
    def falling(self) -> tuple[float, ...]:
        """The temperatures above 0."""
        falling, temperature = [], self.start
        while temperature >= self.end * (1.0 - 1e-9):
            falling.append(temperature)
            temperature *= self.cooling
        return tuple(falling)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """All temperatures in order."""
        return (*self.falling, 0.0, *self.quenching)

    @property
    def warm_steps(self) -> int:
        """How many steps there are above 0, where each temperature has `steps` of them; then it is cold."""
        return self.steps * len(self.falling)

    def at(self, step: int) -> float:
        """The temperature of one of these steps, counted from 0."""
        return self.falling[step // self.steps]


class Cooling:
    """What trainers with an `annealing` know of it."""

    annealing: Annealing | None

    @property
    def last_step(self) -> int | None:
        """How many steps there are until it is cold; None without annealing, where nothing ends by itself."""
        return self.annealing.warm_steps if self.annealing else None

    def temperature(self, step: int) -> float:
        """The temperature of a step, counted from 0."""
        return self.annealing.at(step) if self.annealing else 0.0
