"""Pairs against a plain twin; PRO and regression against closed forms; frozen and bounded weights; degenerate lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_lists import alignment, random_examples

from toledo.compiled.random import next_uniform, random_state
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.linear import row_scores, select_rows, weighted_sum
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.objectives.lists import sentence_gains
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import tuning_problem
from toledo.tuning.tuners.pro import PRO, Regression, logistic_loss, sample_pairs
from toledo.weights import Weights

START = Weights({"f0": 0.2, "f1": 0.3, "f2": 0.5})
FEW = {"draws": 200, "keep": 20}


def twin_pairs(
    gains: list[float], offsets: list[int], limits: tuple[int, float, int], seed: int
) -> list[tuple[int, int]]:
    seeds = np.random.SeedSequence(seed).generate_state(len(offsets) - 1, np.uint64)
    found, (draws, threshold, keep) = [], limits
    for segment, own in enumerate(seeds):
        state, begin, count = random_state(int(own)), offsets[segment], offsets[segment + 1] - offsets[segment]
        drawn = []
        for _ in range(draws if count > 1 else 0):
            a, b = (begin + int(next_uniform(state) * count) for _ in range(2))
            if gains[a] != gains[b] and abs(gains[a] - gains[b]) >= threshold:
                drawn.append((a, b) if gains[a] > gains[b] else (b, a))
        widest = sorted(range(len(drawn)), key=lambda i: gains[drawn[i][1]] - gains[drawn[i][0]])[:keep]
        found += [drawn[i] for i in sorted(widest)]
    return found


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.12, 0.15, 0.4, 0.9]), max_size=6), min_size=1, max_size=5),
    st.integers(1, 30),
    st.integers(1, 8),
    st.integers(0, 5),
)
def test_pairs_are_those_of_the_twin(rows: list[list[float]], draws: int, keep: int, seed: int) -> None:
    gains, offsets = [gain for row in rows for gain in row], np.cumsum([0, *map(len, rows)]).tolist()
    limits = (draws, 0.05, keep)
    pairs = sample_pairs(np.array(gains), np.array(offsets), limits, seed)
    assert list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == twin_pairs(
        gains, offsets, limits, seed
    )
    assert pairs.differences.tolist() == [gains[a] - gains[b] for a, b in zip(pairs.better, pairs.worse, strict=True)]


@pytest.mark.parametrize("tuner", [PRO(**FEW), Regression(**FEW)])
@pytest.mark.parametrize("sparse", [0, 2])
def test_planted_weights_are_found_again(tuner: PRO | Regression, sparse: int) -> None:
    planted = np.array([1.0, -2.0, 0.5])
    tuned = tuner.tune(random_examples(1, segments=60, planted=planted, sparse=sparse), START, seed=3)
    assert alignment(tuned.weights.array(["f0", "f1", "f2"]), planted) > 0.98
    assert tuned.details["BLEU"] > 0.0


@pytest.mark.parametrize("tuner", [PRO(**FEW), Regression(**FEW)])
def test_any_number_of_threads_gives_the_same(tuner: PRO | Regression) -> None:
    examples = random_examples(2, segments=100, sparse=1)
    one, two = (tuner.tune(examples, START, seed=7, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.weights != tuner.tune(examples, START, seed=8).weights


def test_pro_ends_where_the_gradient_is_zero() -> None:
    tuner, examples, start = PRO(**FEW, l2=0.5), random_examples(3, base=True), replace(START, frozen=frozenset({"f1"}))
    problem = tuning_problem(examples, start, 1)
    lists, rows = problem.lists, problem.rows
    pairs = sample_pairs(sentence_gains(lists), lists.offsets, (200, 0.05, 20), 5)
    found = tuner.tune(examples, start, seed=5).weights.array(["f0", "f1", "f2"])
    features = lists.forest.features.astype(np.float64)
    differences = features[pairs.better] - features[pairs.worse]
    fixed = differences[:, 1] * 0.3
    assert found[1] == 0.3
    # The norm may have been set to that of the start, as long as the choices stay the same: try both scales.
    best = min(
        np.abs(
            (-(1 / (1 + np.exp(differences[:, [0, 2]] @ values + fixed))) @ differences[:, [0, 2]]) + 0.5 * values
        ).max()
        for values in (found[[0, 2]] * scale for scale in np.geomspace(0.05, 20, 4001))
    )
    assert best < 0.05
    assert row_scores(rows, problem.space.start).size == lists.forest.edges


def test_logistic_loss_has_the_gradient_of_finite_differences() -> None:
    margins = np.array([-900.0, -3.0, 0.0, 0.2, 5.0, 900.0])
    _, slopes = logistic_loss(margins)
    for i in range(1, 5):
        step = np.eye(6)[i] * 1e-5
        rise = logistic_loss(margins[1:5] + step[1:5])[0] - logistic_loss(margins[1:5] - step[1:5])[0]
        assert slopes[i] == pytest.approx(rise / 2e-5, abs=1e-6)
    assert slopes[0] == -1.0
    assert slopes[5] == pytest.approx(0.0)


def test_regression_is_ridge_regression() -> None:
    tuner, examples = Regression(**FEW, l2=2.0), random_examples(4)
    lists = examples.lists
    pairs = sample_pairs(sentence_gains(lists), lists.offsets, (200, 0.05, 20), 5)
    features = lists.forest.features.astype(np.float64)
    x = features[pairs.better] - features[pairs.worse]
    closed = np.linalg.solve(x.T @ x + 2.0 * np.eye(3), x.T @ pairs.differences)
    found = tuner.tune(examples, START, seed=5).weights.array(["f0", "f1", "f2"])
    np.testing.assert_allclose(found, closed / np.abs(closed).sum(), atol=1e-4)  # the norm of the start is 1


@pytest.mark.parametrize("tuner", [PRO(**FEW), Regression(**FEW)])
def test_frozen_and_bounded_weights(tuner: PRO | Regression) -> None:
    planted = np.array([1.0, -2.0, 0.5])
    start = Weights({"f0": 0.2, "f1": 0.3, "f2": 0.5}, frozenset({"f2"}), {"f1": (0.1, 1.0)})
    found = tuner.tune(random_examples(1, segments=60, planted=planted), start, seed=3).weights
    assert found["f2"] == 0.5
    assert found["f1"] == 0.1
    assert found["f0"] > 0.0


def test_sparse_features_are_features() -> None:
    dense = PRO(**FEW).tune(random_examples(6), START, seed=1).weights.array(["f0", "f1", "f2"])
    sparse = PRO(**FEW).tune(random_examples(6, sparse=3), START, seed=1).weights.array(["f0", "f1", "f2"])
    np.testing.assert_allclose(sparse / np.abs(sparse).sum(), dense / np.abs(dense).sum(), atol=1e-3)


def test_interpolation_goes_a_part_of_the_way() -> None:
    examples = random_examples(7)
    whole, tenth = (PRO(**FEW, interpolation=part).tune(examples, START, seed=1).weights for part in (1.0, 0.1))
    for name in START:
        assert tenth[name] == pytest.approx(0.9 * START[name] + 0.1 * whole[name])


@pytest.mark.parametrize("tuner", [PRO(**FEW), Regression(**FEW)])
@pytest.mark.parametrize("metric", [TER(), CHRF(), BLEU(max_ngram_order=2, smooth_method="none")])
def test_other_metrics(tuner: PRO | Regression, metric: TER | CHRF | BLEU) -> None:
    planted = np.array([1.0, -2.0, 0.5])
    examples = random_examples(8, segments=40, planted=planted, metric=metric)
    tuned = tuner.tune(examples, START, seed=1)
    assert alignment(tuned.weights.array(["f0", "f1", "f2"]), planted) > 0.97


@pytest.mark.parametrize("tuner", [PRO(), Regression()])
@pytest.mark.parametrize("texts", [["a b c d"], ["a b c d"] * 3, []])
def test_lists_without_a_choice_leave_the_weights_alone(
    tuner: PRO | Regression, texts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    vocabulary = Vocabulary()
    forest = from_nbest([ListEntry(text.split(), {"f0": float(i)}) for i, text in enumerate(texts)], ["f0"], vocabulary)
    examples = Examples([forest], [[["a", "b", "c", "e"]]], BLEU(smooth_method="none"))
    assert tuner.tune(examples, Weights({"f0": 0.7}), seed=1).weights == Weights({"f0": 0.7})
    assert "stay as they are" in caplog.text


def test_rows_can_be_selected_and_summed() -> None:
    problem = tuning_problem(random_examples(9, sparse=2, base=True), START, 1)
    rows, weights = problem.rows, np.array([0.3, -0.4, 0.5])
    chosen = np.array([3, 0, 3])
    np.testing.assert_array_equal(row_scores(select_rows(rows, chosen), weights), row_scores(rows, weights)[chosen])
    factors = np.zeros(rows.dense.shape[0])
    factors[:2] = 1.0, -2.0
    by_hand = [row_scores(rows._replace(base=np.empty(0)), unit)[:2] @ [1.0, -2.0] for unit in np.eye(3)]
    np.testing.assert_allclose(weighted_sum(rows, factors, 3), by_hand)
