"""L-BFGS between limits, for many weights: two loops over the last steps (Nocedal 1980), on those not held by a limit.

Beside SciPy's L-BFGS-B this has two merits for tuning. No sum is left to a BLAS library, whose order of addition, and
so the result, depends on the number of its threads; and for some 10,000 weights those threads cost more than the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]

MEMORY = 10
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
