"""A model with trained probabilities, and one with the lexicon features that can be trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from toledo.model import Model
from toledo.phrases.lexical_weights import model1_weights
from toledo.phrases.lexicon import Lexicons
from toledo.phrases.scoring import logarithms
from toledo.refinement.distributions import LEXICON, PHRASE, Values
from toledo.refinement.objective import Parameters, lexicons_of


def with_word_sums(model: Model, threads: int | None = None) -> Model:
    """The model with the lexicon features of He and Deng (formula 5), computed from its word lexicons."""
    return _with_lexicons(model, lexicons_of(model), threads)


def has_word_sums(model: Model) -> bool:
    """Whether the lexicon features are those already, as in models trained with --lexical model1."""
    if model.word_lexicons is None or not set(LEXICON) <= set(model.table.feature_names):
        return False
    columns = [model.table.feature_names.index(name) for name in LEXICON]
    sums = model1_weights(model.table.pairs, model.word_lexicons)
    return np.allclose(model.table.scores[:, columns], np.column_stack([sums.forward, sums.backward]), atol=1e-3)


def refined_model(parameters: Parameters, values: Values, threads: int | None = None) -> Model:
    """The model with these probabilities instead of its own."""
    model, families = parameters.model, parameters.families
    scores = np.array(model.table.scores)
    for name in set(PHRASE) & set(parameters.names):
        probabilities = families[name].probabilities(values[name])
        scores[:, model.table.feature_names.index(name)] = logarithms(probabilities.astype(np.float64))
    model = replace(model, table=replace(model.table, scores=scores))
    if not set(LEXICON) & set(parameters.names):
        return model
    given = lexicons_of(model)
    own = {
        name: getattr(given, name.removeprefix("lexicon."))._replace(
            probabilities=families[name].probabilities(values[name]).astype(np.float32)
        )
        for name in set(LEXICON) & set(parameters.names)
    }
    lexicons = Lexicons(own.get(LEXICON[0], given.forward), own.get(LEXICON[1], given.backward))
    return _with_lexicons(model, lexicons, threads)


def _with_lexicons(model: Model, lexicons: Lexicons, threads: int | None) -> Model:
    sums, scores = model1_weights(model.table.pairs, lexicons, threads), np.array(model.table.scores)
    for name, values in zip(LEXICON, (sums.forward, sums.backward), strict=True):
        scores[:, model.table.feature_names.index(name)] = values
    return replace(model, table=replace(model.table, scores=scores), word_lexicons=lexicons)
