"""The discounts of modified Kneser-Ney smoothing (Chen and Goodman 1998, equation 26).

With n_k n-grams of adjusted count k and Y = n_1 / (n_1 + 2 n_2), the discount of count k is
D_k = k − (k + 1) Y n_{k+1} / n_k for k = 1, 2 and 3 (3 or more).
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

log = logging.getLogger(__name__)

KINDS = 3  # counts 1, 2, and 3 or more are discounted apart
FALLBACK = (0.0, 0.5, 1.0, 1.5)  # lmplz's choice where a small text does not allow an estimate


def estimate_discounts(adjusted: NDArray[np.int32], order: int) -> NDArray[np.float64]:
    """What to take off the counts 0, 1, 2, and 3 or more; a fixed choice, with a warning, for too small a text."""
    frequencies = np.bincount(np.minimum(adjusted, KINDS + 2), minlength=KINDS + 3).tolist()
    discounts = _from_counts_of_counts(frequencies)
    if discounts is None:
        log.warning(
            "the text is too small to estimate the discounts of %d-grams: %s of them with counts 1 to 4; using %s",
            order,
            ", ".join(map(str, frequencies[1 : KINDS + 2])),
            ", ".join(map(str, FALLBACK[1:])),
        )
        discounts = list(FALLBACK)
    return np.array(discounts, np.float64)


def _from_counts_of_counts(frequencies: list[int]) -> list[float] | None:
    """None where a discount is undefined or outside 0 < D_k ≤ k (a discount of 0 could leave no mass to back off)."""
    if 0 in frequencies[1 : KINDS + 1]:
        return None
    ratio = frequencies[1] / (frequencies[1] + 2 * frequencies[2])
    counts = range(1, KINDS + 1)
    discounts = [k - (k + 1) * ratio * frequencies[k + 1] / frequencies[k] for k in counts]
    return [0.0, *discounts] if all(0 < d <= k for k, d in zip(counts, discounts, strict=True)) else None
