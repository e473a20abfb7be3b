"""Stochastic gradient ascent: a step for each batch of segments, not one for all of them.

An epoch visits all batches in a random order. Each coordinate is divided by the root of the sum of its squared
derivatives so far (AdaGrad; Duchi et al. 2011), so that steps become smaller by themselves. The result is the mean of
the points of the second half (Polyak and Juditsky 1992), where the noise of single batches cancels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.tuning.maximum import Function, Limits, Maximum, Vector

STEP = 0.1  # the first one, of every coordinate


def draw_batches(segments: int, size: int, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """All segments in batches of nearly equal sizes, at most `size`."""
    order = random.permutation(segments)
    return [np.sort(part) for part in np.array_split(order, -(-segments // size))]


def ascend_batches(
    batches: Sequence[Function], start: Vector, limits: Limits, epochs: int, random: np.random.Generator
) -> Maximum:
    """Where the steps lead on average; `path` has the mean value of the batches in each epoch."""
    point, squares, path = limits.clip(start), np.zeros(start.size), []
    mean, averaged, total = np.zeros(start.size), 0, epochs * len(batches)
    for epoch in range(epochs):
        values = []
        for step, number in enumerate(random.permutation(len(batches)), epoch * len(batches)):
            value, gradient = batches[number](point)
            squares += gradient**2
            point = limits.clip(point + STEP * gradient / np.sqrt(np.where(squares > 0.0, squares, 1.0)))
            if value > -np.inf:  # what has no words, such as empty lines alone, says nothing
                values.append(value)
            if 2 * step >= total - 2:
                averaged += 1
                mean += (point - mean) / averaged
        path.append(float(np.mean(values)) if values else -np.inf)
    return Maximum(mean, path[-1], total, tuple(path))
