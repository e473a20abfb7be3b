"""Two systems segment by segment: wins and losses, a histogram of differences, and the largest of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.analysis.ngrams import NGramDifference
from toledo.results import Result

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
EQUAL = 1e-9  # differences that rounding may cause
STEPS = 5  # of the histogram, on each side
FAR = 0.95  # share of the differences that need not be in the outermost bars


@dataclass(frozen=True)
class SegmentDifference(Result):
    """One segment of two systems with its scores; `gain` is above 0 where the system is better."""

    segment: int
    gain: float
    scores: dict[str, float]
    texts: dict[str, str]
    references: tuple[str, ...]
    source: str | None


@dataclass(frozen=True)
class DifferenceBar(Result):
    """How many segments gain between `low` and `high`; None means no limit, and both are 0 for equal scores."""

    low: float | None
    high: float | None
    segments: int


@dataclass(frozen=True)
class PairAnalysis(Result):
    """A system against a baseline: `gains` of segments, wins and losses, n-grams, and segments that differ most."""

    system: str
    baseline: str
    metric_name: str
    gains: Floats
    won: tuple[NGramDifference, ...]
    lost: tuple[NGramDifference, ...]
    best: tuple[SegmentDifference, ...]
    worst: tuple[SegmentDifference, ...]

    @property
    def wins(self) -> int:
        """Number of segments in which the system is better."""
        return int(np.sum(self.gains > EQUAL))

    @property
    def losses(self) -> int:
        """Number of segments in which the baseline is better."""
        return int(np.sum(self.gains < -EQUAL))

    @property
    def ties(self) -> int:
        """Number of segments with equal scores."""
        return self.gains.size - self.wins - self.losses

    @property
    def histogram(self) -> list[DifferenceBar]:
        """The gains of segments in bars of equal width, those with equal scores in a bar of their own."""
        return difference_histogram(self.gains)[0]

    def to_dict(self) -> dict[str, Any]:
        """Return all but the gains of single segments."""
        found = super().to_dict()
        del found["gains"]
        counts = {name: getattr(self, name) for name in ("wins", "ties", "losses")}
        return {**found, **counts, "histogram": [one.to_dict() for one in self.histogram]}


def segment_gains(system: Floats, baseline: Floats, higher_is_better: bool) -> Floats:
    """Return by how much each segment of a system is better than that of the baseline."""
    return np.asarray(system - baseline if higher_is_better else baseline - system, np.float64)


def largest_gains(gains: Floats) -> list[int]:
    """Return the segments that gain anything, those that gain most first."""
    order = np.argsort(-gains, kind="stable")
    found: list[int] = order[gains[order] > EQUAL].tolist()
    return found


def difference_histogram(gains: Floats) -> tuple[list[DifferenceBar], Int64s]:
    """Count gains in bars of a round width; nearly all lie within five bars on each side. Return the bar of each, too.

    Bars touch their limits away from 0, so that swapping the systems mirrors them.
    """
    step = _round_step(float(np.quantile(np.abs(gains), FAR)) / STEPS if gains.size else 1.0)
    edges: list[float | None] = [*(step * place for place in range(STEPS)), None]
    right = list(pairwise(edges))
    left = [(None if high is None else -high, -low if low else 0.0) for low, high in reversed(right)]
    sizes = np.minimum(np.abs(gains) // step, STEPS - 1).astype(np.int64) + 1
    bars = STEPS + np.where(np.abs(gains) <= EQUAL, 0, np.sign(gains).astype(np.int64) * sizes)
    counts = np.bincount(bars, minlength=2 * STEPS + 1).tolist()
    limits = [*left, (0.0, 0.0), *right]
    return [DifferenceBar(low, high, count) for (low, high), count in zip(limits, counts, strict=True)], bars


def _round_step(step: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … times a power of ten that is not smaller."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * one for one in (1, 2, 5, 10) if power * one >= step * (1 - EQUAL))
