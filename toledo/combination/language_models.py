"""The language model of a combination: components mixed for the tuning set, and a part that knows the outputs.

After Rosti et al. (2011): components are mixed with the weights of lowest perplexity on the references of the tuning
set; a *biased* model, estimated from the systems' outputs on the set to be combined, is mixed in,

    p(w | h) = (1 − β) p_general(w | h) + β p_biased(w | h),

with β from 0.1 to 0.9. As in the paper, the BLEU of the combination on the tuning set can choose it, which needs one
tuning for each (`BiasedModels`); perplexity on the references is cheaper (`likely_bias`). A mixture is a back-off
model, too, so a lattice is scored in one pass (`toledo.forest.ngrams.rescore`), at the price of two CPU seconds for
three million n-grams. The biased model has every word of the outputs, so that no word of a lattice is unknown to the
mixture.

All models share the vocabulary of the lattices. Texts are lower-cased and tokenized as the outputs are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from toledo.language_model.backoff import BackoffModel
from toledo.language_model.estimate import estimate
from toledo.language_model.interpolate import interpolate, tune_weights
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import RESERVED, UNKNOWN

ORDER = 5
BIASES = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))
NEVER = -90.0  # log10; files of models without `<unk>` say −99, or nothing and it is read as −100


def estimate_model(texts: Sequence[Sentences], order: int = ORDER) -> LanguageModel:
    """Modified Kneser-Ney from some texts together; of the outputs of all systems, it is the biased model."""
    words = np.concatenate([np.empty(0, np.int32), *(text.words for text in texts)])
    lengths = np.concatenate([np.empty(0, np.int64), *(text.lengths for text in texts)])
    messages = logging.getLogger("toledo.language_model")
    level = messages.level
    if not messages.isEnabledFor(logging.DEBUG):
        messages.setLevel(logging.ERROR)  # nothing on discounts: outputs are always few
    try:
        return LanguageModel(estimate(Sentences.from_lengths(words, lengths), order))
    finally:
        messages.setLevel(level)


def mix_components(components: Sequence[LanguageModel], references: Sentences) -> LanguageModel:
    """Mix components (estimated, or read from ARPA files) for the lowest perplexity on the references."""
    opened = [open_vocabulary(component) for component in components]
    return interpolate(opened, tune_weights(opened, references)) if len(opened) > 1 else opened[0]


def add_bias(general: LanguageModel, biased: LanguageModel, weight: float) -> LanguageModel:
    """Return the mixture of both in which the biased model has a weight between 0 and 1."""
    return interpolate([general, biased], [1.0 - weight, weight])


class BiasedModels(NamedTuple):
    """A general model and one of the outputs; their mixtures are made one at a time, since they may be large."""

    general: LanguageModel
    biased: LanguageModel

    def mixture(self, weight: float) -> LanguageModel:
        """Return the mixture in which the biased model has a weight."""
        return add_bias(self.general, self.biased, weight)


def likely_bias(general: LanguageModel, biased: LanguageModel, references: Sentences) -> float:
    """Return the weight of the biased model with the lowest perplexity on the references, rounded to a tenth."""
    weight = float(tune_weights([general, biased], references)[1])
    return round(min(max(weight, BIASES[0]), BIASES[-1]), 1)


def cut_order(model: LanguageModel, order: int) -> LanguageModel:
    """Return the model without its n-grams of more than `order` words, for lattices that know shorter contexts alone.

    The rest of a Kneser-Ney model is still a distribution.
    """
    if order < 1:
        raise ValueError("the order of a language model must be at least 1")
    if order >= model.order:
        return model
    *shorter, last = model.ngrams.orders[:order]
    return LanguageModel(BackoffModel((*shorter, replace(last, backoffs=np.empty(0, np.float32)))))


def open_vocabulary(model: LanguageModel) -> LanguageModel:
    """Return the model itself if `<unk>` is possible; otherwise it gets the probability of the rarest word.

    A word that costs 99 orders of magnitude would decide every lattice, whatever the systems say.
    """
    unigrams = model.ngrams.orders[0]
    if unigrams.scores[UNKNOWN] > NEVER:
        return model
    possible = unigrams.scores[len(RESERVED) :]
    possible = possible[possible > NEVER]
    scores = unigrams.scores.copy()
    scores[UNKNOWN] = possible.min() if possible.size else 0.0
    return LanguageModel(BackoffModel((replace(unigrams, scores=scores), *model.ngrams.orders[1:])))
