"""A model with trained probabilities, and one with the lexicon features that can be trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from toledo.model import PhraseModel
from toledo.phrases.lexicon import Lexicon, Lexicons, model1_weights
from toledo.phrases.table import LOWEST_SCORE
from toledo.refinement.distributions import LEXICON, PHRASE, Values, Vector
from toledo.refinement.objective import TrainedParameters, lexicons_of


def with_word_sums(model: PhraseModel, threads: int | None = None) -> PhraseModel:
    """The model with the lexicon features of He and Deng (formula 5), computed from its word lexicons."""
    lexicons, scores = lexicons_of(model), np.array(model.table.scores)
    for name, sums in zip(LEXICON, model1_weights(model.table.pairs, lexicons, threads), strict=True):
        scores[:, model.table.feature_names.index(name)] = sums
    return _with_scores(model, scores)


def has_word_sums(model: PhraseModel) -> bool:
    """Return whether the lexicon features are sums over words already, as in models trained with `lexical="model1"`."""
    if model.word_lexicons is None or not set(LEXICON) <= set(model.table.feature_names):
        return False
    columns = [model.table.feature_names.index(name) for name in LEXICON]
    sums = model1_weights(model.table.pairs, model.word_lexicons)
    return np.allclose(model.table.scores[:, columns], np.column_stack([sums.forward, sums.backward]), atol=1e-3)


def refined_model(parameters: TrainedParameters, values: Values, threads: int | None = None) -> PhraseModel:
    """The model with these probabilities instead of its own; what has not moved stays as it was, to the last bit."""
    model, families = parameters.model, parameters.families
    scores = np.array(model.table.scores)
    for name in set(PHRASE) & set(parameters.names):
        _move(scores, model, name, np.log(values[name] / families[name].prior))
    trained = set(LEXICON) & set(parameters.names)
    if not trained:
        return _with_scores(model, scores)
    given = lexicons_of(model)
    lexicons = Lexicons(
        *(
            _moved(lexicon, values[name] / families[name].prior) if name in trained else lexicon
            for name, lexicon in zip(LEXICON, given, strict=True)
        )
    )
    old, new = (model1_weights(model.table.pairs, one, threads) for one in (given, lexicons))
    for name, before, after in zip(LEXICON, old, new, strict=True):
        if name in trained:
            _move(scores, model, name, after.astype(np.float64) - before)
    return replace(_with_scores(model, scores), word_lexicons=lexicons)


def _move(scores: NDArray[np.float32], model: PhraseModel, name: str, change: Vector) -> None:
    """Add to a feature of all phrase pairs."""
    column = model.table.feature_names.index(name)
    scores[:, column] = np.maximum(scores[:, column] + change, LOWEST_SCORE)


def _moved(lexicon: Lexicon, ratios: Vector) -> Lexicon:
    return lexicon._replace(probabilities=(lexicon.probabilities * ratios).astype(np.float32))


def _with_scores(model: PhraseModel, scores: NDArray[np.float32]) -> PhraseModel:
    return replace(model, table=replace(model.table, scores=scores))
