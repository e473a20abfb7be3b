"""Viterbi, k-best and distinct k-best against enumeration."""

import math
from itertools import islice, pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.forest.derivations import best_above, best_below, best_derivation
from toledo.forest.kbest import k_best, k_best_batches


@given(st.data())
def test_all_derivations_come_once_and_best_first(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    possible = [tree for tree in oracle.derivations(forest) if tree.score(scores) > -math.inf]
    found = list(k_best(forest, scores))
    assert sorted(tuple(one.edges.tolist()) for one in found) == sorted(tree.edges for tree in possible)
    expected = sorted((tree.score(scores) for tree in possible), reverse=True)
    np.testing.assert_allclose([one.score for one in found], expected, atol=1e-8)
    words = {tree.edges: tree.words for tree in possible}
    for one in found:
        assert tuple(one.word_ids.tolist()) == words[tuple(one.edges.tolist())]
        assert one.score == pytest.approx(scores[one.edges].sum(), abs=1e-8)


@given(st.data())
def test_distinct_translations_come_once_with_their_best_score(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    best: dict[tuple[int, ...], float] = {}
    for tree in oracle.derivations(forest):
        best[tree.words] = max(best.get(tree.words, -math.inf), tree.score(scores))
    possible = {words: score for words, score in best.items() if score > -math.inf}
    found = list(k_best(forest, scores, distinct=True))
    assert len(found) == len(possible)
    assert {tuple(one.word_ids.tolist()): one.score for one in found} == pytest.approx(possible, abs=1e-8)
    assert [one.score for one in found] == pytest.approx(sorted(possible.values(), reverse=True), abs=1e-8)


@given(st.data())
def test_viterbi_is_the_first_of_the_k_best(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests())
    scores = data.draw(oracle.edge_scores(forest))
    best = best_below(forest.shape, scores)
    edges = best_derivation(forest.shape, best, forest.nodes - 1)
    first = next(k_best(forest, scores), None)
    if first is None:
        assert edges.size == 0
        assert best.scores[-1] == -math.inf
    else:
        assert first.score == pytest.approx(best.scores[-1], abs=1e-9)
        assert scores[edges].sum() == pytest.approx(best.scores[-1], abs=1e-9)


@given(st.data())
def test_max_marginals_equal_enumeration(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests())
    scores = data.draw(oracle.edge_scores(forest))
    expected = np.full(forest.edges, -math.inf)
    for tree in oracle.derivations(forest):
        for edge in tree.edges:
            expected[edge] = max(expected[edge], tree.score(scores))
    found = best_above(forest.shape, scores, best_below(forest.shape, scores))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_k_best_of_a_forest_with_more_derivations_than_can_be_listed() -> None:
    forest = oracle.chain(depth=300, ways=100)
    scores = np.log(np.arange(1, forest.edges + 1))
    found = list(islice(k_best(forest, scores, distinct=True), 1000))
    assert len({one.words for one in found}) == 1000
    assert all(left.score >= right.score for left, right in pairwise(found))
    assert len(found[0].words) == 300


def test_batches_end_at_the_number_asked_for() -> None:
    forest = oracle.chain(depth=20, ways=10)
    scores = np.log(np.arange(1, forest.edges + 1))
    found = np.concatenate([batch.scores for batch in k_best_batches(forest, scores, most=100)])
    assert found.tolist() == [one.score for one in islice(k_best(forest, scores), 100)]
