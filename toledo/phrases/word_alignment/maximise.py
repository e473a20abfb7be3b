"""From expected counts to a lexicon."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment.direction import for_rows

LEAST = 1e-30  # keeps probabilities away from 0 and from denormal numbers, which are slow


def maximise(lexicon: Lexicon, counts: NDArray[np.float32], threads: int | None) -> Lexicon:
    """The lexicon of the highest likelihood, relative frequencies; takes over the memory of `counts`."""
    for_rows(lambda first, last: _normalise(lexicon.offsets, counts, first, last), lexicon.offsets, threads)
    return lexicon._replace(probabilities=counts)


@kernel
def _normalise(offsets: NDArray[np.int64], counts: NDArray[np.float32], first: int, last: int) -> None:
    for row in range(first, last):
        entries = counts[offsets[row] : offsets[row + 1]]
        total = 0.0
        for count in entries:
            total += count
        scale = 1 / max(total, LEAST)
        for entry in range(entries.size):
            entries[entry] = max(entries[entry] * scale, LEAST)
