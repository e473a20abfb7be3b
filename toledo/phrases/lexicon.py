"""Word translation probabilities p(word | given word) as sorted sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.vocabulary import UNKNOWN

NULL = UNKNOWN  # the empty word; `<unk>` itself never stands in a training text


class Lexicon(NamedTuple):
    """Row g holds p(w | g): words `words[offsets[g]:offsets[g + 1]]` in rising order and their probabilities."""

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    probabilities: NDArray[np.float32]


@kernel
def find_entry(lexicon: Lexicon, given: int, word: int) -> int:
    """The position of p(word | given), or -1."""
    if given + 1 >= lexicon.offsets.size:
        return -1
    low, high = lexicon.offsets[given], lexicon.offsets[given + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if lexicon.words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and lexicon.words[low] == word else -1


@kernel
def word_probability(lexicon: Lexicon, given: int, word: int) -> float:
    """The probability p(word | given), 0 for a pair not in the lexicon."""
    entry = find_entry(lexicon, given, word)
    return float(lexicon.probabilities[entry]) if entry >= 0 else 0.0
