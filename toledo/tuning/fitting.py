"""Minimises smooth losses of linear models with L2: L-BFGS, for many weights, some frozen and some with limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from toledo.tuning.lbfgs import dot, minimise
from toledo.tuning.rows import Parameters, Vector

MOST_STEPS = 500
TOLERANCE = 1e-8  # relative, of the loss

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
    found, least = minimise(penalised, values[free] / units, low, high, steps=MOST_STEPS, tolerance=TOLERANCE)
    values[free] = found * units
    return parameters.clipped(values), least
