"""Tuners on lists of document states, and online MIRA: against enumeration and twins, and resumed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_documents import document_of, two_word_model

from toledo.errors import InputError, RunError
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.runs.checkpoint import Checkpoint
from toledo.runs.rounds import round_seed
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.tuning.documents import lists, task
from toledo.tuning.documents.lists import StateList, sampled_states, state_examples
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import tune_documents
from toledo.tuning.settings import DOCUMENT_OBJECTIVES, DocumentLists, OnlineMIRA
from toledo.tuning.tuners.mert import MERT
from toledo.weights import Weights

SOURCES = [["a", "b", "a", "b", "b"], ["b", "a", "b", "b", "a", "a"]]
REFERENCES = [[["x", "z", "y", "z", "z"]], [["z", "x", "z", "z", "x", "y"], ["z", "x", "z", "y", "x"]]]
DOCUMENTS = [
    document_of(SOURCES, REFERENCES),
    document_of(SOURCES[::-1], REFERENCES[::-1]),
    document_of(SOURCES[:1], REFERENCES[:1]),
]
LISTS = DocumentLists(rounds=3, steps=120, sample_from=20, sample_every=10, accept="sampling:temperature=2")
ONLINE = OnlineMIRA(rounds=2, steps=60, sample_from=0, sample_every=10, accept="sampling:temperature=2")
METRIC = BLEU(smooth_method="none")


def model_of() -> PhraseModel:
    plain = two_word_model()
    return plain.with_weights(Weights(dict(plain.weights), frozenset({"oov"})))


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "JUDGING_STEPS", 50)


def task_of() -> tuple[DocumentTask, Weights]:
    model = model_of()
    return DocumentTask(model, DOCUMENTS, [LengthParity()]), Weights(
        {**model.weights, "document.parity": 0.1}, frozenset({"oov"})
    )


def recorded(document: int, weights: Weights, seed: int, steps: int, first: int) -> list[tuple[list[float], list[int]]]:
    """The states of one search, each once, by the search alone."""
    whole, _ = task_of()
    settings = DocumentSettings("sampling:temperature=2", steps=steps, start="random", seed=seed, record=10)
    models = [LengthParity(), BLEUModel()]
    search = DocumentSearch(whole.model.with_weights(weights), settings, models, Weights({**weights, "bleu": 0.0}))
    (result,) = search.search([DOCUMENTS[document]])
    states = [*(one for one in result.records if one.step >= first), result.last]
    rows = [([one.features[name] for name in whole.names], one.bleu.tolist()) for one in states]
    return [row for place, row in enumerate(rows) if row not in rows[:place]]


def test_lists_are_what_searches_have_recorded() -> None:
    whole, start = task_of()
    for document, found in enumerate(sampled_states(LISTS, whole, start, 5)):
        rows = recorded(document, start, 5, 120, 20)
        assert 3 < len(rows) <= 12
        np.testing.assert_array_equal(found.features, [row for row, _ in rows])
        np.testing.assert_array_equal(found.statistics, [row for _, row in rows])
    assert {len(one.features) for one in sampled_states(replace(LISTS, sample_from=120), whole, start, 5)} == {1}


def test_a_union_has_each_state_once() -> None:
    first = StateList(np.array([[1.0], [2.0], [2.0]]), np.array([[1.0], [2.0], [3.0]]))
    other = StateList(np.array([[2.0], [0.5], [0.5]]), np.array([[2.0], [2.0], [2.0]]))
    found = first.union(other)
    assert found.features.ravel().tolist() == [1.0, 2.0, 2.0, 0.5]
    assert found.statistics.ravel().tolist() == [1.0, 2.0, 3.0, 2.0]


def bleu_of_best(some: Sequence[StateList], values: np.ndarray) -> float:
    """The corpus BLEU of the states with the highest scores."""
    best = [one.statistics[np.argmax(one.features.astype(np.float32) @ values)] for one in some]
    return float(METRIC.score(np.sum(best, axis=0)))


def random_lists(seed: int, names: int) -> list[StateList]:
    random = np.random.default_rng(seed)
    found = []
    for size in (6, 9, 4):
        matches = np.sort(random.integers(1, 20, (size, 4)), axis=1)[:, ::-1]
        totals = np.tile([24, 23, 22, 21], (size, 1))
        statistics = np.column_stack([totals[:, 0], random.integers(20, 28, size), matches, totals])
        found.append(StateList(random.normal(size=(size, names)), statistics.astype(np.float64)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_mert_finds_the_best_weights_of_all(seed: int) -> None:
    """With two weights only their direction matters, so that all that can be chosen is seen by turning it."""
    some, names = random_lists(seed, 2), ["p", "q"]
    tuned = MERT().tune(state_examples(some, names), Weights({"p": 0.3, "q": 0.2}), seed=seed, threads=1)
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
    best = max(bleu_of_best(some, np.array([np.cos(angle), np.sin(angle)])) for angle in angles)
    assert tuned.objective == pytest.approx(best, abs=1e-9)
    assert bleu_of_best(some, tuned.weights.array(names)) == pytest.approx(best, abs=1e-9)


def twin_of_online_mira(start: Weights, frozen: str) -> list[np.ndarray]:
    """Visit, search, take hope and fear, step: with lists of Python. Returns the mean weights after each round."""
    whole, _ = task_of()
    names = list(whole.names)
    free = np.array([name != frozen for name in names])
    weights, total, steps, background, means = start.array(names), np.zeros(len(names)), 0, np.ones(10), []
    for number in range(ONLINE.rounds):
        for document in np.random.default_rng(round_seed(1, number)).permutation(len(DOCUMENTS)):
            rows = recorded(document, start.updated(names, weights), 1 + number, 60, 0)
            features = np.array([row for row, _ in rows]).astype(np.float32).astype(np.float64)
            gains = np.array([(background + row)[1] * METRIC.score(background + row) / 100.0 for _, row in rows])
            scores = features @ weights
            hope, fear = np.argmax(scores + gains), np.argmax(scores - gains)
            loss = gains[hope] - gains[fear] - scores[hope] + scores[fear]
            difference = np.where(free, features[hope] - features[fear], 0.0)
            if loss > 0.0 and difference.any():
                weights = weights + min(ONLINE.largest_step, loss / (difference @ difference)) * difference
            total, steps = total + weights, steps + 1
            background = ONLINE.decay * background + rows[hope][1]
        means.append(total / steps)
    return means


def test_online_mira_is_that_of_the_twin() -> None:
    whole, start = task_of()
    found = tune_documents(whole, start, ONLINE)
    expected = twin_of_online_mira(start, "oov")
    for one, values in zip(found.history.rounds, expected, strict=True):
        np.testing.assert_allclose([one.weights[name] for name in whole.names], values, atol=1e-9)
    assert found.history.rounds[1].change > 0.0
    assert found.history.rounds[0].weights["oov"] == start["oov"]


@pytest.mark.parametrize("objective", ["mert", "mira", "online-mira"])
def test_an_interrupted_run_goes_on_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: str
) -> None:
    whole, start = task_of()
    method = replace(ONLINE, rounds=3) if objective == "online-mira" else replace(LISTS, tuner=objective)
    assert DOCUMENT_OBJECTIVES.make(objective, rounds=3).rounds == 3
    expected = tune_documents(whole, start, method)
    assert len(expected.history.rounds) > 1
    calls, judged = [], DocumentTask.judged

    def fails(self: DocumentTask, weights: Weights):
        calls.append(weights)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return judged(self, weights)

    monkeypatch.setattr(DocumentTask, "judged", fails)
    with pytest.raises(KeyboardInterrupt):
        tune_documents(whole, start, method, Checkpoint(tmp_path / "run", {}, False))
    found = tune_documents(whole, start, method, Checkpoint(tmp_path / "run", {}, True))
    assert found.weights == expected.weights
    assert [dict(one.weights) for one in found.history.rounds] == [dict(one.weights) for one in expected.history.rounds]


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"state\.toml"):
        lists._loaded(tmp_path, "offsets")


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="did you mean 'sampling'"):
        DocumentLists(accept="samplign")
    with pytest.raises(InputError, match="tuner is 'merd'"):
        DocumentLists(tuner="merd")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no start 'bean'"):
        OnlineMIRA(start="bean")
