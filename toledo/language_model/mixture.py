"""The weights of a mixture of language models that give the lowest perplexity on a text, by expectation maximisation.

p(w | h) = Σ_i λ_i p_i(w | h). Each step sets λ_i to the mean over the text of λ_i p_i / Σ_j λ_j p_j, which never makes
the text less likely (Dempster, Laird and Rubin 1977); there is one optimum, for the logarithm is concave.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.errors import InputError
from toledo.language_model.query import LanguageModel
from toledo.vocabulary import UNKNOWN

log = logging.getLogger(__name__)

MOST_STEPS = 1000
SMALLEST_CHANGE = 1e-7
LEAST_WEIGHT = 1e-6  # words that only one model knows must keep a probability


def tune_weights(models: Sequence[LanguageModel], text: Sentences) -> NDArray[np.float64]:
    """The best weights for a text. A model gives unknown words no probability; those of no model are left out."""
    probabilities = np.stack([_probabilities(model, text) for model in models])
    probabilities = probabilities[:, probabilities.any(axis=0)]
    if not probabilities.size:
        raise InputError("no language model knows a word of the text to tune on", remedy="give another text")
    weights = np.full(len(models), 1 / len(models))
    for _ in range(MOST_STEPS):
        shares = weights[:, None] * probabilities
        before, weights = weights, (shares / shares.sum(axis=0)).mean(axis=1)
        if np.abs(weights - before).max() < SMALLEST_CHANGE:
            break
    weights = np.maximum(weights, LEAST_WEIGHT)
    weights = np.asarray(weights / weights.sum())
    log.info("weights: %s", " ".join(f"{weight:.4f}" for weight in weights))
    return weights


def _probabilities(model: LanguageModel, text: Sentences) -> NDArray[np.float64]:
    words, scores = model.word_scores(text)
    return np.where(words == UNKNOWN, 0.0, 10.0**scores)
