"""The four scores of a phrase table: phrase probabilities and lexical weights, in both directions.

Natural logarithms in Moses' order, LOWEST_SCORE for a probability of 0 (Koehn, Och and Marcu 2003).

Phrase translation probabilities from counts: relative frequencies, or smoothed (Foster, Kuhn and Johnson 2006).

Kneser-Ney, modified: p(e|f) = (c(e,f) − D(c)) / c(f) + α(f) · n(e) / n, where n(e) counts the pairs with e, n all
pairs, and α(f) is the mass that the discounts D take from the pairs of f; so Σ_e p(e|f) = 1.
Good-Turing: counts up to 8 are multiplied by the ratio of the expected to the observed count; the mass is not given
to anything.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.phrases.extraction import Extraction
from toledo.phrases.lexicon import Lexicons, PairWeights, alignment_weights, model1_weights
from toledo.phrases.settings import LexicalWeights, Smoothing
from toledo.phrases.spans import ORIENTATIONS
from toledo.phrases.table import LOWEST_SCORE, SCORE_FEATURES

log = logging.getLogger(__name__)

LARGEST_ADJUSTED = 8  # Good-Turing leaves larger counts alone: counts of counts are too noisy there
USUAL_DISCOUNTS = (0.5, 1.0, 1.5)
LARGEST_DISCOUNTS = (0.9, 1.9, 2.9)
REORDERING_SMOOTHING = 0.5  # added to each count


class Counts(NamedTuple):
    """Counts of pairs, the numbers of their two phrases, and the counts of the phrases."""

    joint: NDArray[np.float32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    of_source: NDArray[np.float32]
    of_target: NDArray[np.float32]


class Probabilities(NamedTuple):
    """Of each pair: forward p(target | source), backward p(source | target)."""

    forward: NDArray[np.float32]
    backward: NDArray[np.float32]


def phrase_probabilities(counts: Counts, smoothing: Smoothing = "none") -> Probabilities:
    """Return both directions, smoothed as asked for."""
    factors, taken = np.ones(LARGEST_ADJUSTED + 2), np.zeros(LARGEST_ADJUSTED + 2)
    if smoothing == "good-turing":
        factors = good_turing_factors(counts.joint)
    elif smoothing == "kneser-ney":
        taken[1], taken[2], taken[3:] = discounts(counts.joint)
    joint, source, target, of_source, of_target = counts
    return Probabilities(
        _conditional(joint, source, target, of_source, of_target.size, factors, taken),
        _conditional(joint, target, source, of_target, of_source.size, factors, taken),
    )


@kernel
def _conditional(
    joint: NDArray[np.float32],
    given: NDArray[np.int32],
    predicted: NDArray[np.int32],
    totals: NDArray[np.float32],
    predicted_size: int,
    factors: NDArray[np.float64],
    taken: NDArray[np.float64],
) -> NDArray[np.float32]:
    """(factor(c) c − D(c) + mass taken from the given phrase · the predicted phrase's share in all pairs) / total."""
    mass, pairs = np.zeros(totals.size, np.float64), np.zeros(predicted_size, np.int64)
    for p in range(joint.size):
        mass[given[p]] += taken[min(int(joint[p]), taken.size - 1)]
        pairs[predicted[p]] += 1
    probabilities = np.empty(joint.size, np.float32)
    for p in range(joint.size):
        c = min(int(joint[p]), taken.size - 1)
        lower = mass[given[p]] * pairs[predicted[p]] / joint.size
        probabilities[p] = (factors[c] * joint[p] - taken[c] + lower) / totals[given[p]]
    return probabilities


def discounts(joint: NDArray[np.float32]) -> tuple[float, float, float]:
    """D1, D2, D3+ of modified Kneser-Ney (Chen and Goodman 1998), within bounds; usual ones for a tiny table."""
    n1, n2, n3, n4 = (float(np.count_nonzero(joint == count)) for count in range(1, 5))
    if 0 in (n1, n2, n3, n4):
        log.warning("too few phrase pairs to estimate Kneser-Ney discounts: using %s, %s and %s", *USUAL_DISCOUNTS)
        return USUAL_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    estimates = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    d1, d2, d3 = (min(max(value, 0.0), most) for value, most in zip(estimates, LARGEST_DISCOUNTS, strict=True))
    return d1, d2, d3


def good_turing_factors(joint: NDArray[np.float32]) -> NDArray[np.float64]:
    """(c + 1) n_{c+1} / (c n_c) for counts c up to 8, at most 1 and rising with c, then 1; Moses adds 0.1 to each n."""
    seen = np.array([np.count_nonzero(joint == count) for count in range(LARGEST_ADJUSTED + 2)]) + 0.1
    factors = np.ones(LARGEST_ADJUSTED + 2)
    factors[0] = 0.01
    for count in range(1, LARGEST_ADJUSTED + 1):
        estimate = (count + 1) / count * seen[count + 1] / seen[count]
        factors[count] = max(min(estimate, 1.0), factors[count - 1])
    return factors


def score_phrases(
    extraction: Extraction,
    lexicons: Lexicons,
    *,
    smoothing: Smoothing = "none",
    lexical: LexicalWeights = "alignment",
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Return the scores of each phrase pair, in the order of SCORE_FEATURES."""
    pairs = extraction.pairs
    scores = np.empty((len(pairs), len(SCORE_FEATURES)), np.float32)
    probabilities = phrase_probabilities(counts_of(extraction), smoothing)
    weights = _lexical(extraction, lexicons, lexical, threads)
    scores[:, SCORE_FEATURES.index("phrase.forward")] = logarithms(probabilities.forward)
    scores[:, SCORE_FEATURES.index("phrase.backward")] = logarithms(probabilities.backward)
    scores[:, SCORE_FEATURES.index("lexicon.forward")] = weights.forward
    scores[:, SCORE_FEATURES.index("lexicon.backward")] = weights.backward
    return scores


def counts_of(extraction: Extraction) -> Counts:
    """Return the counts that probabilities are made of."""
    pairs = extraction.pairs
    marginals = extraction.source_counts, extraction.target_counts
    return Counts(pairs.joint_counts, pairs.source, pairs.target, *marginals)


def logarithms(probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return natural logarithms, at least LOWEST_SCORE."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), np.float32(LOWEST_SCORE))


def _lexical(extraction: Extraction, lexicons: Lexicons, kind: LexicalWeights, threads: int | None) -> PairWeights:
    if kind == "model1":
        return model1_weights(extraction.pairs, lexicons, threads)
    weights = alignment_weights(extraction.pairs, lexicons, threads)
    weights.backward[extraction.ties] = alignment_weights(extraction.tied, lexicons, threads).backward
    return weights


@kernel
def reordering_scores(counts: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return log probabilities of six orientations of each phrase pair, from counts (previous, next × orientation)."""
    scores = np.empty(counts.shape, np.float32)
    for p in range(counts.shape[0]):
        for first in range(0, counts.shape[1], ORIENTATIONS):
            total = ORIENTATIONS * REORDERING_SMOOTHING
            for kind in range(first, first + ORIENTATIONS):
                total += counts[p, kind]
            for kind in range(first, first + ORIENTATIONS):
                scores[p, kind] = np.log((counts[p, kind] + REORDERING_SMOOTHING) / total)
    return scores
