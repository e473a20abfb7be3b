"""Word classes: words with similar neighbors are in one class.

A word is a point: the square roots of the counts of its neighbors to the left and to the right, as far as these are
among the most frequent words, divided by their norm. Points are put into classes by spherical k-means (Dhillon and
Modha 2001), which begins with the most frequent words as centers: nothing is random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of
from toledo.compiled.sorting import rank_pairs
from toledo.language_model.backoff import with_boundaries
from toledo.text.corpus import Sentences

NEIGHBORS = 500  # most frequent words, and all others as one
ROUNDS = 15
NO_CLASS = 0  # of words that the text does not have


def word_classes(text: Sentences, vocabulary: int, classes: int) -> NDArray[np.int32]:
    """Return the class of each word of a vocabulary, from 1 to `classes`; NO_CLASS for those not in the text."""
    counts = np.bincount(text.words, minlength=vocabulary)
    by_count = np.argsort(-counts, kind="stable")
    words = np.sort(by_count[: np.count_nonzero(counts)])
    if not words.size:
        return np.full(vocabulary, NO_CLASS, np.int32)
    offsets, columns, values = _points(text, by_count, words)
    centers = np.searchsorted(words, by_count[: min(classes, words.size)])
    found = np.full(vocabulary, NO_CLASS, np.int32)
    found[words] = 1 + _cluster(offsets, columns, values, counts[words].astype(np.float64), centers)
    return found


def _points(
    text: Sentences, by_count: NDArray[np.int64], words: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the neighbors of each word, and the coordinates that they stand for, as sparse rows."""
    tokens, bounds = with_boundaries(text.words, text.offsets, 0, len(text))
    neighbor = np.full(max(by_count.size, int(tokens.max()) + 1), NEIGHBORS, np.int32)
    neighbor[by_count[:NEIGHBORS]] = np.arange(min(NEIGHBORS, by_count.size))
    number = np.zeros(neighbor.size, np.int32)
    number[words] = np.arange(words.size)
    inside = np.ones(tokens.size, np.bool_)
    inside[bounds[:-1]] = inside[bounds[1:] - 1] = False  # `<s>` and `</s>`
    places = np.flatnonzero(inside)
    own = number[tokens[places]]
    left, right = neighbor[tokens[places - 1]], NEIGHBORS + 1 + neighbor[tokens[places + 1]]
    ranks = rank_pairs(np.concatenate([own, own]), np.concatenate([left, right]).astype(np.int32))
    rows, columns = np.concatenate([own, own])[ranks.first], np.concatenate([left, right])[ranks.first]
    norms = np.sqrt(np.bincount(rows, ranks.counts, words.size))
    return (
        offsets_of(np.bincount(rows, minlength=words.size)),
        columns.astype(np.int32),
        np.sqrt(ranks.counts) / norms[rows],
    )


@kernel
def _cluster(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    centers: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the cluster of each point; `centers` are the points that the clusters begin with."""
    clusters, size = centers.size, 2 * (NEIGHBORS + 1)
    center, found = np.zeros((size, clusters)), np.full(weights.size, -1, np.int32)
    for k in range(clusters):
        for place in range(offsets[centers[k]], offsets[centers[k] + 1]):
            center[columns[place], k] = values[place]
    for _ in range(ROUNDS):
        changed = 0
        for point in range(weights.size):
            near = np.zeros(clusters)
            for place in range(offsets[point], offsets[point + 1]):
                for k in range(clusters):
                    near[k] += values[place] * center[columns[place], k]
            best = np.argmax(near)
            changed += best != found[point]
            found[point] = best
        if not changed:
            break
        center[:] = 0.0
        for point in range(weights.size):
            for place in range(offsets[point], offsets[point + 1]):
                center[columns[place], found[point]] += weights[point] * values[place]
        for k in range(clusters):
            norm = np.sqrt(np.sum(center[:, k] ** 2))
            if norm > 0.0:
                center[:, k] /= norm
    return found
