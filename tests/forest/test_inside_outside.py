"""Sums over derivations against enumeration, and the advantage against finite differences."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.forest.assemble import join
from toledo.forest.constructors import ForestBuilder
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import advantage, distribution
from toledo.text.vocabulary import Vocabulary


@given(st.data())
def test_partition_posteriors_and_entropy_equal_enumeration(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests())
    scores = data.draw(oracle.edge_scores(forest))
    trees = oracle.derivations(forest)
    posterior = oracle.probabilities(trees, scores)
    found = distribution(forest.shape, scores)
    assert found.log_partition[0] == pytest.approx(oracle.log_partition(trees, scores), abs=1e-9)
    expected = np.zeros(forest.edges)
    for tree, probability in zip(trees, posterior, strict=True):
        np.add.at(expected, list(tree.edges), probability)
    np.testing.assert_allclose(found.posteriors, expected, atol=1e-9)
    entropy = -sum(p * math.log(p) for p in posterior if p > 0)
    assert found.entropy()[0] == pytest.approx(entropy, abs=1e-9)


@given(st.data())
def test_advantage_equals_the_covariance_with_the_reward(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests())
    scores = data.draw(oracle.edge_scores(forest))
    rewards = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=forest.edges, max_size=forest.edges)))
    trees = oracle.derivations(forest)
    posterior = oracle.probabilities(trees, scores)
    totals = np.array([rewards[list(tree.edges)].sum() for tree in trees])
    expected = np.zeros(forest.edges)
    for tree, probability, total in zip(trees, posterior, totals, strict=True):
        np.add.at(expected, list(tree.edges), probability * (total - posterior @ totals))
    found = advantage(distribution(forest.shape, scores), rewards)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@given(st.data())
def test_advantage_is_the_derivative_of_the_expected_reward(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests())
    scores = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=forest.edges, max_size=forest.edges)))
    rewards = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=forest.edges, max_size=forest.edges)))
    found = advantage(distribution(forest.shape, scores), rewards)
    step = 1e-5
    for edge in range(forest.edges):
        change = np.zeros(forest.edges)
        change[edge] = step
        up, down = (distribution(forest.shape, scores + sign * change).posteriors @ rewards for sign in (1, -1))
        assert found[edge] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-7)


def test_no_overflow_in_deep_chains() -> None:
    forest = oracle.chain(depth=300, ways=100)  # 10^600 derivations
    found = distribution(forest.shape, np.full(forest.edges, 1000.0))
    assert found.log_partition[0] == pytest.approx(300 * math.log(100) + 301 * 1000.0)
    assert found.entropy()[0] == pytest.approx(300 * math.log(100))
    np.testing.assert_allclose(found.posteriors[1:], 0.01)
    rewards = np.zeros(forest.edges)
    rewards[-1] = 1.0
    gradient = advantage(found, rewards)
    assert gradient[-1] == pytest.approx(0.01 - 0.01**2)
    assert gradient[0] == pytest.approx(0.0, abs=1e-12)


def test_no_overflow_in_deep_forests_with_repeated_tails() -> None:
    forest = oracle.doubling_forest(depth=300)
    found = distribution(forest.shape, np.full(forest.edges, -1.0))
    assert np.isfinite(found.log_partition[0])
    assert found.visits[0] == pytest.approx(2.0**300)
    assert found.posteriors[-1] == pytest.approx(0.5)
    small = oracle.doubling_forest(depth=4)
    exact = distribution(small.shape, np.full(small.edges, -1.0))
    assert exact.log_partition[0] == pytest.approx(15 * math.log(2) - 31)


def test_a_goal_without_derivation_has_no_mass() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    forest = builder.build(builder.node())
    found = distribution(forest.shape, np.empty(0))
    assert found.log_partition.tolist() == [-math.inf]
    assert found.entropy().tolist() == [0.0]


@given(st.data())
def test_a_corpus_equals_its_sentences_for_any_number_of_threads(data: st.DataObject) -> None:
    vocabulary = Vocabulary(oracle.WORDS)
    parts = [data.draw(oracle.forests(max_nodes=3)) for _ in range(3)]
    parts = [Forest(part.shape, part.yields, part.features, part.feature_names, vocabulary) for part in parts]
    corpus = join(parts * 12)
    weights = {"f0": 0.7, "f1": -0.3}
    whole = distribution(corpus.shape, corpus.scores(weights), threads=2)
    again = distribution(corpus.shape, corpus.scores(weights), threads=1)
    assert np.array_equal(whole.posteriors, again.posteriors)
    each = [distribution(part.shape, part.scores(weights)) for part in parts * 12]
    np.testing.assert_array_equal(whole.posteriors, np.concatenate([one.posteriors for one in each]))
    np.testing.assert_array_equal(whole.log_partition, np.concatenate([one.log_partition for one in each]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_that_mean_nothing_are_refused(bad: float) -> None:
    forest = oracle.chain(depth=1, ways=2)
    with pytest.raises(ValueError, match="NaN or"):
        distribution(forest.shape, np.array([0.0, bad, 0.0]))
