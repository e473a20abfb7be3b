"""Expected gains of n-best lists, and penalties on weights."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest, from_samples
from toledo.forest.forest import Forest
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.objectives.lists import ExpectedGain, make_lists
from toledo.objectives.objective import Regularized, match
from toledo.text.vocabulary import Vocabulary

REFERENCES = [[["the", "small", "house"], ["a", "little", "house"]], [["it", "is", "unseenword"], ["yes"]]]
TEXTS = [["the small house", "a small house", "house", ""], ["it is", "it is it is", "no"]]


def lists() -> Forest:
    vocabulary = Vocabulary()
    parts = []
    for number, texts in enumerate(TEXTS):
        entries = [
            ListEntry(text.split(), {"x": float(rank), "y": rank * 0.3 - number}) for rank, text in enumerate(texts)
        ]
        parts.append(from_nbest(entries, ["x", "y"], vocabulary))
    return join(parts)


def sentence_bleu_gains(forest: Forest, references: list) -> np.ndarray:
    return 100.0 * make_lists(forest, references, BLEU()).gains


def test_sentence_bleu_of_each_hypothesis() -> None:
    metric = BLEU(smooth_method="add-k", smooth_value=1.0)
    gains = sentence_bleu_gains(lists(), REFERENCES)
    expected = [
        metric.score(metric.statistics(text.split(), references))
        for texts, references in zip(TEXTS, REFERENCES, strict=True)
        for text in texts
    ]
    np.testing.assert_allclose(gains, expected)
    assert gains[0] == pytest.approx(100.0)


@settings(max_examples=30)
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_expected_bleu_and_its_gradient(x: float, y: float) -> None:
    forest = lists()
    gains = sentence_bleu_gains(forest, REFERENCES)
    matched = match(localize(forest, np.zeros(forest.edges), 1), REFERENCES)
    objective = ExpectedGain(gains)
    at = {"x": x, "y": y}
    value, gradient = objective.value_and_gradient(matched, at)
    scores = forest.scores(at)
    expected = 0.0
    for part in (slice(0, 4), slice(4, 7)):
        weights = np.exp(scores[part])
        expected += float(weights @ gains[part] / weights.sum())
    assert value == pytest.approx(expected)
    step = 1e-6
    for name in at:
        up, down = (objective.value_and_gradient(matched, {**at, name: at[name] + sign * step})[0] for sign in (1, -1))
        assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)


def test_samples_have_the_empirical_mean() -> None:
    forest = from_samples([["a"], ["b"], ["a"], ["a"]], Vocabulary())
    gains = sentence_bleu_gains(forest, [[["a"]]])
    matched = match(localize(forest, np.zeros(forest.edges), 1), [[["a"]]])
    assert ExpectedGain(gains).value_and_gradient(matched, {})[0] == pytest.approx(gains @ [0.75, 0.25])


def test_lattices_and_wrong_numbers_are_refused() -> None:
    lattice = oracle.chain(depth=2, ways=2)
    with pytest.raises(InputError, match="n-best list is needed"):
        sentence_bleu_gains(lattice, [[["a"]]])
    with pytest.raises(InputError, match="references for 1 segments"):
        sentence_bleu_gains(lists(), REFERENCES[:1])
    matched = match(localize(lists(), np.zeros(7), 1), REFERENCES)
    with pytest.raises(InputError, match="3 gains for 7"):
        ExpectedGain(np.zeros(3)).value_and_gradient(matched, {"x": 0.0, "y": 0.0})


@settings(max_examples=30)
@given(st.floats(-1, 1), st.floats(0.1, 1))
def test_penalties_and_their_gradients(x: float, y: float) -> None:
    matched = match(localize(lists(), np.zeros(7), 2), REFERENCES)
    objective = Regularized(LinearBLEU(2), l2=0.7, l1=0.4, center={"y": 2.0})
    at = {"x": x, "y": y}
    value, gradient = objective.value_and_gradient(matched, at)
    plain = LinearBLEU(2).value_and_gradient(matched, at)[0]
    assert value == pytest.approx(plain - 0.35 * (x * x + (y - 2) ** 2) - 0.4 * (abs(x) + abs(y - 2)))
    step = 1e-6
    for name in at:
        if abs(at[name] - objective.center.get(name, 0.0)) > 1e-3:
            up, down = (
                objective.value_and_gradient(matched, {**at, name: at[name] + sign * step})[0] for sign in (1, -1)
            )
            assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-7)


def test_at_the_kink_the_penalty_holds_a_weight_that_gains_less() -> None:
    matched = match(localize(lists(), np.zeros(7), 2), REFERENCES)
    at = {"x": 0.0, "y": 0.0}
    slope = LinearBLEU(2).value_and_gradient(matched, at)[1]["x"]
    held = Regularized(LinearBLEU(2), l1=abs(slope) + 0.1).value_and_gradient(matched, at)[1]["x"]
    moved = Regularized(LinearBLEU(2), l1=abs(slope) / 2).value_and_gradient(matched, at)[1]["x"]
    assert held == 0.0
    assert moved == pytest.approx(slope - math.copysign(abs(slope) / 2, slope))
    with pytest.raises(ValueError, match="not be negative"):
        Regularized(LinearBLEU(2), l2=-1.0)
