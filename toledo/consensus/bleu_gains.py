"""Expected sentence BLEU of hypotheses against weighted texts, without a logarithm for each pair.

With N the orders used, BLEU is a product over orders of (matches_n / totals_n)^(1/N), times the brevity penalty. The
factors depend on the length of the hypothesis and on one small count each: they are looked up in tables. Smoothing
`exp` halves the count of each further order without a match. An order without a match is followed by such orders only,
so the factor of order n may take its share of all the halves to come: (1 / (totals_n · 2^(N − n + 1)))^(1/N).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.matches import Index, NGrams, count_all, cut_ngrams, index_ngrams, room_for_matches
from toledo.kernels import kernel
from toledo.metrics.bleu import BLEU
from toledo.metrics.bleu_score import ADD_K, EXPONENTIAL, FLOOR, METHODS, brevity_penalty
from toledo.metrics.sequences import Sequences
from toledo.vocabulary import Vocabulary

SENTENCE_BLEU = BLEU(smoothing="exp", effective_order=True)
MOSES_BLEU = BLEU(smoothing="add-k", value=1.0)
SAMPLER_BLEU = BLEU(smoothing="add-k", value=0.01)  # Arun, Haddow and Koehn 2010


@dataclass(frozen=True)
class BLEUGain:
    """Sentence BLEU, 0 to 100; by default smoothed as sacreBLEU does it for sentences."""

    metric: BLEU = SENTENCE_BLEU

    name = "bleu"

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """BLEU compares words."""
        return texts

    def expected(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Σ_t p(t) BLEU(h; t) for the first texts as hypotheses; texts are distinct."""
        ngrams = cut_ngrams(texts.symbols, texts.offsets, self.metric.order)
        lengths = texts.lengths
        slots, slot_of = np.unique(lengths[:hypotheses], return_inverse=True)
        method, default = METHODS[self.metric.smoothing]
        value = default if self.metric.value is None else float(self.metric.value)
        factors = _factors(slots, self.metric.order, method, value, self.metric.effective_order)
        matches = room_for_matches(self.metric.order, hypotheses, lengths)
        index = index_ngrams(ngrams, hypotheses)
        return _expected(index, ngrams, lengths, probabilities, slots, slot_of, factors, matches)


@kernel
def _factors(lengths: NDArray[np.int64], order: int, method: int, value: float, effective: bool) -> NDArray[np.float64]:
    """The factor [n, slot of the length, matches]; 0 where BLEU is 0, 1 for orders that are not used."""
    factors = np.zeros((order, lengths.size, lengths[-1] + 1))
    for slot in range(lengths.size):
        used, short = order, False
        for n in range(order):
            if max(lengths[slot] - n, 0) + (value if method == ADD_K and n > 0 else 0.0) == 0.0:
                used, short = (n, False) if effective else (order, True)
                break
        if used == 0 or short:
            continue
        for n in range(order):
            if n >= used:
                factors[n, slot, :] = 1.0
                continue
            added = value if method == ADD_K and n > 0 else 0.0
            total = max(lengths[slot] - n, 0) + added
            for count in range(max(lengths[slot] - n, 0) + 1):
                matched = count + added
                if matched == 0.0 and method == EXPONENTIAL:
                    matched = 0.5 ** (used - n)
                elif matched == 0.0 and method == FLOOR:
                    matched = value
                factors[n, slot, count] = (matched / total) ** (1.0 / used)
        factors[0, slot, 0] = 0.0  # not one word matches
    return factors


@kernel
def _expected(
    index: Index,
    ngrams: NGrams,
    lengths: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    slots: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    factors: NDArray[np.float64],
    matches: NDArray[np.uint8],
) -> NDArray[np.float64]:
    order, hypotheses = matches.shape
    width = factors.shape[2]
    expected, gains, brevity = np.zeros(hypotheses), np.empty(hypotheses), np.empty(slots.size)
    bases = slot_of * width
    for text in range(lengths.size):
        if probabilities[text] == 0.0 or lengths[text] == 0:  # nothing matches an empty text
            continue
        count_all(index, ngrams, text, lengths[text], matches)
        for slot in range(slots.size):
            brevity[slot] = 100.0 * probabilities[text] * brevity_penalty(float(slots[slot]), float(lengths[text]))
        for h in range(hypotheses):
            gains[h] = brevity[slot_of[h]]
        for n in range(order):
            table, counts = factors[n].ravel(), matches[n]
            for h in range(hypotheses):
                gains[h] *= table[bases[h] + counts[h]]
        for h in range(hypotheses):
            expected[h] += gains[h]
    return expected
