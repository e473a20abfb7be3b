"""Estimation against a twin in dictionaries, and against lmplz."""

import logging

import numpy as np
import pytest
from backoff_twin import FIRST_WORD, encoded, kneser_ney, score, texts, to_dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.language_model.arpa import read_arpa
from toledo.language_model.estimate import estimate
from toledo.text.corpus import read_sentences
from toledo.text.vocabulary import BEGIN, Vocabulary

thresholds = st.lists(st.integers(0, 2), min_size=4, max_size=4).map(lambda values: [0, *sorted(values)])


def repeated(text: list[list[int]]) -> list[list[int]]:
    """Copies of some lines, so that there are counts of 3 and 4 and discounts can be estimated."""
    return [line for i, line in enumerate(text) for _ in range(i % 5 + 1)]


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 5), thresholds, st.booleans())
def test_equal_to_the_formulas(text, order, prune, repeat):
    text = repeated(text) if repeat else text
    model = to_dictionary(estimate(encoded(text), order, prune[:order]))
    twin = kneser_ney(text, order, prune)
    assert model.keys() == twin.keys()
    for ngram in twin:
        assert model[ngram] == pytest.approx(twin[ngram], abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(texts, st.integers(1, 4), thresholds)
def test_probabilities_add_up_to_one_after_every_context(text, order, prune):
    model = to_dictionary(estimate(encoded(text), order, prune[:order]))
    words = [ngram[0] for ngram in model if len(ngram) == 1 and ngram[0] != BEGIN]
    contexts = {ngram for ngram in model if len(ngram) < order} | {(), (BEGIN, FIRST_WORD + 9)}
    for context in contexts:
        assert sum(10 ** score(model, order, context, word) for word in words) == pytest.approx(1, abs=1e-5)


def test_estimated_discounts_are_used_where_they_can_be(caplog):
    rng = np.random.default_rng(1)
    text = [rng.zipf(1.3, 10).clip(max=400) + FIRST_WORD for _ in range(400)]
    with caplog.at_level(logging.WARNING):
        model = to_dictionary(estimate(encoded(text), 3))
    assert not caplog.records
    twin = kneser_ney([line.tolist() for line in text], 3, [0, 0, 0])
    assert all(model[ngram] == pytest.approx(twin[ngram], abs=1e-5) for ngram in twin)


@pytest.mark.parametrize("sentences", [1, 10])
def test_small_texts_fall_back_with_a_warning(sentences, caplog):
    with caplog.at_level(logging.WARNING):
        model = estimate(encoded([[FIRST_WORD, FIRST_WORD + 1]] * sentences), 5)
    assert "too small to estimate the discounts of 2-grams" in caplog.text
    assert [len(ngrams) for ngrams in model.orders] == [5, 3, 2, 1, 0]


def test_words_of_the_vocabulary_that_the_text_lacks_are_no_unigrams():
    assert estimate(encoded([[7], [9]]), 2).orders[0].words.tolist() == [0, 1, 2, 7, 9]


@pytest.mark.parametrize(
    ("order", "prune"), [(0, (0,)), (7, (0,)), (3, (1,)), (3, (0, 2, 1)), (2, (0, 0, 1)), (3, (0, -1))]
)
def test_bad_orders_and_thresholds_are_refused(order, prune):
    with pytest.raises(InputError):
        estimate(encoded([[3]]), order, prune)


def test_texts_that_cannot_be_counted_are_refused():
    with pytest.raises(InputError, match="at least one sentence"):
        estimate(encoded([]), 2)
    with pytest.raises(ValueError, match="not <s> or </s>"):
        estimate(encoded([[3, BEGIN]]), 2)


@pytest.mark.parametrize("order", [3, 5])
def test_equal_to_lmplz(moses_files, order):
    peer_words, words = Vocabulary(), Vocabulary()
    peer = read_arpa(moses_files / f"lm.{order}.arpa.gz", peer_words).ngrams
    model = estimate(read_sentences(moses_files / "train.en", words), order)
    assert list(words) == list(peer_words)
    for ours, theirs in zip(model.orders, peer.orders, strict=True):
        assert np.array_equal(ours.contexts, theirs.contexts)
        assert np.array_equal(ours.words, theirs.words)
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=0, atol=2e-6)
        np.testing.assert_allclose(ours.backoffs, theirs.backoffs, rtol=0, atol=2e-6)


LMPLZ_PRUNED = {
    "<unk>": (-4.8954325, 0),
    "<s>": (0, -1.5528781),
    "zebra": (-4.5842614, 0),
    "two young": (-1.9837202, -0.83002985),
    "of a": (-0.91279, -0.4166057),
    "a man in": (-0.5638161, 0),
    "<s> a man": (-0.55736256, 0),
    "in the air": (-1.049513, 0),
}


def test_pruning_as_lmplz_does(moses_files):
    """What `lmplz -o 3 --prune 0 1 2` gives for the same text."""
    words = Vocabulary()
    model = estimate(read_sentences(moses_files / "train.en", words), 3, (0, 1, 2))
    assert [len(ngrams) for ngrams in model.orders] == [10213, 25214, 18110]
    content = to_dictionary(model)
    for line, expected in LMPLZ_PRUNED.items():
        assert content[tuple(words.ids(line.split()).tolist())] == pytest.approx(expected, abs=2e-6)
