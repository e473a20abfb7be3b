"""Pairs of hypotheses that clearly differ, drawn at random (Hopkins and May 2011, figure 4).

For each segment: draw Γ pairs, drop those whose gains differ by less than a threshold, keep the Ξ that differ most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.heap import new_heap, pop, push
from toledo.kernels import kernel, map_chunks
from toledo.randomness import GAMMA, LOW_BITS, mixed

SEGMENTS_AT_ONCE = 32


class Pairs(NamedTuple):
    """Hypothesis `better[i]` gains `differences[i]` more than `worse[i]` of the same segment."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    differences: NDArray[np.float64]


@dataclass(frozen=True)
class Sampling:
    """How many pairs to draw for each segment (Γ), which gains are too close, and how many pairs to keep (Ξ)."""

    draws: int = 5000
    threshold: float = 0.05
    keep: int = 50

    def __post_init__(self) -> None:
        if self.draws < 1 or self.keep < 1 or not self.threshold >= 0.0:
            raise ValueError("pairs: draw and keep at least one, with a threshold not below 0")


def sample_pairs(
    gains: NDArray[np.float64], offsets: NDArray[np.int64], sampling: Sampling, seed: int, threads: int | None = None
) -> Pairs:
    """Pairs of all segments in order, in a segment as they were drawn. Each segment has its own random numbers."""
    segments = offsets.size - 1
    states = np.random.SeedSequence(seed).generate_state(max(segments, 1), np.uint64).astype(np.uint64)
    limits = (sampling.draws, sampling.threshold, sampling.keep)
    parts = map_chunks(
        lambda begin, end: _sample(gains, offsets, states, limits, begin, end),
        segments,
        chunk=SEGMENTS_AT_ONCE,
        threads=threads,
    )
    better = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
    worse = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    return Pairs(better, worse, gains[better] - gains[worse])


@kernel
def _sample(
    gains: NDArray[np.float64],
    offsets: NDArray[np.int64],
    states: NDArray[np.uint64],
    limits: tuple[int, float, int],
    begin: int,
    end: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    draws, threshold, keep = limits
    better, worse, size = np.empty((end - begin) * keep, np.int64), np.empty((end - begin) * keep, np.int64), 0
    first, second = np.empty(draws, np.int64), np.empty(draws, np.int64)
    for segment in range(begin, end):
        start, count, state = offsets[segment], offsets[segment + 1] - offsets[segment], states[segment]
        kept = new_heap(keep + 1)  # the least different pair on top, the last drawn one among equals
        for draw in range(draws if count > 1 else 0):
            state += GAMMA
            a = start + int(float(mixed(state) >> LOW_BITS) * 2.0**-53 * count)
            state += GAMMA
            b = start + int(float(mixed(state) >> LOW_BITS) * 2.0**-53 * count)
            difference = abs(gains[a] - gains[b])
            if difference == 0.0 or difference < threshold:
                continue
            if kept.size[0] == keep and difference <= -kept.scores[0]:
                continue
            first[draw], second[draw] = a, b
            kept = push(kept, -difference, draws - draw)
            if kept.size[0] > keep:
                pop(kept)
        for number in np.sort(kept.numbers[: kept.size[0]])[::-1]:
            a, b = first[draws - number], second[draws - number]
            better[size], worse[size] = (a, b) if gains[a] > gains[b] else (b, a)
            size += 1
    return better[:size], worse[:size]
