"""Random numbers in compiled code that are the same on every machine: SplitMix64 (Steele, Lea and Flood 2014)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel

GAMMA = np.uint64(0x9E37_79B9_7F4A_7C15)
MIX_1, MIX_2 = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
SHIFT_1, SHIFT_2, SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
LOW_BITS = np.uint64(11)  # a double has 53 bits of the 64

RandomState = NDArray[np.uint64]


def random_state(seed: int) -> RandomState:
    """Return a generator, for one sentence or one chain; give each its own seed."""
    return np.array([seed & 0xFFFF_FFFF_FFFF_FFFF], np.uint64)


def text_seed(seed: int, words: Sequence[str]) -> int:
    """Return a seed for a text: its place does not matter, nor what else there is."""
    text = "\n".join([str(seed), *words]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """Return the random bits of a state, which moves on by adding GAMMA: for loops that keep it in a variable."""
    state = (state ^ (state >> SHIFT_1)) * MIX_1
    state = (state ^ (state >> SHIFT_2)) * MIX_2
    return np.uint64(state ^ (state >> SHIFT_3))


@kernel
def next_bits(state: RandomState) -> np.uint64:
    """Return the next 64 random bits."""
    state[0] += GAMMA
    return mixed(state[0])


@kernel
def next_uniform(state: RandomState) -> float:
    """Return the next random number, at least 0 and less than 1."""
    return float(next_bits(state) >> LOW_BITS) * 2.0**-53
