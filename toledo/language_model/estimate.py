"""Estimating a language model: interpolated modified Kneser-Ney smoothing as in lmplz (Heafield et al. 2013).

With adjusted counts a and discounts D, for an n-gram of context h and word w, and h' = h without its first word:

    p(w | h) = (a(h w) − D(a(h w))) / Σ_x a(h x)  +  γ(h) p(w | h'),     γ(h) = Σ_x D(a(h x)) / Σ_x a(h x),

down to the uniform distribution over all words including `<unk>` and `</s>`. The back-off weight of h is γ(h).
A pruned n-gram gives its whole count to γ(h).

Counting the n-grams of a text in sorted arrays, and the adjusted counts of Kneser and Ney.

An n-gram is numbered as the pair (number of its first n−1 words, last word), order by order: exact, without hashing,
and in linear time. Adjusted counts (Heafield et al. 2013, section 3.2): an n-gram of the highest order or one that
begins with `<s>` has its count in the text; any other has the number of distinct words that stand before it.

The discounts of modified Kneser-Ney smoothing (Chen and Goodman 1998, equation 26).

With n_k n-grams of adjusted count k and Y = n_1 / (n_1 + 2 n_2), the discount of count k is
D_k = k − (k + 1) Y n_{k+1} / n_k for k = 1, 2 and 3 (3 or more).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.sorting import MOST_ITEMS, rank_pairs
from toledo.errors import InputError
from toledo.language_model.backoff import MOST_WORDS, BackoffModel, NGramTable, refuse_boundaries, with_boundaries
from toledo.progress import Progress, silent
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import BEGIN, RESERVED

log = logging.getLogger(__name__)

KINDS = 3  # separate discounts for counts 1, 2, and 3 or more
FALLBACK = (0.0, 0.5, 1.0, 1.5)  # lmplz's choice where a small text does not allow an estimate


@dataclass(frozen=True)
class CountedNGrams:
    """N-grams of one order, sorted: context, last word, the n-gram without its first word, and count in the text."""

    contexts: NDArray[np.int32]
    words: NDArray[np.int32]
    suffixes: NDArray[np.int32]
    counts: NDArray[np.int32]


def count_ngrams(sentences: Sentences, order: int, progress: Progress = silent) -> list[CountedNGrams]:
    """Return the n-grams of each order up to `order`, with one `<s>` before and one `</s>` after each sentence."""
    if sentences.words.size + 2 * len(sentences) > MOST_ITEMS:
        raise ValueError(f"at most {MOST_ITEMS} words can be counted at once")
    refuse_boundaries(sentences)
    with progress("counting n-grams", order) as advance:
        tokens, bounds = with_boundaries(sentences.words, sentences.offsets, 0, len(sentences))
        numbers, unigrams = _number_unigrams(tokens)
        advance(1)
        counted = [unigrams]
        for length in range(2, order + 1):
            counted.append(_number_longer(tokens, bounds, numbers, length))
            advance(1)
    return counted


def _number_unigrams(tokens: NDArray[np.int32]) -> tuple[NDArray[np.int32], CountedNGrams]:
    occurrences = np.bincount(tokens, minlength=len(RESERVED))
    present = occurrences > 0
    present[: len(RESERVED)] = True
    occurrences[BEGIN] = 0  # never predicted
    words = np.flatnonzero(present).astype(np.int32)
    numbers = (np.cumsum(present, dtype=np.int32) - 1)[tokens]
    root = np.zeros_like(words)
    return numbers, CountedNGrams(root, words, root, occurrences[words].astype(np.int32))


def _number_longer(
    tokens: NDArray[np.int32], bounds: NDArray[np.int64], numbers: NDArray[np.int32], length: int
) -> CountedNGrams:
    """Number the n-grams that end at each token; `numbers` of the order below is overwritten."""
    contexts, words, suffixes = _pairs(tokens, bounds, numbers, length)
    ranks = rank_pairs(contexts, words)
    _renumber(bounds, numbers, ranks.of, length)
    first = ranks.first
    return CountedNGrams(contexts[first], words[first], suffixes[first], ranks.counts)


@kernel
def _pairs(
    tokens: NDArray[np.int32], bounds: NDArray[np.int64], lower: NDArray[np.int32], length: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return context, last word and suffix of each n-gram; `lower[i]` is the shorter n-gram that ends at token i."""
    total = 0
    for s in range(bounds.size - 1):
        total += max(0, bounds[s + 1] - bounds[s] - length + 1)
    contexts, words, suffixes = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int32)
    place = 0
    for s in range(bounds.size - 1):
        for i in range(bounds[s] + length - 1, bounds[s + 1]):
            contexts[place] = lower[i - 1]
            words[place] = tokens[i]
            suffixes[place] = lower[i]
            place += 1
    return contexts, words, suffixes


@kernel
def _renumber(bounds: NDArray[np.int64], numbers: NDArray[np.int32], ranks: NDArray[np.int32], length: int) -> None:
    place = 0
    for s in range(bounds.size - 1):
        for i in range(bounds[s] + length - 1, bounds[s + 1]):
            numbers[i] = ranks[place]
            place += 1


@kernel
def _distinct_left(counts: NDArray[np.int32], suffixes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of distinct words before each n-gram, and the count itself for those that begin with `<s>`."""
    adjusted = np.zeros(counts.size, np.int32)
    for suffix in suffixes:
        adjusted[suffix] += 1
    for i in range(counts.size):
        if adjusted[i] == 0:
            adjusted[i] = counts[i]
    return adjusted


def estimate_discounts(adjusted: NDArray[np.int32], order: int) -> NDArray[np.float64]:
    """Return the discounts of the counts 0, 1, 2, and 3 or more; fixed ones, with a warning, for a small text."""
    frequencies = np.bincount(np.minimum(adjusted, KINDS + 2), minlength=KINDS + 3).tolist()
    discounts = _from_counts_of_counts(frequencies)
    if discounts is None:
        log.warning(
            "the text is too small to estimate the discounts of %d-grams: %s of them with counts 1 to 4; using %s",
            order,
            ", ".join(map(str, frequencies[1 : KINDS + 2])),
            ", ".join(map(str, FALLBACK[1:])),
        )
        discounts = list(FALLBACK)
    return np.array(discounts, np.float64)


def _from_counts_of_counts(frequencies: list[int]) -> list[float] | None:
    """Return None if a discount is undefined or outside 0 < D_k ≤ k (0 could leave no mass to back off)."""
    if 0 in frequencies[1 : KINDS + 1]:
        return None
    ratio = frequencies[1] / (frequencies[1] + 2 * frequencies[2])
    counts = range(1, KINDS + 1)
    discounts = [k - (k + 1) * ratio * frequencies[k + 1] / frequencies[k] for k in counts]
    return [0.0, *discounts] if all(0 < d <= k for k, d in zip(counts, discounts, strict=True)) else None


def estimate(
    sentences: Sentences, order: int = 3, prune: Sequence[int] = (0,), progress: Progress = silent
) -> BackoffModel:
    """Return a model of n-grams up to `order` words.

    `prune` has a threshold for each order, the last one standing for all higher orders: n-grams that occur that often
    or less are left out. As in lmplz, thresholds may not fall, and unigrams are never pruned.
    """
    thresholds = check_thresholds(order, prune)
    if not len(sentences):
        raise InputError("a language model needs at least one sentence", remedy="give a text of one sentence per line")
    counted = count_ngrams(sentences, order, progress)
    if max(thresholds) <= 0:
        return BackoffModel(tuple(_smooth(counted, thresholds, progress)))
    kept = [ngrams.counts > threshold for ngrams, threshold in zip(counted, thresholds, strict=True)]
    return BackoffModel(tuple(_without_pruned(_smooth(counted, thresholds, progress), kept)))


def check_thresholds(order: int, prune: Sequence[int]) -> list[int]:
    """Return a threshold for each order; that of unigrams is −1, to keep `<unk>` and `<s>`, whose counts are 0."""
    if not 1 <= order <= MOST_WORDS:
        raise InputError(f"order {order} of a language model", remedy=f"choose an order from 1 to {MOST_WORDS}")
    thresholds = [*prune, *[prune[-1] if prune else 0] * order][:order]
    if len(prune) > order or any(low > high for low, high in pairwise(thresholds)) or thresholds[0] != 0:
        raise InputError(
            f"pruning thresholds {' '.join(map(str, prune))} for a model of order {order}",
            remedy="give at most one for each order, the first 0 (unigrams are not pruned), none below the one before",
        )
    return [-1, *thresholds[1:]]


def _smooth(counted: list[CountedNGrams], thresholds: Sequence[int], progress: Progress) -> Iterator[NGramTable]:
    """Yield the n-grams of each order, pruned ones included; `counted` is emptied on the way to save memory."""
    probabilities = np.full(1, 1 / (counted[0].words.size - 1))  # uniform; `<s>` is never predicted
    below: NGramTable | None = None
    with progress("smoothing", len(counted)) as advance:
        for length, threshold in enumerate(thresholds, start=1):
            current = counted.pop(0)
            adjusted = _distinct_left(current.counts, counted[0].suffixes) if counted else current.counts
            discounts = estimate_discounts(adjusted, length)
            log.info("%d-grams: %d, discounts %.4f %.4f %.4f", length, adjusted.size, *discounts[1:])
            probabilities, backoffs = _interpolate(current, adjusted, discounts, threshold, probabilities)
            if below is not None:
                yield replace(below, backoffs=backoffs)
            else:
                probabilities[BEGIN] = 1  # as in lmplz: scoring `<s>` itself costs nothing
            below = NGramTable(current.contexts, current.words, _log10(probabilities), np.empty(0, np.float32))
            advance(1)
    if below is not None:
        yield below


def _interpolate(
    ngrams: CountedNGrams,
    adjusted: NDArray[np.int32],
    discounts: NDArray[np.float64],
    threshold: int,
    lower: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the probabilities of an order, given those of the order below, and its log10 back-off weights."""
    probabilities, masses = np.empty(adjusted.size), np.ones(lower.size)
    _interpolate_contexts(
        ngrams.contexts, ngrams.suffixes, ngrams.counts, adjusted, discounts, threshold, lower, probabilities, masses
    )
    return probabilities, _log10(masses)


@kernel
def _interpolate_contexts(
    contexts: NDArray[np.int32],
    suffixes: NDArray[np.int32],
    counts: NDArray[np.int32],
    adjusted: NDArray[np.int32],
    discounts: NDArray[np.float64],
    threshold: int,
    lower: NDArray[np.float64],
    probabilities: NDArray[np.float64],
    masses: NDArray[np.float64],
) -> None:
    """Fill in the probability of each n-gram and the mass that each context leaves to the order below."""
    begin = 0
    while begin < contexts.size:
        total, mass = 0, 0.0
        end = begin
        while end < contexts.size and contexts[end] == contexts[begin]:
            total += adjusted[end]
            mass += discounts[min(adjusted[end], KINDS)] if counts[end] > threshold else adjusted[end]
            end += 1
        mass /= total
        masses[contexts[begin]] = mass
        for i in range(begin, end):
            rest = adjusted[i] - discounts[min(adjusted[i], KINDS)]
            probabilities[i] = rest / total + mass * lower[suffixes[i]]
        begin = end


@kernel
def _log10(values: NDArray[np.float64]) -> NDArray[np.float32]:
    result = np.empty(values.size, np.float32)
    for i in range(values.size):
        result[i] = min(np.log10(values[i]), 0.0)  # a sum may exceed 1 by a rounding error
    return result


def _without_pruned(orders: Iterable[NGramTable], kept: Sequence[NDArray[np.bool_]]) -> Iterator[NGramTable]:
    """Leave out pruned n-grams; the context of a kept n-gram is kept, since thresholds do not fall."""
    places = np.zeros(1, np.int32)
    for ngrams, keep in zip(orders, kept, strict=True):
        backoffs = ngrams.backoffs[keep] if ngrams.backoffs.size else ngrams.backoffs
        yield NGramTable(places[ngrams.contexts[keep]], ngrams.words[keep], ngrams.scores[keep], backoffs)
        places = np.cumsum(keep, dtype=np.int32) - 1
