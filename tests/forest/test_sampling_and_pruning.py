"""Samples follow the distribution; pruning keeps what it promises."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.forest.assemble import keep_edges, prune_by_posterior, prune_by_score, prune_to_density
from toledo.forest.constructors import ForestBuilder
from toledo.forest.derivations import sample
from toledo.text.vocabulary import Vocabulary

WEIGHTS = {"f0": 1.0, "f1": -0.5}


@settings(max_examples=15)
@given(st.data())
def test_samples_have_the_frequencies_of_the_distribution(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=3, max_edges=2))
    trees = oracle.derivations(forest)
    scores = forest.scores(WEIGHTS)
    if not trees:
        with pytest.raises(ValueError, match="no possible derivation"):
            sample(forest, scores, 1, seed=1)
        return
    drawn = sample(forest, scores, 20_000, seed=data.draw(st.integers(0, 100)))
    for tree, probability in zip(trees, oracle.probabilities(trees, scores), strict=True):
        share = sum(1 for one in drawn if tuple(one.edges.tolist()) == tree.edges) / len(drawn)
        assert share == pytest.approx(probability, abs=5 * math.sqrt(0.25 / len(drawn)))


def test_the_same_seed_gives_the_same_samples() -> None:
    forest = oracle.chain(depth=10, ways=5)
    scores = np.linspace(-1, 1, forest.edges)
    first, again, other = (sample(forest, scores, 20, seed) for seed in (7, 7, 8))
    assert [one.words for one in first] == [one.words for one in again]
    assert [one.words for one in first] != [one.words for one in other]


@given(st.data())
def test_pruning_by_score_keeps_exactly_the_edges_of_good_derivations(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = forest.scores(WEIGHTS)
    margin = data.draw(st.floats(0, 4))
    trees = oracle.derivations(forest)
    kept = prune_by_score(forest, scores, margin)
    top = max((tree.score(scores) for tree in trees), default=-math.inf)
    good = [tree for tree in trees if tree.score(scores) >= top - margin + 1e-6]
    remaining = [tree.words for tree in oracle.derivations(kept)]
    assert all(tree.words in remaining for tree in good)
    edges = {edge for tree in trees if tree.score(scores) >= top - margin - 1e-6 for edge in tree.edges}
    assert kept.edges <= len(edges)


@given(st.data())
def test_every_pruning_keeps_the_best_derivation(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = forest.scores(WEIGHTS)
    trees = oracle.derivations(forest)
    if not trees:
        return
    top = max(tree.score(scores) for tree in trees)
    for pruned in (
        prune_by_score(forest, scores, 0.0),
        prune_by_posterior(forest, scores, 0.9),
        prune_to_density(forest, scores, 0.5),
    ):
        best = max(tree.score(pruned.scores(WEIGHTS)) for tree in oracle.derivations(pruned))
        assert best == pytest.approx(top, abs=1e-5)


def test_density_is_edges_per_word() -> None:
    forest = oracle.chain(depth=20, ways=10)
    scores = np.random.default_rng(1).normal(size=forest.edges)
    pruned = prune_to_density(forest, scores, 4.0)
    assert pruned.edges <= 80
    assert pruned.edges > 60


def test_keeping_edges_drops_what_loses_its_derivation() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    bottom, middle, goal = builder.node(), builder.node(), builder.node()
    builder.edge(bottom, words=["a"])
    builder.edge(middle, (bottom,))
    builder.edge(goal, (middle,))
    builder.edge(goal, words=["b"])
    forest = builder.build(goal)
    kept = keep_edges(forest, np.array([False, True, True, True]))
    assert [(tree.words, len(tree.edges)) for tree in oracle.derivations(kept)] == [((4,), 1)]
    assert kept.nodes == 1
