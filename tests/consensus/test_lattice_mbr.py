"""Lattice MBR against the gain of every derivation."""

from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.consensus.decide import Viterbi
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.text.vocabulary import Vocabulary


def gains(rule: LatticeMBR, trees: list[oracle.Tree], scores: np.ndarray) -> list[float]:
    """θ_0 |e| + Σ_g θ_|g| c_g(e) p(g) of each derivation, as the paper writes it."""
    chance: Counter[tuple[int, ...]] = Counter()
    for tree, probability in zip(trees, oracle.probabilities(trees, scores), strict=True):
        for ngram in oracle.ngrams(tree.words, rule.order):
            chance[ngram] += probability
    return [
        -len(tree.words)
        + sum(
            count * chance[ngram] / (rule.order * rule.precision * rule.ratio ** (len(ngram) - 1))
            for ngram, count in oracle.ngrams(tree.words, rule.order).items()
        )
        + rule.map_weight * tree.score(scores)
        for tree in trees
    ]


@given(st.data())
def test_the_best_of_all_derivations(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    rule = LatticeMBR(
        order=data.draw(st.integers(1, 4)),
        precision=data.draw(st.sampled_from([0.3, 0.85])),
        ratio=data.draw(st.sampled_from([0.5, 0.9])),
        density=None,
        map_weight=data.draw(st.sampled_from([0.0, 0.1])),
    )
    scale = data.draw(st.sampled_from([0.5, 1.0]))
    possible = [tree for tree in oracle.derivations(forest) if tree.score(scores) > -np.inf]
    (found,) = LatticeMBR.decide_each(forest, scores, [(rule, scale)])
    if not possible:
        assert (found.words.size, found.value) == (0, -np.inf)
        return
    values = gains(rule, possible, scale * scores)
    assert found.value == pytest.approx(max(values), abs=1e-6)
    own = [value for tree, value in zip(possible, values, strict=True) if tree.words == tuple(found.words.tolist())]
    assert max(own) == pytest.approx(found.value, abs=1e-6)


@given(st.data())
def test_a_large_weight_goes_back_to_the_best_derivation(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = forest.scores({"f0": 1.0, "f1": 1.0})
    best = Viterbi().decide(forest, scores)
    found = LatticeMBR(map_weight=1e9).decide(forest, scores)
    assert found.value == pytest.approx(1e9 * best.value, rel=1e-6, abs=1e3)


def test_several_rules_at_once_decide_as_each_alone() -> None:
    forest = oracle.chain(5, 3)
    scores = np.random.default_rng(1).normal(size=forest.edges)
    rules = [LatticeMBR(precision=p, density=d) for p in (0.2, 0.5, 0.9) for d in (None, 2.0)]
    together = LatticeMBR.decide_each(forest, scores, [(rule, scale) for rule in rules for scale in (0.5, 2.0)])
    alone = [rule.decide(forest, scale * scores) for rule in rules for scale in (0.5, 2.0)]
    assert [one.words.tolist() for one in together] == [one.words.tolist() for one in alone]
    np.testing.assert_allclose([one.value for one in together], [one.value for one in alone])


def test_a_density_of_one_leaves_the_best_derivation() -> None:
    forest = oracle.chain(5, 3)
    scores = np.random.default_rng(2).normal(size=forest.edges)
    chosen = LatticeMBR(density=0.1).decide(forest, scores)
    assert chosen.words.tolist() == Viterbi().decide(forest, scores).words.tolist()


def test_lists_are_not_pruned() -> None:
    texts = ["a b", "c d", "c e", "c f"]
    forest = from_nbest([ListEntry(text.split(), base=-0.1 * i) for i, text in enumerate(texts)], (), Vocabulary())
    few, all_of_them = (LatticeMBR(density=density).decide(forest, forest.scores({})) for density in (0.1, None))
    assert (few.words.tolist(), few.value) == (all_of_them.words.tolist(), all_of_them.value)


@pytest.mark.parametrize("wrong", [{"precision": 0.0}, {"ratio": -1.0}, {"map_weight": -0.1}])
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected float"):
        LatticeMBR(**wrong)
