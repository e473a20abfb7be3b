"""Maxima of functions of many numbers within bounds.

- L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995), SciPy's, and gradient ascent, for objectives.
- L-BFGS for losses of linear models with L2: two loops over the last steps (Nocedal 1980), on those weights
  that no bound holds. No sum is left to a BLAS library, whose order of addition, and so the result, depends on the
  number of its threads; and for some 10,000 weights those threads cost more than the work.
- Stochastic gradient ascent: a step for each batch of segments, not one for all of them.
- The downhill simplex (Nelder and Mead 1965), for step functions of few weights.
- Deterministic annealing: from a smooth landscape to the true one (Smith and Eisner 2006; Arun et al. 2010).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from toledo.compiled.blas import one_blas_thread
from toledo.forest.linear import Vector

if TYPE_CHECKING:
    from toledo.tuning.weight_space import WeightSpace

Function = Callable[[Vector], tuple[float, Vector]]  # the value and the gradient at a point
Optimizer = Literal["lbfgs", "ascent", "adagrad"]

MEMORY = 10
TOLERANCE = 1e-9  # relative to the value
FIRST_STEP, GROW, SHRINK, SMALLEST_STEP = 0.05, 1.5, 0.5, 1e-9


@dataclass(frozen=True, eq=False)
class Maximum:
    """The point where a search ended, its value, the number of evaluations, and the value after each step."""

    point: Vector
    value: float
    evaluations: int
    path: tuple[float, ...] = ()

    def then(self, further: Maximum) -> Maximum:
        """Return the maximum that a search from this point found, with the evaluations and the path of both."""
        return replace(further, evaluations=self.evaluations + further.evaluations, path=self.path + further.path)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower and upper bounds of each coordinate; ±inf where there is none."""

    low: Vector
    high: Vector

    def clip(self, point: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        return np.clip(point, self.low, self.high)


def maximize(function: Function, start: Vector, bounds: Bounds, optimizer: Optimizer, steps: int) -> Maximum:
    """Return a local maximum, never below the value at the start."""
    if not start.size:
        return Maximum(start, function(start)[0], 1)
    if optimizer == "lbfgs":
        return _scipy_lbfgs(function, bounds.clip(start), bounds, steps)
    return ascend(function, bounds.clip(start), bounds, steps, adaptive=optimizer == "adagrad")


def _scipy_lbfgs(function: Function, start: Vector, bounds: Bounds, steps: int) -> Maximum:
    """Run L-BFGS-B and keep the best point met: kinks may end a line search early."""
    best, path = Maximum(start, -np.inf, 0), []

    def loss(point: Vector) -> tuple[float, Vector]:
        nonlocal best
        value, gradient = function(point)
        better = value > best.value
        best = Maximum(point.copy() if better else best.point, max(value, best.value), best.evaluations + 1)
        return -value, -gradient

    def after_step(_: Vector) -> None:
        path.append(best.value)

    with one_blas_thread():
        scipy.optimize.minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([bounds.low, bounds.high]),
            callback=after_step,
            options={"maxiter": steps, "maxfun": 3 * steps, "maxcor": MEMORY, "ftol": TOLERANCE, "gtol": 0.0},
        )
    return replace(best, path=tuple(path))


def ascend(function: Function, start: Vector, bounds: Bounds, steps: int, *, adaptive: bool = False) -> Maximum:
    """Climb a gradient; the value never falls (Pauls, DeNero and Klein 2009).

    After a success the step grows by a factor; otherwise it shrinks and is tried again. Coordinates have very different
    ranges; an `adaptive` ascent divides each by the root of the sum of its squared derivatives so far (AdaGrad; Duchi
    et al. 2011).
    """
    point, (value, gradient) = start, function(start)
    evaluations, squares, path = 1, np.zeros(start.size), []
    step = FIRST_STEP if adaptive else FIRST_STEP / max(float(np.linalg.norm(gradient)), SMALLEST_STEP)
    least = SMALLEST_STEP * step / FIRST_STEP
    for _ in range(steps):
        squares += gradient**2
        direction = gradient / np.sqrt(np.where(squares > 0.0, squares, 1.0)) if adaptive else gradient
        improved = False
        while not improved and step > least:
            tried = bounds.clip(point + step * direction)
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


BATCH_STEP = 0.1  # the first one, of every coordinate


def draw_batches(segments: int, size: int, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Divide all segments into random batches of nearly equal sizes, at most `size`."""
    order = random.permutation(segments)
    return [np.sort(part) for part in np.array_split(order, -(-segments // size))]


def ascend_batches(
    batches: Sequence[Function], start: Vector, bounds: Bounds, epochs: int, random: np.random.Generator
) -> Maximum:
    """Make a small step for each batch; return the mean point of the second half of all steps.

    An epoch visits all batches in a random order. Steps become smaller as in `ascend`; in the mean (Polyak and Juditsky
    1992) the noise of single batches cancels. `path` has the mean value of the batches in each epoch.
    """
    point, squares, path = bounds.clip(start), np.zeros(start.size), []
    mean, averaged, total = np.zeros(start.size), 0, epochs * len(batches)
    for epoch in range(epochs):
        values = []
        for step, number in enumerate(random.permutation(len(batches)), epoch * len(batches)):
            value, gradient = batches[number](point)
            squares += gradient**2
            point = bounds.clip(point + BATCH_STEP * gradient / np.sqrt(np.where(squares > 0.0, squares, 1.0)))
            if value > -np.inf:  # what has no words, such as empty lines alone, says nothing
                values.append(value)
            if 2 * step >= total - 2:
                averaged += 1
                mean += (point - mean) / averaged
        path.append(float(np.mean(values)) if values else -np.inf)
    return Maximum(mean, path[-1], total, tuple(path))


def nelder_mead(
    function: Callable[[Vector], float],
    start: Vector,
    simplexes: Iterable[Vector],
    bounds: Bounds,
    *,
    evaluations: int,
    step_tolerance: float,
    tolerance: float,
) -> Maximum:
    """Maximize by the downhill simplex; each of `simplexes` restarts it around the best point so far.

    The rows of a simplex are steps from that point to its other corners. A descent ends after `evaluations`, or when
    corners differ by less than `step_tolerance` of the largest step and values by less than `tolerance`.
    """
    best = Maximum(start, -np.inf, 0)
    for steps in simplexes:
        corners = best.point + steps
        outside = (corners < bounds.low) | (corners > bounds.high)  # then the other way
        corners = np.vstack([best.point, best.point + np.where(outside, -steps, steps)])
        result = scipy.optimize.minimize(
            lambda point: -function(point),
            best.point,
            method="Nelder-Mead",
            bounds=list(zip(bounds.low, bounds.high, strict=True)),
            options={
                "initial_simplex": bounds.clip(corners),
                "adaptive": True,
                "maxfev": evaluations,
                "xatol": step_tolerance * float(np.abs(steps).max()),
                "fatol": tolerance,
            },
        )
        best = best.then(Maximum(result.x, -float(result.fun), int(result.nfev)))
    return best


SUFFICIENT, HALVINGS = 1e-4, 40  # of the descent that the gradient promises; of a step

Steps = deque[tuple[Vector, Vector, float]]  # s, y and s · y


def lbfgs(
    function: Function, start: Vector, low: Vector, high: Vector, *, steps: int, tolerance: float
) -> tuple[Vector, float]:
    """Return a local minimum of a smooth function and its value; stop when a step gains less than `tolerance`."""
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
            memory.clear()  # what was learned may mislead: try the gradient itself
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
    """Return the inner product, always added up in the same order."""
    return float(np.sum(a * b))


def _newton(slope: Vector, memory: Steps) -> Vector:
    """Return the slope times the inverse of the curvature seen in the last steps."""
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
    """Halve the step until the point descends enough; return None if none does."""
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


def fit(loss: Function, space: WeightSpace, start: Vector, l2: float, curvature: Vector) -> tuple[Vector, float]:
    """Return the weights that minimize `loss` + l2 / 2 · Σ w² over the free ones, and the minimum.

    `curvature` estimates the second derivative of the loss by each weight: in units of its root all directions are
    about equally curved, and few steps suffice though features have very different ranges.
    """
    free = np.flatnonzero(space.free)
    curved = np.maximum(curvature[free], 0.0) + l2
    units = 1.0 / np.sqrt(np.where(curved > 0.0, curved, 1.0))
    values = space.clipped(start)

    def penalized(scaled: Vector) -> tuple[float, Vector]:
        values[free] = scaled * units
        value, gradient = loss(values)
        own = values[free]
        return value + 0.5 * l2 * dot(own, own), (gradient[free] + l2 * own) * units

    if not free.size:
        return values, loss(values)[0]
    low, high = space.low[free] / units, space.high[free] / units
    found, least = lbfgs(penalized, values[free] / units, low, high, steps=MOST_STEPS, tolerance=LOSS_TOLERANCE)
    values[free] = found * units
    return space.clipped(values), least


@dataclass(frozen=True)
class DeterministicAnnealing:
    """Temperatures from `start` down to `end` by the factor `cooling`, then 0; then those of `quenching`, below 0.

    At temperature T the maximum of J + T · H is sought, with the mean entropy H of the segments in nats. A high
    temperature keeps distributions flat and leaves few maxima; as it falls, the maximum is followed. At the end T is 0,
    so the result is a maximum of J itself. Quenching goes on below 0: entropy is punished and distributions become
    sharp, so that Viterbi decoding gets what was tuned, at the price of a less smooth objective.

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
        """The number of steps above 0, where each temperature has `steps` of them."""
        return self.steps * len(self.falling)

    def at(self, step: int) -> float:
        """Return the temperature of one of these steps, counted from 0."""
        return self.falling[step // self.steps]
