"""Splitting by boundary words, expected counts and chances of n-grams, against enumeration."""

import math
from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.forest.assemble import join
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import NGramForest, localize
from toledo.text.vocabulary import Vocabulary

orders = st.integers(1, 4)


def completed(split: NGramForest, tree: oracle.Tree) -> Counter[tuple[int, ...]]:
    """The n-grams that the edges of a derivation complete."""
    names = list(split.ngrams(0))
    return Counter(names[i] for edge in tree.edges for i in split.ids[split.offsets[edge] : split.offsets[edge + 1]])


@given(st.data())
def test_edges_complete_exactly_the_ngrams_of_the_text(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    order = data.draw(orders)
    scores = forest.scores({"f0": 1.0, "f1": 1.0})
    split = localize(forest, scores, order)
    new_scores = split.forest.scores({"f0": 1.0, "f1": 1.0})
    before = [(tree.words, tree.score(scores)) for tree in oracle.derivations(forest)]
    trees = oracle.derivations(split.forest)
    after = [(tree.words, tree.score(new_scores)) for tree in trees]
    assert [words for words, _ in sorted(after)] == [words for words, _ in sorted(before)]
    np.testing.assert_allclose([score for _, score in sorted(after)], [score for _, score in sorted(before)], atol=1e-5)
    for tree in trees:
        assert completed(split, tree) == oracle.ngrams(tree.words, order)


@given(st.data())
def test_expected_counts_and_chances_equal_enumeration(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    order = data.draw(orders)
    weights = {"f0": data.draw(st.floats(-1, 1)), "f1": data.draw(st.floats(-1, 1))}
    scores = forest.scores(weights)
    trees = oracle.derivations(forest)
    expected: Counter[tuple[int, ...]] = Counter()
    chance: Counter[tuple[int, ...]] = Counter()
    for tree, probability in zip(trees, oracle.probabilities(trees, scores), strict=True):
        for ngram, count in oracle.ngrams(tree.words, order).items():
            expected[ngram] += probability * count
            chance[ngram] += probability
    split = localize(forest, scores, order)
    found = distribution(split.forest.shape, split.forest.scores(weights))
    names = list(split.ngrams(0))
    assert set(names) == set(expected)
    counts = split.expected_counts(found)
    np.testing.assert_allclose(counts, [expected[name] for name in names], atol=1e-8)
    np.testing.assert_allclose(split.occurrence(found), [chance[name] for name in names], atol=1e-8)
    for number, name in enumerate(names):
        assert split.number(0, name) == number
        assert split.orders[number] == len(name)
    assert split.number(0, (99,)) == -1


@given(st.data())
def test_a_beam_keeps_the_best_derivation_and_only_real_ones(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    scores = forest.scores({"f0": 1.0, "f1": -1.0})
    split = localize(forest, scores, 3, beam=data.draw(st.integers(1, 3)))
    before = {
        tree.words: tree.score(scores) for tree in sorted(oracle.derivations(forest), key=lambda t: t.score(scores))
    }
    after = oracle.derivations(split.forest)
    new_scores = split.forest.scores({"f0": 1.0, "f1": -1.0})
    assert len(after) <= len(oracle.derivations(forest))
    if before:
        assert max(tree.score(new_scores) for tree in after) == pytest.approx(max(before.values()), abs=1e-5)
    for tree in after:
        assert tree.score(new_scores) <= before[tree.words] + 1e-5
        assert completed(split, tree) == oracle.ngrams(tree.words, 3)


def test_a_lattice_needs_no_left_words() -> None:
    forest = oracle.chain(depth=20, ways=3)
    split = localize(forest, np.zeros(forest.edges), 2)
    assert split.forest.nodes == 1 + 19 * 3 + 1
    assert split.forest.edges == 1 + 3 + 18 * 9 + 9


def test_an_nbest_list_stays_one_node() -> None:
    forest = oracle.chain(depth=1, ways=5)
    split = localize(forest, np.zeros(forest.edges), 4)
    assert split.forest.nodes == forest.nodes


@settings(max_examples=20)
@given(st.data())
def test_a_corpus_equals_its_sentences(data: st.DataObject) -> None:
    vocabulary = Vocabulary(oracle.WORDS)
    parts = [data.draw(oracle.forests(max_nodes=3)) for _ in range(3)]
    parts = [Forest(part.shape, part.yields, part.features, part.feature_names, vocabulary) for part in parts]
    corpus = join(parts)
    weights = {"f0": 0.5, "f1": -0.5}
    whole = localize(corpus, corpus.scores(weights), 2, threads=2)
    counts = whole.expected_counts(distribution(whole.forest.shape, whole.forest.scores(weights)))
    for sentence, part in enumerate(parts):
        alone = localize(part, part.scores(weights), 2)
        expected = alone.expected_counts(distribution(alone.forest.shape, alone.forest.scores(weights)))
        assert list(whole.ngrams(sentence)) == list(alone.ngrams(0))
        np.testing.assert_allclose(counts[whole.sentences[sentence] : whole.sentences[sentence + 1]], expected)


def test_impossible_forests_have_no_ngrams() -> None:
    forest = oracle.chain(depth=2, ways=2)
    scores = np.full(forest.edges, -math.inf)
    split = localize(forest, scores, 2)
    assert split.forest.edges == 0
    found = distribution(split.forest.shape, np.empty(0))
    assert split.occurrence(found).sum() == 0.0
