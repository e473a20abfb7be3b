"""Expected sentence BLEU of hypotheses against weighted texts, without a logarithm for each pair.

With N the orders used, BLEU is a product over orders of (matches_n / totals_n)^(1/N), times the brevity penalty. The
factors depend on the length of the hypothesis and on one small count each: they are looked up in tables. Smoothing
`exp` halves the count of each further order without a match. An order without a match is followed by such orders only,
so the factor of order n may take its share of all the halves to come: (1 / (totals_n · 2^(N − n + 1)))^(1/N).

Expected chrF of hypotheses against weighted texts: matches of all hypotheses at once, then one F-score for each.

Expected TER of hypotheses against weighted texts: edits with shifts for each pair.

Edits take time, so the best hypothesis is found without those of most pairs. Shifts do not change which words a text
has, so that edits ≥ max(|h|, |t|) − common words of h and t, and ≥ 1 if the texts differ. Hypotheses are tried in the
order of the gains that this allows, and each only as long as it can still be the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Sequences
from toledo.consensus.matches import Index, NGrams, count_all, cut_ngrams, index_ngrams, room_for_matches
from toledo.consensus.texts import spell
from toledo.metrics.bleu import ADD_K, BLEU, EXPONENTIAL, FLOOR, METHODS, brevity_penalty
from toledo.metrics.chrf import ChrF
from toledo.metrics.ter import TER, Limits, count_edits
from toledo.text.vocabulary import Vocabulary

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
        return _expected_bleu(index, ngrams, lengths, probabilities, slots, slot_of, factors, matches)


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
def _expected_bleu(
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
        return _expected_chrf(index, ngrams, lengths, probabilities, self.metric.beta, matches)


@kernel
def _expected_chrf(
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


ROUNDING = 1e-6


@dataclass(frozen=True)
class TERGain:
    """100 − TER: 100 for equal texts, below 0 for more edits than words."""

    metric: TER = TER()  # noqa: RUF009 (frozen)

    name = "ter"

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """TER compares words."""
        return texts

    def expected(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Σ_t p(t) (100 − TER(h; t)) for the first texts as hypotheses; texts are distinct."""
        metric = self.metric
        limits = Limits(metric.beam_width, metric.shift_size, metric.shift_distance, metric.candidates)
        ngrams = cut_ngrams(texts.symbols, texts.offsets, 1)
        comparison = Comparison(index_ngrams(ngrams, len(texts)), ngrams, texts.lengths, 100.0 * probabilities)
        common = room_for_matches(1, len(texts), texts.lengths)
        bounds = _bounds(comparison, hypotheses, common)
        order = np.argsort(-bounds, kind="stable")
        return _expected_ter(comparison, texts.symbols, texts.offsets, bounds, order, limits, only_best, common)


class Comparison(NamedTuple):
    """Common words of any two texts, and how much each text weighs as evidence."""

    words: Index
    ngrams: NGrams
    lengths: NDArray[np.int64]
    weights: NDArray[np.float64]


@kernel
def _bounds(comparison: Comparison, hypotheses: int, common: NDArray[np.uint8]) -> NDArray[np.float64]:
    """What the expected gain of each hypothesis cannot exceed."""
    index, ngrams, lengths, weights = comparison
    bounds = np.zeros(hypotheses)
    for h in range(hypotheses):
        count_all(index, ngrams, h, lengths[h], common)
        for text in range(lengths.size):
            if weights[text] > 0.0:
                edits = _fewest_edits(lengths[h], lengths[text], common[0, text], h == text)
                bounds[h] += weights[text] * (1.0 - _rate(edits, lengths[text]))
    return bounds


@kernel
def _expected_ter(
    comparison: Comparison,
    symbols: NDArray[np.int32],
    offsets: NDArray[np.int64],
    bounds: NDArray[np.float64],
    order: NDArray[np.int64],
    limits: Limits,
    only_best: bool,
    common: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """Hypotheses in `order`, by falling bounds; with `only_best`, −inf where the bound falls below what is reached."""
    index, ngrams, lengths, weights = comparison
    expected, best = np.full(bounds.size, -np.inf), -np.inf
    for h in order:
        words, gain = symbols[offsets[h] : offsets[h + 1]], bounds[h]
        count_all(index, ngrams, h, lengths[h], common)
        for text in range(lengths.size):
            if only_best and gain < best - ROUNDING:
                break
            if weights[text] == 0.0 or h == text:
                continue
            reference = symbols[offsets[text] : offsets[text + 1]]
            fewest = _fewest_edits(lengths[h], lengths[text], common[0, text], False)
            edits = count_edits(words, reference, limits)
            gain -= weights[text] * (_rate(edits, lengths[text]) - _rate(fewest, lengths[text]))
        if not only_best or gain >= best - ROUNDING:
            expected[h] = gain
            best = max(best, gain)
    return expected


@kernel
def _fewest_edits(one: int, other: int, common: int, same: bool) -> int:
    return 0 if same else max(max(one, other) - int(common), 1)


@kernel
def _rate(edits: int, length: int) -> float:
    """TER as `toledo.metrics` has it: any words where none should be are as bad as none right."""
    if length == 0:
        return 1.0 if edits > 0 else 0.0
    return edits / length
