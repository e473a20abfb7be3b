"""Downhill simplex (Nelder and Mead 1965) on the metric's score of the best hypotheses of lists.

It needs no gradient and no statistics that add up, but only works for few weights. The score is a step function, so the
first simplex is wide, and after each descent a new one is set up around the best point, in random directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from toledo.forest.linear import Vector
from toledo.progress import Progress
from toledo.settings import Meta, Settings
from toledo.tuning.maximize import Bounds, nelder_mead
from toledo.tuning.tuner import ListTuner, Tuned, TuningProblem

POINTS_PER_WEIGHT = 40  # evaluations in a descent
CLOSE = 1e-3  # in units of the first steps, and of the metric


@dataclass(frozen=True)
class Simplex(Settings, ListTuner):
    """Search for dense weights with any metric; sparse ones keep their values, up to a common factor.

    Free weights get the L1 norm of those at the start if that costs nothing.
    """

    descents: Annotated[int, Meta(ge=1, description="Number of descents, each with a new simplex.")] = 4
    step: Annotated[float, Meta(gt=0, description="Size of the first simplex relative to the mean weight.")] = 1.0

    name = "simplex"

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the best weights found, never worse on the lists than those at the start."""
        space, random = problem.space, np.random.default_rng(seed)
        free = np.flatnonzero(space.free[: space.dense])
        values = space.start.copy()
        if not free.size:
            return problem.tuned(values)
        unit = float(np.abs(values[free]).mean()) or 1.0

        def gain(point: Vector) -> float:
            trial = space.start.copy()
            trial[free] = point
            return problem.gain(trial)

        with progress(self.name, self.descents) as advance:

            def simplexes() -> Iterator[Vector]:
                for descent in range(self.descents):
                    directions = np.eye(free.size) if descent == 0 else _random_directions(free.size, random)
                    yield directions * (self.step * unit)
                    advance(1)

            values[free] = nelder_mead(
                gain,
                values[free],
                simplexes(),
                Bounds(space.low[free], space.high[free]),
                evaluations=POINTS_PER_WEIGHT * free.size,
                step_tolerance=CLOSE,
                tolerance=CLOSE * problem.unit,
            ).point
        return problem.tuned(problem.at_norm_of_start(values))


def _random_directions(size: int, random: np.random.Generator) -> Vector:
    """Return orthogonal directions, so that the simplex is not flat."""
    return np.asarray(np.linalg.qr(random.standard_normal((size, size)))[0], np.float64)
