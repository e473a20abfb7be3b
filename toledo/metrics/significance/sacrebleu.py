"""The paired bootstrap of sacreBLEU and Moses (after Koehn 2004), for comparison with published p-values.

p is the share of resampled test sets whose difference exceeds the mean of all by more than the observed difference. It
is liberal: at 0.05 it rejects in 10 to 12 per cent of the cases in which systems do not differ. With the same seed the
draws are those of sacreBLEU.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.resampling import batches, counts, exact, product

Floats = NDArray[np.float64]
SEED = 12345
ROUNDING = 1e-9


def resampled_scores(metric: Metric, systems: list[Floats], resamples: int, seed: int) -> list[Floats]:
    """Return the scores of each system on the same resampled test sets."""
    generator, units = np.random.default_rng(seed), len(systems[0])
    columns, width = exact(np.hstack(systems)), systems[0].shape[1]
    sums = np.concatenate(
        [
            product(counts(generator.choice(units, size=(count, units), replace=True), units), columns)
            for count in batches(resamples, units)
        ]
    )
    return [
        metric.scores(np.ascontiguousarray(sums[:, place : place + width]))
        for place in range(0, len(columns[0]), width)
    ]


def percentile_interval(scores: Floats, level: float) -> ScoreInterval:
    """Return bounds that leave out equally many resampled scores on both sides."""
    ordered = np.sort(scores)
    outside = int(scores.size * (1.0 - level) / 2.0 + ROUNDING)
    return ScoreInterval(float(ordered.mean()), float(ordered[outside]), float(ordered[scores.size - outside - 1]))


def bootstrap_p(difference: float, differences: Floats) -> float:
    """Return p from the differences on resampled test sets; 1 without a difference, unlike in sacreBLEU."""
    if difference == 0.0:
        return 1.0
    sizes = np.abs(differences)
    return float((np.sum(sizes - sizes.mean() > abs(difference)) + 1) / (sizes.size + 1))
