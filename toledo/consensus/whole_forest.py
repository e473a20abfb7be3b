"""Consensus decoding over all texts of a forest, not only those of a list.

BLEU against expected counts is no sum over edges, but near one text it nearly is: by its derivatives there, each
n-gram g of order n that an edge completes is worth

    ∂BLEU/∂matches_n · min(1, E[c_g]) + ∂BLEU/∂ngrams_n

(the first occurrence of an n-gram; later ones are mostly worth less, so this is generous). The best derivations by
these sums are found in all of the forest. The best of their texts by true BLEU is the next text, until none is better:
the result is never worse than the text to begin with.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.lists import best_texts
from toledo.consensus.ngram_space import NGramSpace
from toledo.consensus.rule import Decision
from toledo.metrics.bleu import BLEU
from toledo.metrics.sequences import Sequences, offsets_of

TEXTS = 20  # by the sum of edges, whose true BLEU is then computed
ROUNDS = 20


def climb(
    space: NGramSpace,
    counts: NDArray[np.float64],
    start: Decision,
    metric: BLEU,
    statistics: Callable[[Sequences], NDArray[np.float64]],
) -> Decision:
    """A text at least as good as that to start with; `counts` are the expected ones of all n-grams of the space."""
    best = start
    for _ in range(ROUNDS):
        slopes = metric.gradient(statistics(Sequences(best.words, offsets_of([best.words.size])))[0])
        gains = space.ngrams.edge_sums(_worth(slopes, space.ngrams.orders, counts), threads=1)
        gains[np.isneginf(space.scores)] = -np.inf
        texts = best_texts(space.ngrams.forest, gains, TEXTS).texts
        values = metric.scores(statistics(texts))
        chosen = int(np.argmax(values))
        if not values[chosen] > best.value:
            break
        best = Decision(texts.symbols[texts.offsets[chosen] : texts.offsets[chosen + 1]], float(values[chosen]))
    return best


def _worth(slopes: NDArray[np.float64], orders: NDArray[np.uint8], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each n-gram adds to BLEU; `slopes` are laid out as the statistics of BLEU."""
    order = (slopes.size - 2) // 2
    matches = np.concatenate([[0.0], slopes[2 : 2 + order]])
    totals = np.concatenate([[0.0], slopes[2 + order :]])
    totals[1] += slopes[0]  # each word makes the text longer
    worth: NDArray[np.float64] = matches[orders] * np.minimum(counts, 1.0) + totals[orders]
    return worth
