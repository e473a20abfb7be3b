"""What all decision rules share, Viterbi, and the most probable text, against enumeration."""

from collections import defaultdict

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.rule import Rule
from toledo.forest.constructors import ForestBuilder, ListEntry, from_nbest
from toledo.text.vocabulary import Vocabulary

RULES: list[Rule] = [
    Viterbi(),
    MaxTranslation(),
    Consensus(),
    Consensus(from_list=True),
    LatticeMBR(),
    LatticeMBR(map_weight=0.5),
]


@given(st.data())
def test_the_most_probable_text(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    trees = oracle.derivations(forest)
    total: dict[tuple[int, ...], float] = defaultdict(float)
    for tree, probability in zip(trees, oracle.probabilities(trees, scores), strict=True):
        total[tree.words] += probability
    found = MaxTranslation(10_000).decide(forest, scores)
    if not sum(total.values()):
        assert (found.words.size, found.value) == (0, -np.inf)
    else:
        assert np.exp(found.value) == pytest.approx(max(total.values()))
        assert total[tuple(found.words.tolist())] == pytest.approx(max(total.values()))


def test_two_derivations_of_a_text_win_together_at_small_scales() -> None:
    entries = [ListEntry(["a"], base=0.0), ListEntry(["b"], base=-0.5), ListEntry(["b"], base=-0.5)]
    forest = from_nbest(entries, (), Vocabulary())
    chosen = [decide(MaxTranslation(), [forest], {}, scale)[0] for scale in (1.0, 5.0)]
    assert [forest.vocabulary.words(one.words.tolist()) for one in chosen] == [["b"], ["a"]]
    assert decide(Viterbi(), [forest], {})[0].value == 0.0


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_segment_without_translations_and_one_with_a_single_one(rule: Rule) -> None:
    vocabulary = Vocabulary()
    nothing = ForestBuilder(vocabulary, ())
    impossible = from_nbest([ListEntry(["a"], base=-np.inf)], (), vocabulary)
    single = from_nbest([ListEntry(["a", "b"], base=-3.0), ListEntry(["c"], base=-np.inf)], (), vocabulary)
    empty_text = from_nbest([ListEntry([])], (), vocabulary)
    chosen = decide(rule, [nothing.build(nothing.node()), impossible, single, empty_text], {}, 0.5)
    assert [vocabulary.words(one.words.tolist()) for one in chosen] == [[], [], ["a", "b"], []]
    assert [np.isneginf(one.value) for one in chosen] == [True, True, False, False]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_threads_change_nothing(rule: Rule) -> None:
    forests = [oracle.chain(4, ways) for ways in (1, 2, 3, 2, 1, 3, 2)]
    one, three = (decide(rule, forests, {}, threads=threads) for threads in (1, 3))
    assert [(a.words.tolist(), a.value) for a in one] == [(b.words.tolist(), b.value) for b in three]


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_a_scale_is_positive(scale: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        decide(Viterbi(), [], {}, scale)
