"""Expected chrF of hypotheses against weighted texts: matches of all hypotheses at once, then one F-score for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.lists import spell
from toledo.consensus.matches import Index, NGrams, count_all, cut_ngrams, index_ngrams, room_for_matches
from toledo.kernels import kernel
from toledo.metrics.chrf import ChrF
from toledo.metrics.sequences import Sequences
from toledo.vocabulary import Vocabulary


@dataclass(frozen=True)
class ChrFGain:
    """Sentence chrF, 0 to 100, of texts as characters; without word n-grams."""

    metric: ChrF = ChrF()  # noqa: RUF009 (frozen)

    name = "chrf"

    def __post_init__(self) -> None:
        if self.metric.word_order:
            raise ValueError("expected chrF counts characters only: the word order must be 0")

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """Characters are what chrF compares."""
        return spell(texts, vocabulary)

    def expected(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Σ_t p(t) chrF(h; t) for the first texts as hypotheses; texts are distinct."""
        order, lengths = self.metric.character_order, texts.lengths
        ngrams = cut_ngrams(texts.symbols, texts.offsets, order)
        matches = room_for_matches(order, hypotheses, lengths)
        index = index_ngrams(ngrams, hypotheses)
        return _expected(index, ngrams, lengths, probabilities, self.metric.beta, matches)


@kernel
def _expected(
    index: Index,
    ngrams: NGrams,
    lengths: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    beta: float,
    matches: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """With S the sums of precision and of recall over the orders that both texts have, F is homogeneous in them."""
    order, hypotheses = matches.shape
    shares = np.zeros((order, hypotheses))  # 1 / number of n-grams, 0 where there is none
    for n in range(order):
        for h in range(hypotheses):
            shares[n, h] = 1.0 / (lengths[h] - n) if lengths[h] > n else 0.0
    orders = np.minimum(lengths[:hypotheses], order).astype(np.float64)
    expected, precisions, recalls = np.zeros(hypotheses), np.empty(hypotheses), np.empty(hypotheses)
    factor = beta * beta
    for text in range(lengths.size):
        if probabilities[text] == 0.0 or lengths[text] == 0:  # nothing matches an empty text
            continue
        count_all(index, ngrams, text, lengths[text], matches)
        precisions[:] = 0.0
        recalls[:] = 0.0
        for n in range(min(order, lengths[text])):
            counts, share, recall_share = matches[n], shares[n], 1.0 / (lengths[text] - n)
            for h in range(hypotheses):
                precisions[h] += counts[h] * share[h]
                recalls[h] += counts[h] * recall_share
        weight, most = 100.0 * (1.0 + factor) * probabilities[text], float(min(order, lengths[text]))
        for h in range(hypotheses):
            precision, recall = precisions[h], recalls[h]
            below = (factor * precision + recall) * min(orders[h], most)
            expected[h] += weight * precision * recall / (below if below > 0.0 else 1.0)
    return expected
