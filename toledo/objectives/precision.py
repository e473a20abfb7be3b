"""What CoBLEU and xBLEU share: the mean logarithm of n-gram precisions with expected counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.objectives.matching import MatchedForest

LEAST = 1e-9  # no matches at all are taken as this many, so that the logarithm stays finite


def mean_log_precision(
    matched: MatchedForest,
    expected: NDArray[np.float64],
    matches: NDArray[np.float64],
    slopes: NDArray[np.float64],
    order: int,
) -> tuple[float, NDArray[np.float64]]:
    """(1/N) Σ_n ln(matches of order n / expected n-grams of order n), and its derivative by each expected count.

    `slopes` are the derivatives of `matches` by `expected`. Orders that no translation reaches do not count.
    """
    orders = matched.ngrams.orders
    if matched.ngrams.order < order:
        raise ValueError(f"order {order} needs a forest split for it, not for {matched.ngrams.order}")
    used = orders <= order
    totals = np.bincount(orders[used], expected[used], order + 1)[1:]
    found = np.bincount(orders[used], matches[used], order + 1)[1:]
    possible = totals > 0.0
    safe = np.maximum(found, LEAST)
    value = float(np.log(safe[possible] / totals[possible]).sum()) / order
    per_match = np.where(possible & (found > LEAST), 1.0 / safe, 0.0) / order
    per_ngram = np.divide(1.0, totals, out=np.zeros(order), where=possible) / order
    place = np.minimum(orders, order) - 1
    return value, np.where(used, slopes * per_match[place] - per_ngram[place], 0.0)
