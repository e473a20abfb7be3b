"""Climbing along lines to weights from which no line leads higher (Och 2003), from one start or many.

In each round all lines through a point are searched: along each weight, and in random directions. The best few are
then followed, each from where the one before led.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.progress import Progress, silent
from toledo.tuning.line_search import Point, Steps, best_point
from toledo.tuning.rows import Vector

LEAST_GAIN = 1e-3  # in points of the metric; what a round must give for another one to follow
ROUNDS = 100


class Lines(Protocol):
    """Search spaces with references, as seen from their free weights."""

    @property
    def metric(self) -> Metric:
        """What is to be improved."""
        ...

    def from_point(self, values: Vector) -> Callable[[Vector], Steps]:
        """For directions from a point: the sums of statistics along these lines."""
        ...


@dataclass(frozen=True, eq=False)
class Region:
    """Where weights may be: between `low` and `high`; `units` are steps that change scores about equally much."""

    low: Vector
    high: Vector
    units: Vector

    def directions(self, random_ones: int, random: np.random.Generator) -> NDArray[np.float64]:
        """One along each weight, then random ones."""
        size = self.units.size
        return np.vstack([np.eye(size), random.standard_normal((random_ones, size)) * self.units])

    def ends(self, values: Vector, direction: Vector) -> tuple[float, float]:
        """Between which γ all weights are within their limits (and always 0)."""
        moving = direction != 0.0
        to_low = (self.low[moving] - values[moving]) / direction[moving]
        to_high = (self.high[moving] - values[moving]) / direction[moving]
        first, last = np.minimum(to_low, to_high), np.maximum(to_low, to_high)
        return min(0.0, float(first.max(initial=-math.inf))), max(0.0, float(last.min(initial=math.inf)))

    def random_point(self, start: Vector, random: np.random.Generator) -> Vector:
        """Weights of the signs of `start` (any sign for 0) but other sizes; any between limits where there are two."""
        usual = np.abs(start).mean() or self.units
        sizes = np.where(start == 0.0, usual * random.choice([-0.5, 0.5], start.size), start)
        values: Vector = np.clip(sizes * np.exp(random.standard_normal(start.size)), self.low, self.high)
        limited = np.isfinite(self.low) & np.isfinite(self.high)
        values[limited] = random.uniform(self.low[limited], self.high[limited])
        return values


class Summit(NamedTuple):
    """Weights that no line improves, how good they are, and how many lines were searched."""

    values: Vector
    gain: float
    lines: int


def climb(
    lines: Lines,
    region: Region,
    start: Vector,
    random_ones: int,
    follow: int,
    random: np.random.Generator,
    progress: Progress = silent,
    label: str = "",
) -> Summit:
    """Better weights until no line has any. Nobody knows beforehand how many rounds that takes: each is a task."""
    values, gain, searched = start, -math.inf, 0
    for number in range(1, ROUNDS + 1):
        before = gain
        directions = region.directions(random_ones, random)
        along = lines.from_point(values)
        found = []
        with progress(f"{label}, climb {number}", len(directions)) as advance:
            for direction in directions:
                found.append(_search(lines.metric, along, region, values, direction))
                advance(1)
        order = np.argsort([-point.gain for point in found], kind="stable")[:follow]
        searched += len(found)
        for rank, place in enumerate(order):
            point = found[place]
            if rank:
                if point.gain <= before:
                    break
                point = _search(lines.metric, lines.from_point(values), region, values, directions[place])
                searched += 1
            if point.gain > gain:
                values = np.clip(values + point.gamma * directions[place], region.low, region.high)
                gain = point.gain
        if gain <= before + LEAST_GAIN:
            break
    return Summit(values, gain, searched)


def _search(
    metric: Metric, along: Callable[[Vector], Steps], region: Region, values: Vector, direction: Vector
) -> Point:
    reach = float(np.abs(values).sum() or np.abs(region.units).sum()) / float(np.abs(direction).sum())
    return best_point(along(direction), metric, reach, *region.ends(values, direction))
