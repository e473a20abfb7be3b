"""Static interpolation: a mixture of language models as one back-off model (Stolcke 2002, `ngram -mix-lm`).

The n-grams are those of all models, each with p(w | h) = Σ_i λ_i p_i(w | h), where p_i backs off as model i does and is
0 for words that model i does not know. With S(h) the words listed after h, and h' = h without its first word,

    backoff(h) = (1 − Σ_{w ∈ S(h)} p(w | h)) / (1 − Σ_{w ∈ S(h)} p(w | h')),

so that probabilities add up to 1 after every context.

The weights of a mixture of language models that give the lowest perplexity on a text, by expectation maximization.

p(w | h) = Σ_i λ_i p_i(w | h). Each step sets λ_i to the mean over the text of λ_i p_i / Σ_j λ_j p_j, which never makes
the text less likely (Dempster, Laird and Rubin 1977); there is one optimum, for the logarithm is concave.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.sorting import rank_pairs
from toledo.errors import InputError
from toledo.language_model.automaton import NO_CONTEXT, NOT_A_WORD, Automaton, advance, build_automaton
from toledo.language_model.backoff import BackoffModel, NGramTable
from toledo.language_model.model import LanguageModel
from toledo.progress import Progress, silent
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import BEGIN, UNKNOWN

log = logging.getLogger(__name__)

LEAST_MASS = 1e-6  # rounding error of the mass that is left to words not listed
MOST_STEPS = 1000
SMALLEST_CHANGE = 1e-7
LEAST_WEIGHT = 1e-6  # words that only one model knows must keep a probability


def interpolate(
    models: Sequence[LanguageModel], weights: Sequence[float] | NDArray[np.float64], progress: Progress = silent
) -> LanguageModel:
    """Return the mixture of models over one vocabulary; weights are positive and add up to 1."""
    shares = np.asarray(weights, np.float64)
    if not models or len(models) != shares.size or shares.min() <= 0 or abs(shares.sum() - 1) > 1e-6:
        raise ValueError("interpolation needs a positive weight for each model, and weights that add up to 1")
    order = max(model.order for model in models)
    mixture = _Mixture([model.automaton for model in models], shares)
    with progress("interpolating", order) as step:
        for contexts, words in _union([model.ngrams for model in models]):
            mixture.add(contexts, words)
            step(1)
    return LanguageModel(BackoffModel(tuple(mixture.orders)))


def _union(models: Sequence[BackoffModel]) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return the contexts and words of the n-grams of each order that any of the models has, sorted."""
    union = []
    places = [np.zeros(1, np.int32) for _ in models]  # of each model's n-grams in the union
    for order in range(max(model.order for model in models)):
        have = [i for i, model in enumerate(models) if order < model.order]
        contexts = np.concatenate([places[i][models[i].orders[order].contexts] for i in have])
        words = np.concatenate([models[i].orders[order].words for i in have])
        ranks = rank_pairs(contexts, words)
        union.append((contexts[ranks.first], words[ranks.first]))
        ends = np.cumsum([len(models[i].orders[order]) for i in have])
        for i, part in zip(have, np.split(ranks.of, ends[:-1]), strict=True):
            places[i] = part
    return union


class _Mixture:
    """Grows order by order; keeps each model's state after each n-gram of the order added last."""

    def __init__(self, automata: list[Automaton], weights: NDArray[np.float64]) -> None:
        self.orders: list[NGramTable] = []
        self._automata = automata
        self._weights = weights
        self._states = [np.full(1, NO_CONTEXT, np.int32) for _ in automata]

    def add(self, contexts: NDArray[np.int32], words: NDArray[np.int32]) -> None:
        """Add the n-grams of the next order."""
        probabilities = np.zeros(words.size)
        for i, (automaton, weight) in enumerate(zip(self._automata, self._weights, strict=True)):
            own, self._states[i] = _probabilities(automaton, self._states[i], contexts, words)
            probabilities += weight * own
        if not self.orders:
            probabilities[BEGIN] = 1  # never predicted; scoring it costs nothing
        else:
            self._back_off(contexts, words, probabilities)
        scores = np.minimum(np.log10(probabilities), 0).astype(np.float32)
        self.orders.append(NGramTable(contexts, words, scores, np.empty(0, np.float32)))

    def _back_off(
        self, contexts: NDArray[np.int32], words: NDArray[np.int32], probabilities: NDArray[np.float64]
    ) -> None:
        """Give the order added last its back-off weights, now that it is known what extends it."""
        lower = build_automaton(BackoffModel(tuple(self.orders)))
        states = np.full(1, NO_CONTEXT, np.int32)
        for ngrams in self.orders:
            states = _probabilities(lower, states, ngrams.contexts, ngrams.words)[1]
        shorter, _ = _probabilities(lower, states, contexts, words)
        last = self.orders[-1]
        left = 1 - np.bincount(contexts, probabilities, len(last))
        left_below = 1 - np.bincount(contexts, shorter, len(last))
        backoffs = np.log10(np.maximum(left, LEAST_MASS) / np.maximum(left_below, LEAST_MASS))
        extended = np.bincount(contexts, minlength=len(last)) > 0
        backoffs = np.where(extended & (left_below > LEAST_MASS), backoffs, 0)  # 0 if all words are listed
        self.orders[-1] = NGramTable(last.contexts, last.words, last.scores, backoffs.astype(np.float32))


@kernel
def _probabilities(
    automaton: Automaton, states: NDArray[np.int32], contexts: NDArray[np.int32], words: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return the probability of each n-gram, 0 if the model does not know its last word, and the state after it."""
    probabilities, after = np.zeros(words.size, np.float64), np.empty(words.size, np.int32)
    for i in range(words.size):
        score, after[i] = advance(automaton, states[contexts[i]], words[i])
        if words[i] < automaton.unigrams.size and automaton.unigrams[words[i]]["next"] != NOT_A_WORD:
            probabilities[i] = 10.0**score
    return probabilities, after


def tune_weights(models: Sequence[LanguageModel], text: Sentences) -> NDArray[np.float64]:
    """Return the best weights for a text, without the words that no model knows."""
    words_and_scores = (model.word_scores(text) for model in models)
    probabilities = np.stack([np.where(words == UNKNOWN, 0.0, 10.0**scores) for words, scores in words_and_scores])
    probabilities = probabilities[:, probabilities.any(axis=0)]
    if not probabilities.size:
        raise InputError("no language model knows a word of the text to tune on", remedy="give another text")
    weights = mixture_weights(probabilities, np.ones(probabilities.shape[1]))
    log.info("weights: %s", " ".join(f"{weight:.4f}" for weight in weights))
    return weights


def mixture_weights(probabilities: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of models that make events most likely, each seen `counts` times.

    `probabilities[model, event]` must not be 0 for all models.
    """
    weights, total = np.full(len(probabilities), 1 / len(probabilities)), counts.sum()
    for _ in range(MOST_STEPS):
        shares = weights[:, None] * probabilities
        before, weights = weights, (shares / shares.sum(axis=0) * counts).sum(axis=1) / total
        if np.abs(weights - before).max() < SMALLEST_CHANGE:
            break
    weights = np.maximum(weights, LEAST_WEIGHT)
    return np.asarray(weights / weights.sum())
