"""Samples of document chains as lists for tuners."""

from dataclasses import replace

import numpy as np
import pytest
from small_documents import document_of, two_word_model

from toledo.phrases.sparse import sparse_features, target_words
from toledo.search.document.models.readability import LengthParity
from toledo.tuning.documents.chains import Chains, ChainSettings, chain_lists, chain_set
from toledo.tuning.loop import LoopSettings, tune
from toledo.tuning.tuners.gradient import Gradient
from toledo.weights import Weights

SOURCES = [["a", "b", "a", "b"], ["b", "a", "b", "b"]]
REFERENCES = [[["x", "z", "x", "z"]], [["z", "x", "z", "z"]]]


def chains() -> Chains:
    plain = two_word_model()
    model = replace(plain, sparse=sparse_features(plain.table, [target_words]))
    model = model.with_weights(Weights(dict(model.weights), frozenset({"oov"})))
    return Chains(model, [document_of(SOURCES, REFERENCES)] * 2, (), ChainSettings(30, 1.0, 5.0, 2.0, "random"))


def test_lists_have_the_features_and_texts_of_the_samples() -> None:
    own = chains()
    (samples,) = own.sample([0], own.model.weights)
    lists = chain_lists(own.model, samples)
    assert len(lists) == len(SOURCES)
    weights = {**own.model.weights, "target:x": 0.7, "target:z": -0.4}
    point = np.array([weights.get(name, 0.0) for name in own.names])
    for s, forest in enumerate(lists):
        assert forest.edges == samples.states
        scores = forest.scores(weights)
        for t in range(samples.states):
            row = s * samples.states + t
            sparse = slice(samples.rows.offsets[row], samples.rows.offsets[row + 1])
            expected = samples.rows.dense[row] @ point[: samples.rows.dense.shape[1]]
            expected += samples.rows.values[sparse] @ point[samples.rows.columns[sparse]]
            assert scores[t] == pytest.approx(expected, rel=1e-5)
            begin, end = forest.yields.offsets[t : t + 2]
            words = samples.words[samples.offsets[row] : samples.offsets[row + 1]]
            assert np.array_equal(forest.yields.words[begin:end], words)


def test_words_are_tuned_on_pooled_samples() -> None:
    own = chains()
    found = tune(
        Gradient("corpus-expected-bleu", on="lists", l2=1e-3), own.model.weights, chain_set(own),
        LoopSettings(rounds=2),
    )  # fmt: skip
    assert found.weights["target:z"] > 0.0 > found.weights["target:y"]
    assert found.history.best_score > found.history.start.score


def test_lists_have_no_features_of_documents() -> None:
    own = chains()
    with pytest.raises(ValueError, match="documents"):
        chain_set(Chains(own.model, own.documents, [LengthParity()]))
