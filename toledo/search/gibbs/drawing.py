"""Drawing one of several possibilities by their scores."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined, inner_kernel
from toledo.randomness import RandomState, next_uniform

NEGLIGIBLE = -40.0  # e^−40 of the largest is lost in the rounding of the sum


@inlined
def to_probabilities(weights: NDArray[np.float64], count: int, sharpness: float) -> None:
    """Turn the first scores into probabilities ∝ exp(sharpness · score)."""
    highest, total = -math.inf, 0.0
    for k in range(count):
        highest = max(highest, weights[k])
    for k in range(count):
        relative = sharpness * (weights[k] - highest)
        weights[k] = math.exp(relative) if relative > NEGLIGIBLE else 0.0
        total += weights[k]
    share = 1.0 / total
    for k in range(count):
        weights[k] *= share


@inner_kernel
def draw(weights: NDArray[np.float64], count: int, random: RandomState) -> int:
    """One of the first possibilities by its probability."""
    uniform, chosen = next_uniform(random), 0
    for k in range(count):
        if weights[k] > 0.0:
            chosen = k  # the last possible one takes what rounding leaves over
            uniform -= weights[k]
            if uniform < 0.0:
                break
    return chosen
