"""One average reference instead of many: as many comparisons as there are hypotheses.

For BLEU and chrF the average has the expected count of each n-gram (DeNero, Chiang and Knight 2009; Vamvas and Sennrich
2024). For a metric that compares vectors it is the mean vector (Vamvas and Sennrich 2024; Deguchi et al. 2024).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.fast_consensus import ExpectedNGramCounts, list_counts
from toledo.consensus.gains import MeanGain
from toledo.consensus.texts import WeightedTexts
from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.expected import split_sequences
from toledo.metrics.metric import Metric
from toledo.metrics.vectors import VectorMetric

Floats = NDArray[np.float64]


def can_average(metric: Metric) -> bool:
    """Return whether references can be averaged for a metric."""
    if isinstance(metric, MeanGain):
        return all(can_average(one) for one in metric.parts)
    return isinstance(metric, VectorMetric) or _order(metric) > 0


def average_scores(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str], shares: Floats, source: str | None = None
) -> Floats:
    """Return the score of each hypothesis against the average of the references."""
    if isinstance(metric, MeanGain):
        parts = [average_scores(one, hypotheses, references, shares, source) for one in metric.parts]
        return np.asarray(np.mean(parts, axis=0), np.float64)
    if isinstance(metric, VectorMetric):
        return metric.average_scores(hypotheses, references, shares, source)
    order, texts = _order(metric), metric.encode([*hypotheses, *references])
    if not order or texts is None:
        raise InputError(
            f"metric {metric.name!r} cannot aggregate references",
            argument="metric",
            remedy="use rule='elimination-mbr', which compares single texts",
        )
    asked, known = split_sequences(texts, len(hypotheses))
    counts = list_counts(WeightedTexts(known, shares), order)
    rows = counts.statistics(asked, order)
    return metric.scores(_chrf_rows(rows, counts, order) if isinstance(metric, CHRF) else rows)


def _order(metric: Metric) -> int:
    """Return the length of the longest n-grams whose counts make the metric, 0 if it needs more than counts."""
    if isinstance(metric, CHRF):
        return 0 if metric.word_order or metric.eps_smoothing else metric.char_order
    return metric.max_ngram_order if isinstance(metric, BLEU) else 0


def _chrf_rows(rows: Floats, counts: ExpectedNGramCounts, order: int) -> Floats:
    """Return [n-grams of the hypothesis, of the reference, matches] for each order, from statistics of BLEU."""
    orders = counts.index.orders[: counts.counts.size]
    found = np.empty((rows.shape[0], 3 * order))
    found[:, 0::3] = rows[:, 2 + order :]
    found[:, 1::3] = np.bincount(orders, counts.counts, order + 1)[1:]
    found[:, 2::3] = rows[:, 2 : 2 + order]
    return found
