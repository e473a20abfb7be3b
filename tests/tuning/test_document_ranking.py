"""PRO on recorded states: pairs by definition, what the classifier learns, and each variant of the thesis."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from small_documents import document_of, two_word_model

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.settings import OPERATIONS
from toledo.tuning.documents.tune import (
    DocumentTask,
    RecordedStates,
    fit_states,
    rank_documents,
    search_states,
    state_pairs,
    states_of,
)
from toledo.tuning.settings import DocumentPRO
from toledo.weights import Weights

SOURCES = [["a", "b", "a", "b", "b"], ["b", "a", "b", "b", "a", "a"]]
REFERENCES = [[["x", "z", "y", "z", "z"]], [["z", "x", "z", "z", "x", "y"], ["z", "x", "z", "y", "x"]]]
DOCUMENTS = [document_of(SOURCES, REFERENCES), document_of(SOURCES[::-1], REFERENCES[::-1])]


def model_of() -> PhraseModel:
    plain = two_word_model()
    return plain.with_weights(Weights(dict(plain.weights), frozenset({"oov"})))


def test_pairs_are_those_of_the_definition() -> None:
    gains = np.array([3.0, 1.0, 1.0, 4.0, 2.0, 2.0, 5.0])
    states = RecordedStates(np.array([0, 4, 4, 7]), np.zeros((7, 2)), gains)
    for which, expected in (
        ("consecutive", {(0, 1), (3, 2), (6, 5)}),
        ("all", {(0, 1), (0, 2), (3, 0), (3, 1), (3, 2), (6, 4), (6, 5)}),
    ):
        pairs = state_pairs(states, which)
        assert set(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == expected
        assert pairs.better.size == len(expected)
        assert np.array_equal(pairs.differences, gains[pairs.better] - gains[pairs.worse])
        assert np.all(pairs.differences > 0.0)


def test_the_classifier_is_logistic_regression_on_pairs_and_their_mirror_images() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(40, 3)).astype(np.float32).astype(np.float64)
    gains = features @ [1.0, -0.5, 0.0] + random.normal(size=40)
    states = RecordedStates(np.array([0, 20, 40]), features, gains)
    pairs = state_pairs(states, "all")
    weights = Weights({"p": 0.1, "q": 0.2, "r": 7.0}, frozenset({"r"}))
    found, _ = fit_states(states, pairs, ["p", "q", "r"], weights, l2=2.0)
    rows = (features[pairs.better] - features[pairs.worse])[:, :2]
    signs = np.repeat([1.0, -1.0], len(rows))
    both = np.concatenate([rows, -rows])

    def loss(values: np.ndarray) -> float:  # each pair and its mirror image: twice the loss, so twice the penalty
        return float(np.log1p(np.exp(-signs * (both @ values))).sum()) + 2.0 * float(values @ values)

    assert found[:2] == pytest.approx(minimize(loss, np.zeros(2), tol=1e-12).x, abs=1e-4)
    assert found[2] == 7.0


@pytest.mark.parametrize("states", ["model", "bleu"])
@pytest.mark.parametrize("every", ["logarithmic", 50])
def test_states_are_what_was_recorded(states, every) -> None:
    model, pro = model_of(), DocumentPRO(decoding=states, record=every, steps=600)
    results = search_states(pro, DocumentTask(model, DOCUMENTS), model.weights)
    found = states_of(results, model.feature_names)
    assert found.offsets.tolist() == ([0, 4, 8] if every == "logarithmic" else [0, 13, 26])  # the last one, too
    last = results[1].last
    assert found.features[-1] == pytest.approx([last.features[name] for name in model.feature_names])
    assert found.gains[-1] == pytest.approx(BLEU(smooth_method="none").score(last.bleu.astype(np.float64)))
    used = {name for name, tally in results[0].tally.items() if tally.drawn}
    if states == "bleu":
        assert found.gains[found.offsets[1] - 1] > found.gains[0]
        assert used == {"change", "swap", "move", "resegment"}  # no others: the sentence model has no say
    else:
        assert used == set(OPERATIONS)


@pytest.mark.parametrize("start", ["random", "beam"])
@pytest.mark.parametrize("pairs", ["consecutive", "all"])
@pytest.mark.parametrize("positive", [False, True])
def test_rounds(start, pairs, positive) -> None:
    model = model_of()
    weights = Weights({**model.weights, "document.parity": 0.0}, frozenset({"oov"}))
    pro = DocumentPRO(pairs, "bleu", positive, 20, steps=200, start=start)
    task = DocumentTask(model, DOCUMENTS, [LengthParity()])
    first = rank_documents(pro, task, weights)
    assert first.pairs > 0
    assert first.states == 22
    assert 0.0 < first.loss < np.log(2)
    assert first.weights["oov"] == weights["oov"]
    second = rank_documents(pro, task, first.weights, 1)
    again = rank_documents(pro, replace(task, threads=2), first.weights, 1)
    assert dict(second.weights) == dict(again.weights)
    if positive:
        kept = ("word.penalty", "phrase.penalty", "oov")
        assert all(value >= 0.0 for name, value in first.weights.items() if name not in kept)


def test_nothing_to_rank_leaves_the_weights(caplog) -> None:
    model = model_of()
    same = [document_of([["a"]], [[["q"]]])]
    found = rank_documents(DocumentPRO(steps=10), DocumentTask(model, same), model.weights)
    assert found.weights == model.weights
    assert found.pairs == 0
    assert "no two states" in caplog.text


def test_settings_are_checked() -> None:
    for name, value in {"pairs": "some", "decoding": "ter", "rounds": 0, "l2": -1.0, "record": "often"}.items():
        with pytest.raises(ValueError, match=f"{name} is {value!r}"):
            DocumentPRO(**{name: value})
