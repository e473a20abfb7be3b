"""From BLEU statistics to the score and its derivatives, compiled: tuners and significance tests call it often."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inner_kernel, kernel

NONE, FLOOR, ADD_K, EXPONENTIAL = range(4)

# Defaults from Chen and Cherry (2014), "A systematic comparison of smoothing techniques for sentence-level BLEU".
METHODS = {"none": (NONE, 0.0), "floor": (FLOOR, 0.1), "add-k": (ADD_K, 1.0), "exp": (EXPONENTIAL, 0.0)}


@kernel
def bleu_scores(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> NDArray[np.float64]:
    """The score, 0 to 100, of each row of statistics."""
    scores = np.empty(statistics.shape[0])
    precisions = np.empty((statistics.shape[1] - 2) // 2)
    for row in range(statistics.shape[0]):
        scores[row] = bleu_score(statistics[row], method, value, effective, precisions)
    return scores


@kernel
def bleu_gradient(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> NDArray[np.float64]:
    """The derivatives of the score by the statistics.

    With B the score, c and r the lengths, N the orders used: ∂B/∂matches_n = B / (N matches_n),
    ∂B/∂totals_n = −B / (N totals_n), and for c < r: ∂B/∂c = B r / c², ∂B/∂r = −B / c.
    """
    order = (statistics.size - 2) // 2
    gradient = np.zeros(statistics.size)
    precisions = np.empty(order)
    score = bleu_score(statistics, method, value, effective, precisions)
    if score == 0.0:
        return gradient
    hypothesis, reference = statistics[0], statistics[1]
    if hypothesis < reference:
        gradient[0] = score * reference / (hypothesis * hypothesis)
        gradient[1] = -score / hypothesis
    used = orders_used(statistics, method, value, effective)
    for n in range(used):
        added = value if method == ADD_K and n > 0 else 0.0
        matches, total = statistics[2 + n] + added, statistics[2 + order + n] + added
        if matches > 0.0:
            gradient[2 + n] = score / (used * matches)
        gradient[2 + order + n] = -score / (used * total)
    return gradient


@inner_kernel
def orders_used(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> int:
    """All orders, or only those for which the hypothesis has n-grams."""
    order = (statistics.size - 2) // 2
    if not effective:
        return order
    used = 0
    for n in range(order):
        if statistics[2 + order + n] + (value if method == ADD_K and n > 0 else 0.0) == 0.0:
            break
        used = n + 1
    return used


@inner_kernel
def bleu_score(
    statistics: NDArray[np.float64], method: int, value: float, effective: bool, precisions: NDArray[np.float64]
) -> float:
    """The score, 0 to 100, of one row of statistics; `precisions` is scratch memory, one number for each order."""
    matched = False
    for n in range(precisions.size):
        matched |= statistics[2 + n] > 0.0
    if not matched:
        return 0.0
    _fill_precisions(statistics, method, value, precisions)
    used = orders_used(statistics, method, value, effective)
    total = 0.0
    for n in range(used):
        if precisions[n] == 0.0:
            return 0.0
        total += math.log(precisions[n])
    return brevity_penalty(statistics[0], statistics[1]) * math.exp(total / used)


@inner_kernel
def brevity_penalty(hypothesis: float, reference: float) -> float:
    """1 for a hypothesis not shorter than its reference, less for a shorter one."""
    if hypothesis >= reference:
        return 1.0
    return math.exp(1.0 - reference / hypothesis) if hypothesis > 0.0 else 0.0


@inner_kernel
def _fill_precisions(
    statistics: NDArray[np.float64], method: int, value: float, precisions: NDArray[np.float64]
) -> None:
    """Per cent, 0 where undefined."""
    order = precisions.size
    for n in range(order):
        precisions[n] = 0.0
    halved = 1.0
    for n in range(order):
        added = value if method == ADD_K and n > 0 else 0.0
        matches, total = statistics[2 + n] + added, statistics[2 + order + n] + added
        if total == 0.0:
            return
        if matches > 0.0:
            precisions[n] = 100.0 * matches / total
        elif method == EXPONENTIAL:
            halved *= 2.0
            precisions[n] = 100.0 / (halved * total)
        elif method == FLOOR:
            precisions[n] = 100.0 * value / total
