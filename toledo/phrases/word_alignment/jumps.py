"""How far the alignment jumps from one word to the next: the transitions of the HMM.

p(i | i', I) = c(i − i') / Σ_{k=0..I} c(k − i'): one weight for each jump shorter than REACH, a shared one for all
longer jumps on each side, normalised over the places that the sentence has (Vogel et al. 1996; Och and Ney 2003).
The first jump starts at place −1 and has weights of its own. The last one goes to I, the end of the sentence: without
it a model pays for the words that it skips within a sentence, but not for those at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel

REACH = 8  # the shortest jump of a shared weight
BAND = 2 * REACH - 1  # jumps with a weight of their own
WEIGHTS = BAND + 2
FIRST, LATER = 0, 1  # rows of all arrays here; columns are jump + REACH
BACK, AHEAD = 0, 2 * REACH  # columns of the shared weights
SMOOTHING = 0.01


class JumpCounts(NamedTuple):
    """Expected numbers of jumps taken, and of chances to take them at the present weights."""

    taken: NDArray[np.float64]
    chances: NDArray[np.float64]


def uniform_jumps() -> NDArray[np.float64]:
    """Equal weights for all jumps."""
    return np.full((2, WEIGHTS), 1 / WEIGHTS)


def sum_jumps(parts: Iterable[JumpCounts]) -> JumpCounts:
    """The counts of several pieces of a corpus together."""
    total = JumpCounts(np.zeros((2, WEIGHTS)), np.zeros((2, WEIGHTS)))
    for part in parts:
        total.taken[:] += part.taken
        total.chances[:] += part.chances
    return total


def maximise_jumps(counts: JumpCounts, prior: float = 1.0) -> NDArray[np.float64]:
    """Better weights: c(d) ← jumps taken / chances to take them.

    Each sentence normalises the weights over its own places, so relative frequencies do not maximise the likelihood;
    this step of Hunter's (2004) algorithm for Bradley–Terry models never lowers it. The step is taken on the data plus
    `prior` jumps, spread evenly over all weights, so that none becomes 0.
    """
    weights: NDArray[np.float64] = (counts.taken + prior / WEIGHTS) / (counts.chances + prior)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def smooth_jumps(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a constant to all weights.

    A phrase that moves takes two long jumps. At the weights of the highest likelihood NULL often explains its words
    more cheaply.
    """
    return (weights + SMOOTHING) / (1 + WEIGHTS * SMOOTHING)


@kernel
def normalisers(weights: NDArray[np.float64], size: int, inverse: NDArray[np.float64]) -> None:
    """Put 1 / Σ_k c(k − i') over the places k = 0..size at `inverse[i' + 1]`, for i' = −1..size−1."""
    for place in range(-1, size):
        row = FIRST if place < 0 else LATER
        total = weights[row, BACK] * max(0, place - REACH + 1) + weights[row, AHEAD] * max(0, size - place - REACH + 1)
        for jump in range(max(1 - REACH, -place), min(REACH - 1, size - place) + 1):
            total += weights[row, jump + REACH]
        inverse[place + 1] = 1 / total


@kernel
def add_chances(
    leaving: NDArray[np.float64], inverse: NDArray[np.float64], size: int, chances: NDArray[np.float64]
) -> None:
    """Add the chances of jumps in a sentence, where `leaving[i' + 1]` of them are expected to start at place i'."""
    for place in range(-1, size):
        row = FIRST if place < 0 else LATER
        rate = leaving[place + 1] * inverse[place + 1]
        chances[row, BACK] += rate * max(0, place - REACH + 1)
        chances[row, AHEAD] += rate * max(0, size - place - REACH + 1)
        for jump in range(max(1 - REACH, -place), min(REACH - 1, size - place) + 1):
            chances[row, jump + REACH] += rate


@kernel
def column_of(jump: int) -> int:
    """The column of a jump's weight."""
    return min(max(jump, -REACH), REACH) + REACH


@kernel
def land(padded: NDArray[np.float64], weights: NDArray[np.float64], result: NDArray[np.float64]) -> None:
    """The sums Σ_x g(x) c(i − x) for all places i of a sentence, in time linear in its length.

    Place x is at `padded[REACH − 1 + x]`, between REACH − 1 zeros on each side. With the weights reversed, the sums are
    Σ_i g(i) c(i − x) for all places x: what can be reached instead of what arrives.
    """
    size = result.size
    band = weights[1 : 1 + BAND]
    for place in range(size):
        total = 0.0
        for k in range(BAND):
            total += band[k] * padded[place + BAND - 1 - k]
        result[place] = total
    values = padded[REACH - 1 : REACH - 1 + size]
    behind, before = 0.0, 0.0
    for place in range(REACH, size):
        behind += values[place - REACH]
        result[place] += behind * weights[AHEAD]
        before += values[size - 1 - place + REACH]
        result[size - 1 - place] += before * weights[BACK]
