"""The four scores of a phrase table: phrase probabilities and lexical weights, in both directions.

Natural logarithms in Moses' order, LOWEST_SCORE for a probability of 0 (Koehn, Och and Marcu 2003).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toledo.phrases.extraction import Extraction
from toledo.phrases.lexical_weights import Weights, alignment_weights, model1_weights
from toledo.phrases.lexicon import Lexicons
from toledo.phrases.reordering import reordering_scores
from toledo.phrases.smoothing import Counts, Smoothing, phrase_probabilities
from toledo.phrases.table import LOWEST_SCORE, SCORE_FEATURES

LexicalWeights = Literal["alignment", "model1"]


def score_phrases(
    extraction: Extraction,
    lexicons: Lexicons,
    *,
    smoothing: Smoothing = "none",
    lexical: LexicalWeights = "alignment",
    threads: int | None = None,
) -> NDArray[np.float32]:
    """The scores of each phrase pair, in the order of SCORE_FEATURES."""
    pairs = extraction.pairs
    scores = np.empty((len(pairs), len(SCORE_FEATURES)), np.float32)
    probabilities = phrase_probabilities(counts_of(extraction), smoothing)
    weights = _lexical(extraction, lexicons, lexical, threads)
    scores[:, SCORE_FEATURES.index("phrase.forward")] = logarithms(probabilities.forward)
    scores[:, SCORE_FEATURES.index("phrase.backward")] = logarithms(probabilities.backward)
    scores[:, SCORE_FEATURES.index("lexicon.forward")] = weights.forward
    scores[:, SCORE_FEATURES.index("lexicon.backward")] = weights.backward
    return scores


def score_reordering(extraction: Extraction) -> NDArray[np.float32]:
    """The logarithms of the six reordering probabilities, in the order of REORDERING_FEATURES."""
    return reordering_scores(extraction.orientations)


def counts_of(extraction: Extraction) -> Counts:
    """The counts that probabilities are made of."""
    pairs = extraction.pairs
    marginals = extraction.source_counts, extraction.target_counts
    return Counts(pairs.joint_counts, pairs.source, pairs.target, *marginals)


def logarithms(probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
    """Natural logarithms, at least LOWEST_SCORE."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), np.float32(LOWEST_SCORE))


def _lexical(extraction: Extraction, lexicons: Lexicons, kind: LexicalWeights, threads: int | None) -> Weights:
    if kind == "model1":
        return model1_weights(extraction.pairs, lexicons, threads)
    weights = alignment_weights(extraction.pairs, lexicons, threads)
    weights.backward[extraction.ties] = alignment_weights(extraction.tied, lexicons, threads).backward
    return weights
