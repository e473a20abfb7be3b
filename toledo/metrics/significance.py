"""Is a difference of scores more than chance? Paired bootstrap resampling and approximate randomization.

Bootstrap (Koehn 2004, with the null distribution of sacreBLEU and Moses): draw test sets with replacement; p is the
share of samples whose difference exceeds its own mean by more than the observed difference. Randomization (Riezler and
Maxwell 2005): swap the two systems' outputs segment by segment at random; p is the share of shuffles whose difference
exceeds the observed one. With the same seed the draws are those of sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval

Floats = NDArray[np.float64]
SEED = 12345  # of sacreBLEU
ROUNDING = 1e-9
DRAWS_AT_ONCE = 1 << 22  # 32 MB
COIN_TOSSES = 32  # which the generator makes at once, and drops the rest of them after each call


@dataclass(frozen=True)
class PairedTest:
    """The score of a system, the score of the baseline, and the probability of such a difference by chance."""

    score: float
    baseline: float
    p_value: float


def confidence_interval(
    metric: Metric, statistics: Floats, samples: int, seed: int, level: float = 0.95, baseline: Floats | None = None
) -> ScoreInterval:
    """Return the spread of the score over resampled test sets, or of the difference to a baseline.

    `statistics` has a row for each unit. Bounds leave out equally many samples on both sides, as in sacreBLEU.
    """
    if baseline is None:
        scores = bootstrap_scores(metric, [statistics], samples, seed)[0]
    else:
        scores = np.subtract(*bootstrap_scores(metric, [statistics, baseline], samples, seed))
    ordered = np.sort(scores)
    outside = int(scores.size * (1.0 - level) / 2.0 + ROUNDING)
    return ScoreInterval(float(ordered.mean()), float(ordered[outside]), float(ordered[scores.size - outside - 1]))


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979): the k-th smallest of m times m − k + 1, never falling."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def paired_bootstrap(metric: Metric, system: Floats, baseline: Floats, samples: int, seed: int) -> PairedTest:
    """Compare two systems on the same segments by resampling the segments."""
    _check_pair(system, baseline)
    differences = np.abs(np.subtract(*bootstrap_scores(metric, [system, baseline], samples, seed)))
    return _comparison(metric, system, baseline, differences - differences.mean())


def approximate_randomization(metric: Metric, system: Floats, baseline: Floats, samples: int, seed: int) -> PairedTest:
    """Compare two systems on the same segments by swapping their outputs."""
    _check_pair(system, baseline)
    generator = np.random.default_rng(seed)
    both = system + baseline
    differences = []
    for count in _batches(samples, len(system)):
        kept = generator.integers(2, size=(count, len(system)), dtype=bool)
        first = _masked_sums(system, baseline, kept)
        second = both.sum(axis=0) - first
        differences.append(np.abs(metric.scores(first) - metric.scores(second)))
    return _comparison(metric, system, baseline, np.concatenate(differences))


def bootstrap_scores(metric: Metric, systems: list[Floats], samples: int, seed: int) -> list[Floats]:
    """Return the scores of each system on the same resampled test sets."""
    if samples < 1 or not len(systems[0]):
        raise ValueError("resampling needs at least one sample and one segment")
    generator = np.random.default_rng(seed)
    segments = len(systems[0])
    scores: list[list[Floats]] = [[] for _ in systems]
    for count in _batches(samples, segments):
        drawn = generator.choice(segments, size=(count, segments), replace=True)
        for number, statistics in enumerate(systems):
            scores[number].append(metric.scores(_drawn_sums(statistics, drawn)))
    return [np.concatenate(parts) for parts in scores]


def _batches(samples: int, segments: int) -> Iterator[int]:
    """Return how many samples to draw at a time: their draws need memory for samples × segments."""
    most = max(DRAWS_AT_ONCE // segments // COIN_TOSSES, 1) * COIN_TOSSES
    for begin in range(0, samples, most):
        yield min(most, samples - begin)


def _check_pair(system: Floats, baseline: Floats) -> None:
    if system.shape != baseline.shape:
        raise ValueError(f"statistics of different shapes cannot be compared: {system.shape} and {baseline.shape}")


def _comparison(metric: Metric, system: Floats, baseline: Floats, chance: Floats) -> PairedTest:
    """Compute the p-value with 1 added to both counts, so that the test never rejects more often than its level says.

    sacreBLEU counts larger differences alone, and so finds the same text significantly different from itself; here no
    difference has p = 1.
    """
    score, base = metric.score(system.sum(axis=0)), metric.score(baseline.sum(axis=0))
    if score == base:
        return PairedTest(score, base, 1.0)
    p_value = (int(np.sum(chance > abs(score - base))) + 1) / (chance.size + 1)
    return PairedTest(score, base, p_value)


def _drawn_sums(statistics: Floats, drawn: NDArray[np.int64]) -> Floats:
    """Sum the drawn rows of each sample, one after the other: the first of all samples, then the second, …"""
    sums = np.zeros((drawn.shape[0], statistics.shape[1]))
    for chosen in np.ascontiguousarray(drawn.T):
        sums += statistics.take(chosen, axis=0)
    return sums


def _masked_sums(first: Floats, second: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Sum rows of `first` where the mask is true and rows of `second` elsewhere."""
    both = np.stack((second, first), axis=1).reshape(-1, first.shape[1])
    return _drawn_sums(both, mask + 2 * np.arange(len(first)))
