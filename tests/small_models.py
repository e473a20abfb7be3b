"""A small model for tests: a handful of phrase pairs and a language model of a few lines."""

import logging

import numpy as np
import small_tables

from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel, SearchSettings, default_weights, feature_names
from toledo.phrases.lexicon import Lexicon, Lexicons
from toledo.text.corpus import Sentences
from toledo.weights import Weights

CONTENT = {
    (("das",), ("the",)): (-0.1, -0.2, -0.3, -0.4),
    (("das",), ("that",)): (-1.0, -1.5, -0.9, -1.1),
    (("haus",), ("house",)): (-0.1, -0.1, -0.2, -0.2),
    (("das", "haus"), ("the", "house")): (-0.5, -0.6, -0.1, -0.2),
    (("klein",), ("small",)): (-0.3, -0.1, -0.2, -0.7),
    (("ist",), ("is",)): (-0.1, -0.1, -0.1, -0.1),
}
TEXT = ["the house is small", "that is the house", "the small house", "that house is small"] * 3


def small_model(reordering: bool = False, order: int = 3) -> PhraseModel:
    table = small_tables.make_table(CONTENT, reordering)
    words = [[table.target_vocabulary.add(word) for word in line.split()] for line in TEXT]
    logging.disable(logging.WARNING)  # so little text has no good discounts
    text = Sentences.from_lengths(
        np.concatenate([np.array(line, np.int32) for line in words]), np.array([len(w) for w in words])
    )
    language_model = LanguageModel(estimate(text, order))
    logging.disable(logging.NOTSET)
    weights = default_weights(feature_names(table, 1))
    weights = Weights({**weights, "lm": 0.55}, weights.frozen)
    return PhraseModel(table, (language_model,), weights, SearchSettings(4, 10), _lexicons(table), {"sentences": 12})


def _lexicons(table: object) -> Lexicons:
    one = np.array([1.0], np.float32)
    rows = np.array([0, 0, 0, 0, 1], np.int64)
    return Lexicons(Lexicon(rows, np.array([3], np.int32), one), Lexicon(rows, np.array([4], np.int32), one))
