"""MERT: climbs, stays where it must, and gives the same for any number of threads."""

import numpy as np
import pytest
from small_lists import random_examples

from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.tuning.tuner import Tuned, tuning_problem
from toledo.tuning.tuners.mert import MERT
from toledo.weights import Weights

START = Weights({"f0": 0.5, "f1": -1.0, "f2": 0.25})
PLANTED = np.array([1.0, 2.0, -0.5])


def gain(examples, weights: Weights) -> float:
    problem = tuning_problem(examples, weights, 1)
    return problem.gain(problem.space.start)


@pytest.mark.parametrize("on", ["lists", "forests"])
def test_it_finds_weights_that_choose_the_best_hypotheses(on) -> None:
    examples = random_examples(3, planted=PLANTED)
    tuned = MERT(restarts=3, on=on).tune(examples, START, seed=1, threads=1)
    assert tuned.objective >= gain(examples, Weights(dict(zip(START, PLANTED, strict=True)))) - 1e-9
    assert tuned.objective == pytest.approx(gain(examples, tuned.weights))
    assert tuned.details["BLEU"] == tuned.objective
    assert sum(map(abs, tuned.weights.values())) == pytest.approx(sum(map(abs, START.values())))


def test_no_single_weight_can_be_changed_for_the_better() -> None:
    examples = random_examples(5, segments=20)
    tuned = MERT(restarts=2, random_directions=0).tune(examples, START, seed=1, threads=1)
    for name in START:
        for value in np.linspace(-4, 4, 201):
            other = Weights({**tuned.weights, name: float(value)})
            assert gain(examples, other) <= tuned.objective + 0.01  # climbing stops at gains below this


def test_restarts_are_never_worse_and_the_start_never_better() -> None:
    examples = random_examples(8, segments=30, features=3)
    found = [MERT(restarts=n).tune(examples, START, seed=4, threads=1) for n in (0, 2, 10)]
    gains = [gain(examples, START), *(tuned.objective for tuned in found)]
    assert gains[0] <= gains[1] <= min(gains[2:])
    assert found[0].details["from start"] == found[2].details["from start"]


@pytest.mark.parametrize("on", ["lists", "forests"])
def test_the_same_for_any_number_of_threads(on) -> None:
    examples = random_examples(11, segments=40)
    tuner = MERT(restarts=4, on=on)
    one, two = (tuner.tune(examples, START, seed=9, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.weights != tuner.tune(examples, START, seed=10, threads=1).weights


@pytest.mark.parametrize("metric", [TER(), CHRF()], ids=["TER", "chrF"])
def test_other_metrics(metric) -> None:
    examples = random_examples(2, planted=PLANTED, metric=metric)
    tuned = MERT(restarts=2).tune(examples, START, seed=1, threads=1)
    assert tuned.objective == pytest.approx(gain(examples, tuned.weights))
    assert tuned.objective > gain(examples, START) + 1
    assert abs(tuned.details[metric.name]) == abs(tuned.objective)
    on_forests = MERT(restarts=2, on="forests").tune(examples, START, seed=1, threads=1)
    assert on_forests.objective == pytest.approx(tuned.objective)


def test_frozen_weights_stay_and_bounds_hold() -> None:
    examples = random_examples(6, planted=PLANTED, base=True)
    start = Weights({**START, "f1": 0.2}, frozen=frozenset({"f0"}), bounds={"f1": (0.0, 0.3), "f2": (0.1, 0.4)})
    tuned = MERT(restarts=5).tune(examples, start, seed=1, threads=1)
    assert tuned.weights["f0"] == START["f0"]
    assert 0.0 <= tuned.weights["f1"] <= 0.3
    assert 0.1 <= tuned.weights["f2"] <= 0.4
    assert gain(examples, start) <= tuned.objective == pytest.approx(gain(examples, tuned.weights))


def test_nothing_to_find() -> None:
    examples = random_examples(6)
    start = Weights(dict(START), frozen=frozenset(START))
    assert MERT(restarts=2).tune(examples, start, seed=1, threads=1).weights == start


@pytest.mark.parametrize("on", ["lists", "forests"])
@pytest.mark.parametrize("value", [0.25, 0.01])  # one so small that the norm of the others hardly matters to it
def test_sparse_weights_count_but_stay(on, value: float) -> None:
    examples, start = random_examples(0, sparse=1), Weights({**START, "f2": value})
    tuned = MERT(restarts=1, on=on).tune(examples, start, seed=1, threads=1)
    assert tuned.objective == pytest.approx(gain(examples, tuned.weights))
    assert tuned.weights["f2"] == value


def test_weights_of_zero_are_a_start_too() -> None:
    examples = random_examples(4, planted=PLANTED)
    tuned: Tuned = MERT(restarts=2).tune(examples, Weights(dict.fromkeys(START, 0.0)), seed=1, threads=1)
    assert tuned.objective > 50
    assert sum(map(abs, tuned.weights.values())) == pytest.approx(1.0)


@pytest.mark.parametrize("options", [{"restarts": -1}, {"random_directions": -1}, {"follow": 0}, {"on": "trees"}])
def test_impossible_options(options) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
        MERT(**options)
