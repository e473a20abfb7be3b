"""MIRA against plain twins: on lists step by step, on forests by enumeration of all derivations."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import derivations, forests
from small_lists import alignment, random_examples

from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.objectives.lists import sentence_gains
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.tuners.mira import MIRA, forest_problem, learn_from_forests, worth_of_ngrams
from toledo.tuning.tuners.mira_lists import StepLimits, average, hope_and_fear, new_learner, pseudo_gain
from toledo.weights import Weights

START = Weights({"f0": 0.2, "f1": 0.3, "f2": 0.5})
NAMES = ["f0", "f1", "f2"]


def twin_gain(background: np.ndarray, statistics: np.ndarray) -> float:
    total = background + statistics
    return float(total[1] * BLEU(max_ngram_order=(total.size - 2) // 2, smooth_method="none").score(total) / 100.0)


class Twin:
    """Weights, the sum of all weights so far, and the pseudo-corpus."""

    def __init__(self, start: np.ndarray, size: int, free: np.ndarray, bounds: tuple[float, float]) -> None:
        self.weights, self.total, self.steps = start.copy(), np.zeros(start.size), 0
        self.background, self.free, self.bounds = np.ones(size), free, bounds

    def step(self, difference: np.ndarray, loss: float, statistics: np.ndarray) -> None:
        difference = np.where(self.free, difference, 0.0)
        norm = float(difference @ difference)
        if loss > 0.0 and norm > 0.0:
            moved = np.clip(self.weights + min(0.01, loss / norm) * difference, *self.bounds)
            self.weights = np.where(self.free, moved, self.weights)
        self.total, self.steps = self.total + self.weights, self.steps + 1
        self.background = 0.999 * self.background + statistics


@pytest.mark.parametrize("metric", [BLEU(smooth_method="none"), TER()])
@pytest.mark.parametrize("sparse", [0, 2])
def test_an_epoch_on_lists_is_that_of_the_twin(metric: BLEU | TER, sparse: int) -> None:
    examples = random_examples(1, sparse=sparse, metric=metric, base=True)
    lists = examples.lists
    features = np.array([[row.get(n, 0.0) for n in NAMES] for row in _features(examples)])
    twin = Twin(START.array(NAMES), metric.size, np.array([True, False, True]), (-math.inf, 0.51))
    base = np.zeros(len(features)) if lists.forest.base is None else lists.forest.base
    gains = sentence_gains(lists)
    for segment in np.random.default_rng(5).permutation(len(lists)):
        own = range(lists.offsets[segment], lists.offsets[segment + 1])
        gain = {
            h: twin_gain(twin.background, lists.statistics[h]) if isinstance(metric, BLEU) else gains[h] for h in own
        }
        score = {h: base[h] + features[h] @ twin.weights for h in own}
        hope, fear = max(own, key=lambda h: score[h] + gain[h]), max(own, key=lambda h: score[h] - gain[h])
        loss = gain[hope] - gain[fear] - (score[hope] - score[fear])
        twin.step(features[hope] - features[fear], loss, lists.statistics[hope])
    start = Weights(dict(START), frozenset({"f1"}), {"f0": (-9.0, 0.51), "f2": (-9.0, 0.51)})
    tuned = MIRA(epochs=1).tune(examples, start, seed=5)
    found, wanted = tuned.weights.array(NAMES), twin.total / twin.steps
    assert found[1] == 0.3
    scale = np.abs(found[[0, 2]]).sum() / np.abs(wanted[[0, 2]]).sum()  # the norm of the start, if that costs nothing
    np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]] * scale, rtol=1e-6)
    dense = [0] if sparse else [0, 2]  # whose norm counts
    assert scale == pytest.approx(1.0) or np.abs(found[dense]).sum() == pytest.approx(START.array(NAMES)[dense].sum())


def _features(examples: Examples) -> list[dict[str, float]]:
    forest = examples.lists.forest
    rows = [dict(zip(forest.feature_names, row, strict=True)) for row in forest.features.tolist()]
    if forest.sparse is not None:
        offsets, ids, values = forest.sparse.arrays
        for h, row in enumerate(rows):
            for i in range(offsets[h], offsets[h + 1]):
                row[forest.sparse.names[ids[i]]] = float(values[i])
    return rows


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=6))
def test_hope_and_fear(values: list[tuple[int, int]]) -> None:
    scores, gains = (np.array(column, np.float64) for column in zip(*values, strict=True))
    hope, fear = hope_and_fear(scores, gains)
    assert hope == int(np.argmax(scores + gains))
    assert fear == int(np.argmax(scores - gains))


@given(st.integers(1, 5), st.data())
def test_gain_and_its_derivatives(order: int, data: st.DataObject) -> None:
    """The worth of n-grams is the gradient of the gain where the segment is like the pseudo-corpus."""
    totals = np.sort(data.draw(st.lists(st.floats(20, 90), min_size=order, max_size=order)))[::-1]
    matches = totals * data.draw(st.floats(0.2, 0.9))
    c = float(totals[0])
    background = np.concatenate([[c, data.draw(st.floats(20, 90).filter(lambda r: abs(r - c) > 0.1))], matches, totals])
    statistics = background * 0.1
    assert pseudo_gain(background, statistics) == pytest.approx(twin_gain(background, statistics))
    worth = np.empty(2 * order)
    worth_of_ngrams(background, worth)
    for n in range(order):
        for place, value in ((2 + n, worth[n]), (2 + order + n, worth[order + n])):
            change = np.zeros(statistics.size)
            change[place] = 1e-4
            if place == 2 + order:
                change[0] = 1e-4  # a word more
            rise = pseudo_gain(background, statistics + change) - pseudo_gain(background, statistics - change)
            assert value == pytest.approx(rise / 2e-4, rel=1e-4, abs=1e-6)


@settings(max_examples=40)
@given(st.lists(forests(features=2), min_size=1, max_size=3), st.data())
def test_an_epoch_on_forests_is_that_of_the_twin(some: list, data: st.DataObject) -> None:  # type: ignore[type-arg]
    vocabulary = some[0].vocabulary
    some = [replace(one, vocabulary=vocabulary) for one in some]
    sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=5)
    references = [[data.draw(sentences), data.draw(sentences)] for _ in some]
    metric, start = BLEU(max_ngram_order=2, smooth_method="none"), Weights({"f0": 0.31, "f1": -0.17})
    problem = forest_problem(Examples(some, references, metric), start, 1e6, 1)
    learner, background = new_learner(problem.space), np.ones(metric.size)
    limits = StepLimits(problem.space.free, problem.space.low, problem.space.high, 0.01)
    order = np.arange(len(some))
    learn_from_forests(problem.arrays, order, learner, limits, background, 0.999)
    twin = Twin(start.array(["f0", "f1"]), metric.size, np.ones(2, np.bool_), (-math.inf, math.inf))
    for forest, own in zip(some, references, strict=True):
        trees = derivations(forest)
        if not trees:
            continue
        features = np.array([forest.features[list(tree.edges)].sum(axis=0, dtype=np.float64) for tree in trees])
        words = [vocabulary.words(tree.words) for tree in trees]
        statistics = np.array([metric.statistics(text, own) for text in words])
        scores, linear = features @ twin.weights, np.array([_linear(text, own, twin.background) for text in words])
        hope, fear = np.argmax(scores + linear), np.argmax(scores - linear)
        if _undecided(scores + linear) or _undecided(scores - linear):
            return
        gain = twin_gain(twin.background, statistics[hope]) - twin_gain(twin.background, statistics[fear])
        twin.step(features[hope] - features[fear], gain - (scores[hope] - scores[fear]), statistics[hope])
    if twin.steps:
        np.testing.assert_allclose(background, twin.background)
        np.testing.assert_allclose(learner.weights, twin.weights, atol=1e-9)
        np.testing.assert_allclose(average(learner), twin.total / twin.steps, atol=1e-9)


def _linear(words: list[str], references: list[list[str]], background: np.ndarray) -> float:
    worth = np.empty(background.size - 2)
    worth_of_ngrams(background, worth)
    order = worth.size // 2
    known = {tuple(r[i : i + n]) for r in references for n in range(1, order + 1) for i in range(len(r) - n + 1)}
    grams = [tuple(words[i : i + n]) for n in range(1, order + 1) for i in range(len(words) - n + 1)]
    return sum(worth[order + len(g) - 1] + (worth[len(g) - 1] if g in known else 0.0) for g in grams)


def _undecided(values: np.ndarray) -> bool:
    ordered = np.sort(values)[::-1]
    return ordered.size > 1 and ordered[0] - ordered[1] < 1e-9


@pytest.mark.parametrize("on", ["lists", "forests"])
@pytest.mark.parametrize("sparse", [0, 2])
def test_planted_weights_are_found_again(on: str, sparse: int) -> None:
    planted = np.array([1.0, -2.0, 0.5])
    examples = random_examples(1, segments=60, planted=planted, sparse=sparse)
    tuner = MIRA(on=on, epochs=20, largest_step=0.1)  # type: ignore[arg-type]
    assert tuner.wants == on
    one, two = (tuner.tune(examples, START, seed=3, threads=threads) for threads in (1, 2))
    assert one == two
    assert alignment(one.weights.array(NAMES), planted) > 0.95
    assert np.abs(one.weights.array(NAMES[: 3 - sparse])).sum() == pytest.approx([1.0, None, 0.2][sparse])


def test_forests_and_lists_agree_on_the_score() -> None:
    examples = random_examples(2)
    lists, other = (MIRA(on=on, epochs=3).tune(examples, START, seed=1) for on in ("lists", "forests"))  # type: ignore[arg-type]
    assert lists.objective == pytest.approx(MIRA(epochs=3).tune(examples, START, seed=1).details["BLEU"])
    again = forest_problem(examples, START, 1e6, 1).score(other.weights.array(NAMES))
    assert again == pytest.approx(other.objective)


@pytest.mark.parametrize("metric", [TER(), CHRF()])
def test_other_metrics_need_lists(metric: TER | CHRF) -> None:
    planted = np.array([1.0, -2.0, 0.5])
    examples = random_examples(3, segments=40, planted=planted, metric=metric)
    tuned = MIRA(epochs=20, largest_step=0.1).tune(examples, START, seed=1)
    assert alignment(tuned.weights.array(NAMES), planted) > 0.9
    with pytest.raises(InputError, match="cannot use metric"):
        MIRA(on="forests").tune(examples, START)


@pytest.mark.parametrize("on", ["lists", "forests"])
@pytest.mark.parametrize("texts", [["a b c d"], ["a b c d"] * 3, []])
def test_lists_without_a_choice_leave_the_weights_alone(on: str, texts: list[str]) -> None:
    vocabulary = Vocabulary()
    forest = from_nbest([ListEntry(text.split(), {"f0": 1.0}) for text in texts], ["f0"], vocabulary)
    examples = Examples([forest], [[["a", "b", "c", "d", "e"]]], BLEU(smooth_method="none"))
    tuned = MIRA(on=on, epochs=2).tune(examples, Weights({"f0": 0.7}))  # type: ignore[arg-type]
    assert tuned.weights["f0"] == pytest.approx(0.7)
