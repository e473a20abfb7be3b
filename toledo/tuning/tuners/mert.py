"""Minimum error rate training (Och 2003), on n-best lists or on lattices and forests.

The score of the best hypotheses is a step function of the weights, but along a line it is known exactly (`mert_lines`).
MERT climbs along lines, from the given weights and from random ones, and keeps the best.

Climbing along lines to weights from which no line leads higher (Och 2003), from one start or many.

In each round all lines through a point are searched: along each weight, and in random directions. The best few are
then followed, each from where the one before led.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.forest.forest import edges_of_sentences
from toledo.forest.linear import Vector, spread
from toledo.metrics.metric import Metric
from toledo.objectives.lists import sign
from toledo.progress import Progress, silent
from toledo.settings import Meta, Settings
from toledo.tuning.tuner import SearchSpace, Tuned, Tuner, TuningProblem
from toledo.tuning.tuners.mert_lines import LinePoint, LineProblem, LineSteps, best_point, forest_lines, list_lines

LEAST_GAIN = 1e-3  # in units of the metric, such as points of BLEU; what a round must give for another one to follow
ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Region:
    """Where weights may be: between `low` and `high`; `units` are steps that change scores about equally much."""

    low: Vector
    high: Vector
    units: Vector

    def directions(self, random_ones: int, random: np.random.Generator) -> NDArray[np.float64]:
        """Return a direction along each weight, then random ones."""
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
    lines: LineProblem,
    region: Region,
    start: Vector,
    random_ones: int,
    follow: int,
    random: np.random.Generator,
    progress: Progress = silent,
    label: str = "",
) -> Summit:
    """Follow lines to better weights until none leads higher; each round is a task of the progress."""
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
        if gain <= before + LEAST_GAIN * lines.unit:
            break
    return Summit(values, gain, searched)


def _search(
    metric: Metric, along: Callable[[Vector], LineSteps], region: Region, values: Vector, direction: Vector
) -> LinePoint:
    reach = float(np.abs(values).sum() or np.abs(region.units).sum()) / float(np.abs(direction).sum())
    return best_point(along(direction), metric, reach, *region.ends(values, direction))


MORE = 4


@dataclass(frozen=True)
class MERT(Settings, Tuner):
    """Search for dense weights with any metric whose statistics add up; sparse weights stay as they are.

    It climbs from the weights at the start and from random ones; with restarts, it climbs on from the best point with
    four times as many random directions. Free weights get the L1 norm of those at the start if that costs nothing.
    """

    restarts: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Number of random starts (20 on lists, 2 on forests).")
    ] = None
    random_directions: Annotated[int, Meta(ge=0, description="Number of random directions to search, too.")] = 8
    follow: Annotated[int, Meta(ge=1, description="Number of best lines to follow in a round of climbing.")] = 4
    on: Annotated[SearchSpace, Meta(description="Tune on n-best lists, or on lattices and forests.")] = "lists"

    name = "mert"

    @property
    def wants(self) -> SearchSpace:
        """What it works on."""
        return self.on

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the best weights found, never worse on the examples than those at the start."""
        given = problem.space.without_sparse()
        problem = replace(problem, space=given)
        free, values = np.flatnonzero(given.free), given.start.copy()
        lines = (list_lines if self.on == "lists" else forest_lines)(problem, free)
        if not free.size:
            return lines.tuned(values)
        region = Region(given.low[free], given.high[free], _units(problem)[free])
        summits = self._climb(lines, region, given.start[free], seed, progress)
        best = max(summits, key=lambda summit: summit.gain)
        starts, searched = np.array([summit.gain for summit in summits]), sum(summit.lines for summit in summits)
        if starts.size > 1:
            many, random = MORE * self.random_directions, np.random.default_rng([seed, starts.size])
            inner = progress if self.on == "forests" else silent
            last = climb(lines, region, best.values, many, self.follow, random, inner, f"{self.name} from the best")
            best, searched = max(best, last, key=lambda summit: summit.gain), searched + last.lines
        values[free] = best.values
        details = {
            "from start": sign(lines.metric) * float(starts[0]),
            "mean of starts": sign(lines.metric) * float(starts.mean()),
            "lines": float(searched),
        }
        return lines.tuned(lines.at_norm_of_start(values), details=details)

    def _climb(self, lines: LineProblem, region: Region, start: Vector, seed: int, progress: Progress) -> list[Summit]:
        """Climb from each start, each with its random numbers, so that it does not matter which thread takes it.

        Lines of forests have threads over segments, and take so long that each is a step of the progress.
        """
        restarts = self.restarts if self.restarts is not None else 20 if self.on == "lists" else 2
        seeds = np.random.SeedSequence(seed).spawn(restarts + 1)

        def work(number: int, end: int) -> Summit:
            random = np.random.default_rng(seeds[number])
            point = region.random_point(start, random) if number else start
            label = f"{self.name} from start {number + 1} of {restarts + 1}"
            return climb(lines, region, point, self.random_directions, self.follow, random, inner, label)

        threads, outer, inner = (lines.threads, progress, silent) if self.on == "lists" else (1, silent, progress)
        return map_chunks(work, restarts + 1, chunk=1, threads=threads, progress=outer, label=self.name)


def _units(problem: TuningProblem) -> Vector:
    """Return changes of weights that move scores about equally: one over the deviation of features in segments."""
    forest = problem.examples.forest
    squares = spread(problem.rows, edges_of_sentences(forest.shape), problem.space.start.size)
    deviations = np.sqrt(squares / max(forest.edges, 1))
    return np.where(deviations > 0.0, 1.0 / np.where(deviations > 0.0, deviations, 1.0), 1.0)
