"""Consensus decoding against a plain version over all derivations, and the example of Pauls, DeNero and Klein."""

import math
from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.consensus.decide import decide
from toledo.consensus.fast_consensus import Consensus, forest_counts, list_counts
from toledo.consensus.lattice_mbr import ngram_space
from toledo.consensus.texts import best_texts
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.text.vocabulary import Vocabulary


def consensus_bleu(words: tuple[int, ...], expected: Counter[tuple[int, ...]], order: int) -> float:
    """BLEU of a text with expected counts for a reference, one added to counts above order 1."""
    logarithm = 0.0
    for n in range(1, order + 1):
        counts = Counter(words[i : i + n] for i in range(len(words) - n + 1))
        matches = sum(min(count, expected[ngram]) for ngram, count in counts.items()) + (n > 1)
        total = max(len(words) - n + 1, 0) + (n > 1)
        if not matches or not total:
            return 0.0
        logarithm += math.log(matches / total) / order
    length = sum(value for ngram, value in expected.items() if len(ngram) == 1)
    return 100.0 * math.exp(logarithm + min(0.0, 1.0 - length / len(words)))


@given(st.data())
def test_against_all_derivations(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    order, scale = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.3, 1.0, 2.0]))
    trees = oracle.derivations(forest)
    expected: Counter[tuple[int, ...]] = Counter()
    possible = {}
    for tree, probability in zip(trees, oracle.probabilities(trees, scale * scores), strict=True):
        for ngram, count in oracle.ngrams(tree.words, order).items():
            expected[ngram] += probability * count
        if tree.score(scores) > -np.inf:
            possible[tree.words] = 0.0
    values = {words: consensus_bleu(words, expected, order) for words in possible}
    for rule in (Consensus(order, 10_000), Consensus(order, 10_000, from_list=True)):
        ((found),) = rule.decide_each(forest, scores, [(rule, scale)])
        if not values:
            assert np.isneginf(found.value)
        else:
            assert found.value == pytest.approx(max(values.values()), abs=1e-6)
            assert values[tuple(found.words.tolist())] == pytest.approx(found.value, abs=1e-6)


@given(st.data())
def test_the_whole_forest_is_at_least_as_good_as_a_list(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = data.draw(oracle.edge_scores(forest))
    size = data.draw(st.integers(1, 3))
    rules = [Consensus(2, size), Consensus(2, size, whole_forest=True), Consensus(2, 10_000)]
    listed, found, best = Consensus.decide_each(forest, scores, [(rule, 1.0) for rule in rules])
    assert listed.value <= found.value <= best.value + 1e-6
    texts = {tree.words for tree in oracle.derivations(forest) if tree.score(scores) > -np.inf}
    assert not texts or tuple(found.words.tolist()) in texts


@given(st.data())
def test_lists_and_forests_expect_the_same(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=3))
    scores = forest.scores({"f0": 1.0, "f1": 1.0})
    texts = best_texts(forest, scores, 10_000)
    from_list, from_forest = list_counts(texts, 3), forest_counts(ngram_space(forest, scores, 3), 1.0)
    assert from_list.length == pytest.approx(from_forest.length)
    np.testing.assert_allclose(from_list.statistics(texts.texts, 3), from_forest.statistics(texts.texts, 3), atol=1e-8)


def test_the_worked_example() -> None:
    """Figure 2: the middle hypothesis, which Viterbi never selects, is the consensus from about 1.33 to 1.63."""
    scored = {"Once on a rhyme": (-3.0, -7.0), "Once upon a rhyme": (-5.0, -6.0), "Once upon a time": (-9.0, -3.0)}
    entries = [ListEntry(text.split(), {"tm": tm, "lm": lm}) for text, (tm, lm) in scored.items()]
    forest = from_nbest(entries, ["tm", "lm"], Vocabulary())
    counts = forest_counts(ngram_space(forest, forest.scores({"tm": 1.0, "lm": 1.0}), 2), 1.0)
    assert counts.length == pytest.approx(4.0)
    chosen = [
        " ".join(forest.vocabulary.words(decide(Consensus(2), [forest], {"tm": 1.0, "lm": lm})[0].words.tolist()))
        for lm in (1.0, 1.5, 2.0)
    ]
    assert chosen == list(scored)
    from_one, from_all = (
        decide(rule, [forest], {"tm": 1.0, "lm": 1.5})[0].words.tolist()
        for rule in (Consensus(2, size=1), Consensus(2, size=1, whole_forest=True))
    )
    assert " ".join(forest.vocabulary.words(from_one)) != "Once upon a rhyme"  # a list of one has no choice
    assert " ".join(forest.vocabulary.words(from_all)) == "Once upon a rhyme"


def test_a_list_or_the_forest() -> None:
    with pytest.raises(ValueError, match="not at both"):
        Consensus(from_list=True, whole_forest=True)
