"""A language model applied to a forest gives each derivation the score of its text."""

import logging
import math

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localize, rescore
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary

WEIGHTS = {"f0": 1.0, "f1": -0.5}


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    """A model of text over three of the four words of the random forests: one word is unknown."""
    logging.disable(logging.WARNING)  # so little text has no good discounts
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 7, 60)
    text = Sentences.from_lengths(rng.integers(3, 6, int(lengths.sum())).astype(np.int32), lengths)
    found = LanguageModel(estimate(text, request.param))
    logging.disable(logging.NOTSET)
    return found


def log_probability(model: LanguageModel, words: tuple[int, ...]) -> float:
    text = Sentences.from_lengths(np.array(words, np.int32), np.array([len(words)]))
    return float(model.score_sentences(text)[0]) * math.log(10.0)


@settings(max_examples=40)
@given(st.data())
def test_every_derivation_has_the_score_of_its_text(model: LanguageModel, data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    order = data.draw(st.integers(1, 3))
    scores = forest.scores(WEIGHTS)
    split = rescore(forest, scores, order, model, "lm", 0.7)
    trees = oracle.derivations(split.forest)
    assert sorted(tree.words for tree in trees) == sorted(tree.words for tree in oracle.derivations(forest))
    values = split.forest.scores({"f0": 0.0, "f1": 0.0, "lm": 1.0})
    names = list(split.ngrams(0))
    for tree in trees:
        assert tree.score(values) == pytest.approx(log_probability(model, tree.words), abs=1e-4)
        ids = [i for edge in tree.edges for i in split.ids[split.offsets[edge] : split.offsets[edge + 1]]]
        assert sorted(names[i] for i in ids) == sorted(oracle.ngrams(tree.words, order).elements())


@settings(max_examples=40)
@given(st.data())
def test_a_beam_gives_true_scores_too(model: LanguageModel, data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    split = rescore(forest, forest.scores(WEIGHTS), 2, model, "lm", 0.7, beam=2)
    values = split.forest.scores({"f0": 0.0, "f1": 0.0, "lm": 1.0})
    for tree in oracle.derivations(split.forest):
        assert tree.score(values) == pytest.approx(log_probability(model, tree.words), abs=1e-4)


def test_a_beam_keeps_fewer_edges_and_bad_options_are_refused(model: LanguageModel) -> None:
    forest = oracle.chain(depth=6, ways=4)
    scores = np.random.default_rng(2).normal(size=forest.edges)
    exact = rescore(forest, scores, 2, model, "lm", 1.0)
    pruned = rescore(forest, scores, 2, model, "lm", 1.0, beam=200)
    assert pruned.forest.edges <= exact.forest.edges
    with pytest.raises(ValueError, match="feature lm already"):
        rescore(exact.forest, np.zeros(exact.forest.edges), 2, model, "lm", 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        localize(forest, scores, 2, beam=0)


def test_a_wide_enough_beam_loses_nothing(model: LanguageModel) -> None:
    forest = oracle.chain(depth=6, ways=4)
    scores = np.random.default_rng(2).normal(size=forest.edges)
    exact, pruned = (rescore(forest, scores, 2, model, "lm", 1.0, beam=beam) for beam in (None, 10_000))
    assert pruned.forest.edges == exact.forest.edges
    assert distribution(pruned.forest.shape, pruned.forest.scores({"lm": 1.0})).log_partition == pytest.approx(
        distribution(exact.forest.shape, exact.forest.scores({"lm": 1.0})).log_partition
    )


def test_boundaries_in_the_text_and_names_in_use_are_refused(model: LanguageModel) -> None:
    entries = [ListEntry(["<s>", "a"], {"own": 1.0})]
    forest = from_nbest(entries, (), Vocabulary())
    with pytest.raises(InputError, match="contains <s>"):
        rescore(forest, np.zeros(1), 2, model, "lm", 1.0)
    with pytest.raises(ValueError, match="feature own already"):
        rescore(forest, np.zeros(1), 2, model, "own", 1.0)
