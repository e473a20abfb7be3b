"""PRO on recorded states: pairs by definition, what the classifier learns, and each variant of the thesis."""

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize
from small_documents import document_of, two_word_model

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import OPERATIONS, DocumentSettings
from toledo.search.document.state import DocumentResult
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import (
    RecordedStates,
    falling_pairs,
    fit_states,
    rank_documents,
    rank_states,
    search_states,
    state_pairs,
    states_by_change,
    states_of,
    with_falling,
)
from toledo.tuning.initial import Initial
from toledo.tuning.settings import DocumentPRO
from toledo.tuning.tuners.pro import Pairs
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


@pytest.mark.parametrize("states", ["model", "bleu", "model+bleu"])
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
    wrong = {"pairs": "some", "decoding": "ter", "rounds": 0, "l2": -1.0, "record": "often"}
    for name, value in {**wrong, "max_states": 1, "falling_share": 1.0, "bleu_weight": 0.0}.items():
        with pytest.raises(ValueError, match=f"{name} is {value!r}"):
            DocumentPRO(**{name: value})
    with pytest.raises(ValueError, match="decoding bleu does not use bleu_weight"):
        DocumentPRO(decoding="bleu", bleu_weight=2.0)


def test_docent_weights_are_those_of_the_thesis() -> None:
    """Table 4.2. Docent counts an unknown word as −1, with a weight of 100; the table has four scores and a penalty."""
    model = two_word_model()
    found = Initial("docent").weights(model.feature_names, model.weights)
    table = ("phrase.forward", "phrase.backward", "lexicon.forward", "lexicon.backward", "phrase.penalty")
    expected = {"distortion": 0.6, "word.penalty": -1.0, "lm": 0.5, **dict.fromkeys(table, 0.2)}
    assert {name: value for name, value in found.items() if name != "oov"} == expected
    assert found.frozen == {"oov"}
    search = DocumentSearch(model.with_weights(found), DocumentSettings(steps=0))
    unknown = search.search([document_of([["zzz"]])])[0].best
    assert found["oov"] * unknown.features["oov"] == -100.0


def searched(**settings) -> list[DocumentResult]:
    model = model_of()
    pro = DocumentPRO(record=10, steps=400, **settings)
    return search_states(pro, DocumentTask(model, DOCUMENTS), model.weights)


@pytest.mark.parametrize("bleu_weight", [0.05, 10.0])
def test_model_and_bleu_are_climbed_together(bleu_weight) -> None:
    weights = model_of().weights
    for result in searched(decoding="model+bleu", bleu_weight=bleu_weight):
        scores = [one.score for one in result.records]
        for one in result.records:
            bleu = BLEU(smooth_method="exp").score(one.bleu.astype(np.float64))
            model = sum(value * one.features[name] for name, value in weights.items())
            assert one.score == pytest.approx(model + bleu_weight * bleu)
        assert scores == sorted(scores)
        assert scores[-1] > scores[0]


def test_with_a_small_weight_the_model_decides_and_with_a_large_one_bleu() -> None:
    def texts(results: list[DocumentResult]) -> list[list[tuple[str, ...]]]:
        return [[part.words for part in result.last.translations] for result in results]

    def bleu(results: list[DocumentResult]) -> list[float]:
        return [BLEU().score(result.last.bleu.astype(np.float64)) for result in results]

    model, large = searched(), searched(decoding="model+bleu", bleu_weight=1e9)
    assert texts(searched(decoding="model+bleu", bleu_weight=1e-9)) == texts(model)
    assert min(bleu(large)) > max(bleu(model))
    for result in large:
        gains = [BLEU(smooth_method="exp").score(one.bleu.astype(np.float64)) for one in result.records]
        assert np.all(np.diff(gains) > -1e-6)


def slow_states_by_change(states: RecordedStates, most: int, seed: int) -> list[int]:
    """Each state but the first waits, the shorter the more BLEU changes; those that come first are kept."""
    kept = []
    for document in range(len(states.offsets) - 1):
        own = range(states.offsets[document], states.offsets[document + 1])
        waits = np.random.default_rng([seed, document]).exponential(size=max(len(own) - 1, 0)).tolist()
        queue = []
        for state, wait in zip(own[1:], waits, strict=True):
            change = abs(float(states.gains[state] - states.gains[state - 1]))
            queue.append((wait / change if change else math.inf, wait, state))
        kept += sorted([*own[:1], *(state for _, _, state in sorted(queue)[: most - 1])])
    return kept


def test_states_are_drawn_as_by_the_slow_twin() -> None:
    random = np.random.default_rng(3)
    gains = random.integers(0, 4, 60).astype(np.float64)  # BLEU often stays the same
    states = RecordedStates(np.array([0, 20, 20, 21, 26, 60]), np.zeros((60, 1)), gains)
    for most, seed in [(2, 1), (5, 1), (5, 2), (16, 7), (100, 7)]:
        found = states_by_change(states, most, seed)
        assert found.tolist() == slow_states_by_change(states, most, seed)
        sizes = np.diff(np.searchsorted(found, states.offsets))
        assert sizes.tolist() == [min(most, size) for size in (20, 0, 1, 5, 34)]
    assert states_by_change(states, 5, 1).tolist() != states_by_change(states, 5, 2).tolist()


def test_states_are_drawn_in_proportion_to_the_change_of_bleu() -> None:
    gains = np.array([0.0, 1.0, 1.0, 6.0, 4.0, 7.0])
    changes, expected = {1: 1.0, 3: 5.0, 4: 2.0, 5: 3.0}, defaultdict[tuple[int, ...], float](float)
    for first, second in permutations(changes, 2):  # one after the other, without replacement
        expected[0, *sorted((first, second))] += changes[first] / 11.0 * changes[second] / (11.0 - changes[first])
    states, runs = RecordedStates(np.array([0, 6]), np.zeros((6, 1)), gains), 4000
    found = Counter(tuple(states_by_change(states, 3, seed).tolist()) for seed in range(runs))
    assert set(found) == set(expected)
    for one, chance in expected.items():
        assert found[one] / runs == pytest.approx(chance, abs=4.0 * math.sqrt(chance * (1.0 - chance) / runs))


Row = tuple[int, int, float]


def rows_of(pairs: Pairs) -> list[Row]:
    return list(zip(*(column.tolist() for column in pairs), strict=True))


def slow_falling(rows: list[Row], scores: np.ndarray) -> list[Row]:
    return [row for row in rows if row[1] > row[0] and scores[row[1]] > scores[row[0]]]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("drawn", [None, 5, 8])
def test_falling_pairs_get_their_share(drawn, share) -> None:
    random = np.random.default_rng(5)
    gains, scores = random.normal(size=50), random.normal(size=50)
    states = RecordedStates(np.array([0, 20, 50]), scores[:, None], gains)
    pairs = state_pairs(states, "all", None if drawn is None else states_by_change(states, drawn, 1))
    others = state_pairs(states, "consecutive")
    known, fell = slow_falling(rows_of(pairs), scores), slow_falling(rows_of(others), scores)
    assert rows_of(falling_pairs(pairs, scores)) == known
    new = set(fell) - set(known)
    assert bool(new) == (drawn is not None)
    before, found = rows_of(pairs), rows_of(with_falling(pairs, others, scores, share, 1))
    size = len(before)  # one more until there are enough
    while len(known) + size - len(before) < share * size - 1e-6:
        size += 1
    assert len(found) == size
    assert found[: len(before)] == before
    times = Counter(found[len(before) :])
    assert set(times) <= {*known, *new}
    again = [times[row] - (row in new) for row in {*known, *new}]
    if sum(times.values()) <= len(new):
        assert set(times) <= new
        assert max(times.values(), default=1) == 1
    else:
        assert max(again) - min(again) <= 1
    assert found == rows_of(with_falling(pairs, others, scores, share, 1))


def test_pairs_of_some_states_are_those_of_a_smaller_recording() -> None:
    gains = np.random.default_rng(6).integers(0, 5, 30).astype(np.float64)
    rows = np.array([0, 3, 4, 9, 12, 13, 20, 29])
    some = RecordedStates(np.array([0, 4, 4, 8]), np.zeros((8, 1)), gains[rows])
    for which in ("consecutive", "all"):
        found = state_pairs(RecordedStates(np.array([0, 10, 12, 30]), np.zeros((30, 1)), gains), which, rows)
        expected = state_pairs(some, which)
        assert found.better.tolist() == rows[expected.better].tolist()
        assert found.worse.tolist() == rows[expected.worse].tolist()
        assert found.differences.tolist() == expected.differences.tolist()


def test_no_falling_pair_is_made_up(caplog) -> None:
    pairs = Pairs(np.array([1]), np.array([0]), np.array([1.0]))
    assert with_falling(pairs, pairs, np.array([0.0, 1.0]), 0.5, 1) is pairs
    assert "no pair whose BLEU falls" in caplog.text


def test_ranking_uses_the_drawn_states_and_the_falling_pairs() -> None:
    random = np.random.default_rng(2)
    features = random.normal(size=(40, 2)).astype(np.float32).astype(np.float64)
    states = RecordedStates(np.array([0, 20, 40]), features, random.normal(size=40))
    names, weights = ["p", "q"], Weights({"p": 0.5, "q": -0.25})
    pro = DocumentPRO("all", positive=False, max_states=8, falling_share=0.4, seed=4)
    found = rank_states(pro, states, names, weights, number=3)
    pairs = state_pairs(states, "all", states_by_change(states, 8, 7))
    more = with_falling(pairs, state_pairs(states, "consecutive"), features @ [0.5, -0.25], 0.4, 7)
    fitted, _ = fit_states(states, more, names, weights, pro.l2)
    assert (found.states, found.pairs) == (16, more.better.size)
    assert found.pairs > pairs.better.size
    assert found.weights.array(names) == pytest.approx(fitted)
    plain = rank_states(replace(pro, max_states=None, falling_share=0.0), states, names, weights, number=3)
    assert plain.states == 40
    assert plain.weights.array(names) != pytest.approx(fitted)
