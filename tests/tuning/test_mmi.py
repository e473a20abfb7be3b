"""MMI against finite differences and brute force; the simplex never gets worse."""

from __future__ import annotations

import numpy as np
import pytest
from small_lists import alignment, random_examples

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.metrics.bleu import BLEU
from toledo.metrics.ter import TER
from toledo.objectives.lists import sentence_gains, sign
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import tuning_problem
from toledo.tuning.tuners.mmi import MMI, is_oracle, likelihood_loss
from toledo.tuning.tuners.simplex import Simplex
from toledo.weights import Weights

START = Weights({"f0": 0.2, "f1": 0.3, "f2": 0.5})
NAMES = ["f0", "f1", "f2"]
PLANTED = np.array([1.0, -2.0, 0.5])


@pytest.mark.parametrize("sparse", [0, 2])
def test_likelihood_and_its_gradient(sparse: int) -> None:
    problem = tuning_problem(random_examples(1, sparse=sparse, base=True), START, 2)
    oracles = is_oracle(problem.lists)
    loss, weights = likelihood_loss(problem, oracles), np.array([0.3, -0.7, 0.4])
    value, gradient = loss(weights)
    scores = problem.lists.forest.scores(dict(zip(problem.space.names, weights.tolist(), strict=True)))
    expected = 0.0
    for begin, end in zip(problem.lists.offsets[:-1], problem.lists.offsets[1:], strict=True):
        p = np.exp(scores[begin:end]) / np.exp(scores[begin:end]).sum()
        expected -= np.log(p[oracles[begin:end]].sum())
    assert value == pytest.approx(expected)
    for k, step in enumerate(np.eye(3) * 1e-5):
        assert gradient[k] == pytest.approx((loss(weights + step)[0] - loss(weights - step)[0]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("metric", [BLEU(smooth_method="none"), TER()])
def test_oracles(metric: BLEU | TER) -> None:
    lists = random_examples(2, metric=metric).lists
    for kind in ("sentence", "corpus"):
        chosen = is_oracle(lists, kind)  # type: ignore[arg-type]
        first = [int(np.argmax(chosen[b:e])) + b for b, e in zip(lists.offsets[:-1], lists.offsets[1:], strict=True)]
        gains = sentence_gains(lists)
        total = lists.statistics[first].sum(axis=0)
        for i, (begin, end) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True)):
            if kind == "sentence":
                assert gains[first[i]] == gains[begin:end].max()
            else:
                others = [total - lists.statistics[first[i]] + lists.statistics[h] for h in range(begin, end)]
                best = max(sign(metric) * metric.score(each) for each in others)
                assert sign(metric) * metric.score(total) == pytest.approx(best)


@pytest.mark.parametrize("sparse", [0, 2])
def test_mmi_finds_planted_weights(sparse: int) -> None:
    examples = random_examples(3, segments=60, planted=PLANTED, sparse=sparse)
    one, two = (MMI().tune(examples, START, seed=threads, threads=threads) for threads in (1, 2))
    assert one == two
    assert alignment(one.weights.array(NAMES), PLANTED) > 0.97


@pytest.mark.parametrize("metric", [BLEU(smooth_method="none"), TER()])
def test_simplex_gets_near_the_best(metric: BLEU | TER) -> None:
    examples = random_examples(4, segments=40, planted=PLANTED, metric=metric)
    problem = tuning_problem(examples, START, 1)
    one, two = (Simplex().tune(examples, START, seed=9, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.objective >= problem.gain(START.array(NAMES))
    assert one.objective > 0.98 * problem.gain(PLANTED) - (2.0 if metric.name == "TER" else 0.0)
    assert np.abs(one.weights.array(NAMES)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("tuner", [MMI(), Simplex()])
def test_frozen_and_bounded_weights(tuner: MMI | Simplex) -> None:
    start = Weights({"f0": 0.2, "f1": 1.0, "f2": 0.5}, frozenset({"f2"}), {"f1": (0.1, 1.0)})
    found = tuner.tune(random_examples(5, segments=40, planted=PLANTED), start, seed=1).weights
    assert found["f2"] == 0.5
    assert 0.1 <= found["f1"] <= 1.0
    assert found["f0"] != 0.2
    all_frozen = Weights(dict(START), frozenset(START))
    assert tuner.tune(random_examples(5), all_frozen, seed=1).weights == all_frozen


@pytest.mark.parametrize("tuner", [MMI(), Simplex()])
@pytest.mark.parametrize("texts", [["a b c d"], ["a b c d"] * 3, []])
def test_lists_without_a_choice(tuner: MMI | Simplex, texts: list[str]) -> None:
    forest = from_nbest([ListEntry(text.split(), {"f0": 1.0}) for text in texts], ["f0"], Vocabulary())
    tuned = tuner.tune(
        Examples([forest], [[["a", "b", "c", "d"]]], BLEU(smooth_method="none")), Weights({"f0": 0.7}), seed=1
    )
    assert np.isfinite(tuned.objective)
    assert tuned.weights["f0"] >= 0.0


def test_simplex_leaves_sparse_weights_alone() -> None:
    start = Weights({"f0": 0.5, "f1": 0.5, "f2": 0.0})
    found = Simplex(descents=1).tune(random_examples(4, segments=40, planted=PLANTED, sparse=1), start, seed=1).weights
    assert found["f2"] == 0.0
    assert found["f1"] < 0.0
