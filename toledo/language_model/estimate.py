"""Estimating a language model: interpolated modified Kneser-Ney smoothing as in lmplz (Heafield et al. 2013).

With adjusted counts a and discounts D, for an n-gram of context h and word w, and h' = h without its first word:

    p(w | h) = (a(h w) − D(a(h w))) / Σ_x a(h x)  +  γ(h) p(w | h'),     γ(h) = Σ_x D(a(h x)) / Σ_x a(h x),

down to the uniform distribution over all words including `<unk>` and `</s>`. The back-off weight of h is γ(h).
A pruned n-gram gives its whole count to γ(h).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.errors import InputError
from toledo.kernels import kernel
from toledo.language_model.backoff import MOST_WORDS, BackoffModel, NGrams
from toledo.language_model.counts import CountedNGrams, adjust_counts, count_ngrams
from toledo.language_model.discounts import KINDS, estimate_discounts
from toledo.progress import Progress, silent
from toledo.vocabulary import BEGIN

log = logging.getLogger(__name__)


def estimate(
    sentences: Sentences, order: int = 3, prune: Sequence[int] = (0,), progress: Progress = silent
) -> BackoffModel:
    """A model of n-grams up to `order` words.

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
    return BackoffModel(tuple(_without_pruned(list(_smooth(counted, thresholds, progress)), kept)))


def check_thresholds(order: int, prune: Sequence[int]) -> list[int]:
    """A threshold for each order; that of unigrams is −1, so that `<unk>` and `<s>`, whose counts are 0, stay."""
    if not 1 <= order <= MOST_WORDS:
        raise InputError(f"order {order} of a language model", remedy=f"choose an order from 1 to {MOST_WORDS}")
    thresholds = [*prune, *[prune[-1] if prune else 0] * order][:order]
    if len(prune) > order or any(low > high for low, high in pairwise(thresholds)) or thresholds[0] != 0:
        raise InputError(
            f"pruning thresholds {' '.join(map(str, prune))} for a model of order {order}",
            remedy="give at most one for each order, the first 0 (unigrams are not pruned), none below the one before",
        )
    return [-1, *thresholds[1:]]


def _smooth(counted: list[CountedNGrams], thresholds: Sequence[int], progress: Progress) -> Iterator[NGrams]:
    """The n-grams of each order, pruned ones included; `counted` is emptied on the way to save memory."""
    probabilities = np.full(1, 1 / (counted[0].words.size - 1))  # uniform; `<s>` is never predicted
    below: NGrams | None = None
    with progress("smoothing", len(counted)) as advance:
        for length, threshold in enumerate(thresholds, start=1):
            current = counted.pop(0)
            adjusted = adjust_counts(current, counted[0] if counted else None)
            discounts = estimate_discounts(adjusted, length)
            log.info("%d-grams: %d, discounts %.4f %.4f %.4f", length, adjusted.size, *discounts[1:])
            probabilities, backoffs = _interpolate(current, adjusted, discounts, threshold, probabilities)
            if below is not None:
                yield replace(below, backoffs=backoffs)
            else:
                probabilities[BEGIN] = 1  # as in lmplz: scoring `<s>` itself costs nothing
            below = NGrams(current.contexts, current.words, _log10(probabilities), np.empty(0, np.float32))
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
    """The probabilities of an order, given those of the order below, and the log10 back-off weights of the latter."""
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


def _without_pruned(orders: Sequence[NGrams], kept: Sequence[NDArray[np.bool_]]) -> Iterator[NGrams]:
    """A kept n-gram's context is kept, for it occurs as often and thresholds do not fall."""
    places = np.zeros(1, np.int32)
    for ngrams, keep in zip(orders, kept, strict=True):
        yield NGrams(
            places[ngrams.contexts[keep]],
            ngrams.words[keep],
            ngrams.scores[keep],
            ngrams.backoffs[keep] if ngrams.backoffs.size else ngrams.backoffs,
        )
        places = np.cumsum(keep, dtype=np.int32) - 1
