"""Sentences between `<s>` and `</s>`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.kernels import kernel
from toledo.vocabulary import BEGIN, END


def refuse_boundaries(sentences: Sentences) -> None:
    """Words of a text are any but the boundaries, which are added here."""
    if sentences.words.min(initial=0) < 0 or count_boundaries(sentences.words):
        raise ValueError("a text holds words of the vocabulary, and not <s> or </s>")


@kernel
def count_boundaries(words: NDArray[np.int32]) -> int:
    """How often `<s>` and `</s>` are among the words."""
    count = 0
    for word in words:
        count += (word == BEGIN) | (word == END)
    return count


@kernel
def with_boundaries(
    words: NDArray[np.int32], offsets: NDArray[np.int64], begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The sentences `begin:end`, each with `<s>` before and `</s>` after it, and where each begins."""
    tokens = np.empty(offsets[end] - offsets[begin] + 2 * (end - begin), np.int32)
    starts = np.empty(end - begin + 1, np.int64)
    place = 0
    for sentence in range(begin, end):
        starts[sentence - begin] = place
        tokens[place] = BEGIN
        place += 1
        for i in range(offsets[sentence], offsets[sentence + 1]):
            tokens[place] = words[i]
            place += 1
        tokens[place] = END
        place += 1
    starts[-1] = place
    return tokens, starts
