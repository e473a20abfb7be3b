"""Sums of statistics over resampled test sets, and over systems whose outputs are swapped at random.

A resample is a row of counts, how often each unit was drawn; its sums are counts × statistics, for all systems at once.
Statistics are rounded so that every such sum is exact. Results are then the same bits for any order of summation, any
number of threads and any linear algebra library.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks

Floats = NDArray[np.float64]
EXACT_BITS = 53  # of a double
DRAWS_AT_ONCE = 1 << 15  # arrays that the allocator keeps; larger ones are given back to the system each time
COIN_TOSSES = 32  # which the generator makes at once, and drops the rest of them after each call
PRODUCT_AT_ONCE = 1 << 18  # multiplications; libraries wake up their threads for more, which costs more than it gives


def exact(columns: Floats) -> Floats:
    """Round columns so that sums of as many values as there are rows are exact; whole numbers of usual size stay."""
    largest = np.abs(columns).max(axis=0, initial=0.0) * max(len(columns), 1)
    _, exponents = np.frexp(largest)
    step = np.ldexp(1.0, np.minimum(exponents - EXACT_BITS, 0))
    return np.asarray(np.rint(columns / step) * step, np.float64)


def bootstrap_sums(columns: Floats, resamples: int, seed: int, threads: int | None = None) -> Floats:
    """Return the sums of exact columns for each resample: as many units as there are, drawn with replacement."""
    units = len(columns)
    if resamples < 1 or not units:
        raise ValueError("resampling needs at least one resample and one unit")
    chunk = max(DRAWS_AT_ONCE // units, 1)

    def draw(begin: int, end: int) -> Floats:
        bits = np.random.SFC64(np.random.SeedSequence((seed, begin))).random_raw(((end - begin) * units + 1) // 2)
        drawn = bits.view(np.uint32)[: (end - begin) * units].astype(np.uint64)
        drawn *= np.uint64(units)  # a random share of the units: the upper 32 bits of the product
        drawn >>= np.uint64(32)
        return product(counts(drawn.view(np.int64).reshape(-1, units), units), columns)

    return np.concatenate(map_chunks(draw, resamples, chunk=chunk, threads=threads))


def swapped_sums(differences: Floats, shuffles: int, seed: int) -> Floats:
    """Return sums of exact columns over the units whose outputs stay, each with probability 1/2: sacreBLEU's draws."""
    generator, units = np.random.default_rng(seed), len(differences)
    sums = [
        product(generator.integers(2, size=(count, units), dtype=bool).astype(np.float64), differences)
        for count in batches(shuffles, units)
    ]
    return np.concatenate(sums)


def batches(number: int, units: int) -> Iterator[int]:
    """Yield how many resamples to draw at a time from one generator, whose draws do not depend on it."""
    most = max(DRAWS_AT_ONCE // units // COIN_TOSSES, 1) * COIN_TOSSES
    for begin in range(0, number, most):
        yield min(most, number - begin)


def counts(drawn: NDArray[np.int64], units: int) -> Floats:
    """Return how often each unit was drawn, from a row of drawn units for each resample; changes these rows."""
    drawn += units * np.arange(len(drawn))[:, None]
    found = np.bincount(drawn.ravel(), minlength=len(drawn) * units)
    return found.reshape(-1, units).astype(np.float64)


def product(weights: Floats, columns: Floats) -> Floats:
    """Return weights × columns, in pieces that no library divides among threads."""
    step = max(PRODUCT_AT_ONCE // (len(weights) * max(columns.shape[1], 1)), 1)
    result = np.zeros((len(weights), columns.shape[1]))
    for begin in range(0, len(columns), step):
        result += weights[:, begin : begin + step] @ columns[begin : begin + step]
    return result
