"""Hashes of texts that compose: that of a text follows from those of its parts, whatever their lengths.

Two polynomial hashes modulo 2³¹ − 1 (Karp and Rabin 1987). A text is (hash 0, hash 1, base 0 to its length, base 1 to
its length); the empty text is (1, 1, 1, 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Shape, Yields
from toledo.forest.viterbi import Best
from toledo.kernels import kernel

PRIME = np.uint64(2**31 - 1)
BASE_0, BASE_1 = np.uint64(1_000_003), np.uint64(7_368_787)
ONE = np.uint64(1)


@kernel
def best_strings(shape: Shape, yields: Yields, best: Best) -> NDArray[np.uint64]:
    """The string of the best derivation of each node."""
    strings = np.ones((best.edges.size, 4), np.uint64)
    for v in range(best.edges.size):
        h = best.edges[v]
        if h < 0:
            continue
        for place in range(yields.offsets[h], yields.offsets[h + 1]):
            word = yields.words[place]
            if word >= 0:
                append_word(strings[v], word)
            else:
                append_string(strings[v], strings[shape.tails[shape.tail_offsets[h] - 1 - word]])
    return strings


@kernel
def append_word(string: NDArray[np.uint64], word: int) -> None:
    """Add a word at the end."""
    string[0] = (string[0] * BASE_0 + np.uint64(word) + ONE) % PRIME
    string[1] = (string[1] * BASE_1 + np.uint64(word) + ONE) % PRIME
    string[2] = string[2] * BASE_0 % PRIME
    string[3] = string[3] * BASE_1 % PRIME


@kernel
def append_string(string: NDArray[np.uint64], other: NDArray[np.uint64]) -> None:
    """Add another text at the end."""
    # Every string begins with a hash of 1, so that a leading part counts; take that 1 off before appending.
    for i in range(2):
        body = (other[i] + PRIME - other[i + 2] % PRIME) % PRIME
        string[i] = (string[i] * other[i + 2] + body) % PRIME
        string[i + 2] = string[i + 2] * other[i + 2] % PRIME
