"""The topic of a document: how much all its content words point in one direction of a semantic space.

The value is the length of the sum of the vectors of content words, by the sum of their lengths: 1 if all point in the
same direction, near 0 if they have nothing to do with each other. The sum is one of whole numbers, so nothing drifts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.search.document.models.model import NOTHING, Known, Words
from toledo.search.document.models.semantic import SpaceModel

LENGTH_UNIT = 1 << 16


@dataclass(frozen=True, eq=False)
class TopicModel(SpaceModel):
    """One topic: how much all content words of a document point in one direction of a semantic space."""

    name: ClassVar[str] = "document.topic"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)


class TopicSum(NamedTuple):
    """The vector of word i of the options is `vectors[rows[i]]` (NOTHING: it has none), `lengths[rows[i]]` long.

    `total` is the sum of vectors, `length` that of lengths in units of 1 / LENGTH_UNIT.
    """

    rows: NDArray[np.int32]
    vectors: NDArray[np.int32]
    lengths: NDArray[np.int64]
    total: NDArray[np.int64]
    length: NDArray[np.int64]


def prepare_topic(known: Known, model: TopicModel | None) -> TopicSum:
    """Look up the vectors of the words of a document; there are none without a model."""
    vectors = np.zeros((0, 1), np.int32) if model is None else np.ascontiguousarray(model.loaded.vectors, np.int32)
    numbers = {} if model is None else {word: row for row, word in enumerate(model.loaded.words)}
    rows = np.array([numbers.get(word, NOTHING) for word in known.spelled], np.int32)[known.types]
    lengths = np.rint(np.linalg.norm(vectors.astype(np.float64), axis=1) * LENGTH_UNIT).astype(np.int64)
    return TopicSum(rows, vectors, lengths, np.zeros(vectors.shape[1], np.int64), np.zeros(1, np.int64))


@inner_kernel
def exchange_vectors(seen: TopicSum, words: Words, first: int, old: int, new: int, sign: int) -> None:
    """Take away the words of `old` phrases from a place on, and add those of `new` ones; the other way with sign −1."""
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
            row = seen.rows[i]
            if row != NOTHING:
                seen.length[0] += added * seen.lengths[row]
                for d in range(seen.total.size):
                    seen.total[d] += added * seen.vectors[row, d]


@inner_kernel
def topic_share(seen: TopicSum) -> float:
    """Return the value of the model."""
    if seen.length[0] == 0:
        return 0.0
    square = 0.0
    for d in range(seen.total.size):
        square += float(seen.total[d]) * float(seen.total[d])
    return float(min(math.sqrt(square) * LENGTH_UNIT / seen.length[0], 1.0))
