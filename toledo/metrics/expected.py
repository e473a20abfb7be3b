"""Expected BLEU, chrF and TER of hypotheses against weighted texts.

BLEU needs no logarithm for each pair. With N the orders used, it is a product over orders of (matches_n /
totals_n)^(1/N), times the brevity penalty. The factors depend on the length of the hypothesis and on one small count
each: they are looked up in tables. Smoothing `exp` halves the count of each further order without a match. An order
without a match is followed by such orders only, so the factor of order n may take its share of all the halves to come:
(1 / (totals_n · 2^(N − n + 1)))^(1/N).

For chrF, matches of all hypotheses are counted at once, then one F-score for each.

TER needs edits with shifts for each pair. They take time, so the best hypothesis is found without those of most pairs.
Shifts do not change which words a text has, so that edits ≥ max(|h|, |t|) − common words of h and t, and ≥ 1 if the
texts differ. Hypotheses are tried in the order of the gains that this allows, and each only as long as it can still be
the best. A pair gains 100 − TER, but never less than 0: TER has no upper limit, and one very short text would otherwise
outweigh all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import number_rows
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Sequences, checked_symbols
from toledo.metrics.bleu import ADD_K, EXPONENTIAL, FLOOR, brevity_penalty
from toledo.metrics.matches import InvertedIndex, NumberedNGrams, count_all, cut_ngrams, index_ngrams, room_for_matches
from toledo.metrics.metric import Metric
from toledo.metrics.ter import TERLimits, count_edits

Floats = NDArray[np.float64]


def expected_gains(
    hypotheses: Sequences, evidence: Sequences, probabilities: Floats, metric: Metric, *, only_best: bool = False
) -> Floats:
    """Return the expected gain of each hypothesis; symbols are what `metric.encode` or `metric.encode_words` gives.

    Equal texts are compared once. Probabilities need not add up to 1. With `only_best`, −inf may stand for the gain of
    a hypothesis that cannot be the best, which saves much time with TER.
    """
    _check(evidence, probabilities)
    if not len(hypotheses):
        return np.empty(0)
    symbols = np.concatenate((hypotheses.symbols, evidence.symbols))
    offsets = np.concatenate((hypotheses.offsets, hypotheses.offsets[-1] + evidence.offsets[1:]))
    numbers, firsts = number_rows(checked_symbols(symbols), offsets[:-1], offsets[1:])
    size = len(hypotheses)
    weights = np.bincount(numbers[size:], probabilities, firsts.size).astype(np.float64)
    texts = Sequences(symbols, offsets).gather(firsts)
    distinct = int(numbers[:size].max()) + 1  # numbers rise: hypotheses come first
    values = metric.gains(texts, distinct, weights, only_best=only_best)
    return values[numbers[:size]]


def split_sequences(texts: Sequences, first: int) -> tuple[Sequences, Sequences]:
    """Return the first texts and the others."""
    middle = texts.offsets[first]
    return (
        Sequences(texts.symbols[:middle], texts.offsets[: first + 1]),
        Sequences(texts.symbols[middle:], texts.offsets[first:] - middle),
    )


def _check(evidence: Sequences, probabilities: Floats) -> None:
    if probabilities.shape != (len(evidence),):
        raise ValueError(f"probabilities of shape {probabilities.shape} for {len(evidence)} references")
    if not np.all((probabilities >= 0.0) & (probabilities < np.inf)):
        raise ValueError("probabilities must be finite and not negative")


def expected_bleu(
    texts: Sequences, hypotheses: int, probabilities: Floats, order: int, smoothing: tuple[int, float, bool]
) -> Floats:
    """Return Σ_t p(t) BLEU(h; t) for the first texts as hypotheses; texts are distinct."""
    ngrams, lengths = cut_ngrams(texts.symbols, texts.offsets, order), texts.lengths
    slots, slot_of = np.unique(lengths[:hypotheses], return_inverse=True)
    factors = _factors(slots, order, *smoothing)
    matches = room_for_matches(order, hypotheses, lengths)
    index = index_ngrams(ngrams, hypotheses)
    return _expected_bleu(index, ngrams, lengths, probabilities, slots, slot_of, factors, matches)


@kernel(small=10_000)
def _factors(lengths: NDArray[np.int64], order: int, method: int, value: float, effective: bool) -> Floats:
    """Return the factor [n, slot of the length, matches]; 0 where BLEU is 0, 1 for orders that are not used."""
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


@kernel(small=200_000)
def _expected_bleu(
    index: InvertedIndex,
    ngrams: NumberedNGrams,
    lengths: NDArray[np.int64],
    probabilities: Floats,
    slots: NDArray[np.int64],
    slot_of: NDArray[np.int64],
    factors: Floats,
    matches: NDArray[np.uint8],
) -> Floats:
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


def expected_chrf(texts: Sequences, hypotheses: int, probabilities: Floats, order: int, beta: float) -> Floats:
    """Return Σ_t p(t) chrF(h; t) for the first texts, of characters, as hypotheses; texts are distinct."""
    ngrams, lengths = cut_ngrams(texts.symbols, texts.offsets, order), texts.lengths
    matches = room_for_matches(order, hypotheses, lengths)
    return _expected_chrf(index_ngrams(ngrams, hypotheses), ngrams, lengths, probabilities, beta, matches)


@kernel(small=200_000)
def _expected_chrf(
    index: InvertedIndex,
    ngrams: NumberedNGrams,
    lengths: NDArray[np.int64],
    probabilities: Floats,
    beta: float,
    matches: NDArray[np.uint8],
) -> Floats:
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


def expected_ter(
    texts: Sequences, hypotheses: int, probabilities: Floats, limits: TERLimits, only_best: bool
) -> Floats:
    """Return Σ_t p(t) max(0, 100 − TER(h; t)) for the first texts as hypotheses; texts are distinct."""
    ngrams = cut_ngrams(texts.symbols, texts.offsets, 1)
    common_words = CommonWords(index_ngrams(ngrams, len(texts)), ngrams, texts.lengths, 100.0 * probabilities)
    common = room_for_matches(1, len(texts), texts.lengths)
    bounds = _bounds(common_words, hypotheses, common)
    order = np.argsort(-bounds, kind="stable")
    return _expected_ter(common_words, texts.symbols, texts.offsets, bounds, order, limits, only_best, common)


class CommonWords(NamedTuple):
    """Common words of any two texts, and how much each text weighs as evidence."""

    words: InvertedIndex
    ngrams: NumberedNGrams
    lengths: NDArray[np.int64]
    weights: Floats


@kernel(small=5_000)
def _bounds(common_words: CommonWords, hypotheses: int, common: NDArray[np.uint8]) -> Floats:
    """Return what the expected gain of each hypothesis cannot exceed."""
    index, ngrams, lengths, weights = common_words
    bounds = np.zeros(hypotheses)
    for h in range(hypotheses):
        count_all(index, ngrams, h, lengths[h], common)
        for text in range(lengths.size):
            if weights[text] > 0.0:
                edits = _fewest_edits(lengths[h], lengths[text], common[0, text], h == text)
                bounds[h] += weights[text] * (1.0 - _rate(edits, lengths[text]))
    return bounds


@kernel(small=5_000)
def _expected_ter(
    common_words: CommonWords,
    symbols: NDArray[np.int32],
    offsets: NDArray[np.int64],
    bounds: Floats,
    order: NDArray[np.int64],
    limits: TERLimits,
    only_best: bool,
    common: NDArray[np.uint8],
) -> Floats:
    """Hypotheses in `order`, by falling bounds; with `only_best`, −inf where the bound falls below what is reached."""
    index, ngrams, lengths, weights = common_words
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
            if fewest >= lengths[text]:  # no gain, whatever the shifts
                continue
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
    """TER, at most 1; any words where none should be are as bad as none right."""
    if length == 0:
        return 1.0 if edits > 0 else 0.0
    return min(edits / length, 1.0)
