"""chrF against sacreBLEU, on real data and on random text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import metrics as peers

from toledo.errors import InputError
from toledo.metrics.chrf import CHRF

TEXT = st.text(alphabet="ab ,.()é\u3000\U0001f600", max_size=25)


@pytest.mark.parametrize("word_order", [0, 2])
def test_statistics_and_score_equal_those_of_sacrebleu_on_real_data(translations, word_order):
    metric, peer = CHRF(word_order=word_order), peers.CHRF(word_order=word_order)
    ours = metric.corpus_statistics(translations.first, translations.by_segment)
    theirs = peer._extract_corpus_statistics(translations.first, translations.references)
    assert np.array_equal(ours, np.array(theirs, float))
    expected = peer.corpus_score(translations.first, translations.references)
    assert metric.score(ours.sum(axis=0)) == pytest.approx(expected.score, rel=1e-14)
    assert metric.name == expected.name


@settings(max_examples=200, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=3), st.integers(0, 2), st.integers(1, 6))
def test_random_text(hypothesis, references, word_order, char_order):
    metric = CHRF(char_order=char_order, word_order=word_order)
    peer = peers.CHRF(char_order=char_order, word_order=word_order)
    ours = metric.statistics(hypothesis, references)
    theirs = peer._extract_corpus_statistics([hypothesis], [[reference] for reference in references])[0]
    assert np.array_equal(ours, np.array(theirs, float))
    assert metric.score(ours) == pytest.approx(peer._compute_f_score(theirs), rel=1e-14)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1, 10), min_size=6, max_size=6))
def test_gradient_is_that_of_finite_differences(matches):
    counts = np.array([[20.0 + m, 25.0 - m, m] for m in matches]).ravel()
    metric = CHRF()
    step = 1e-5 * np.eye(counts.size)
    differences = [(metric.score(counts + h) - metric.score(counts - h)) / 2e-5 for h in step]
    assert metric.gradient(counts) == pytest.approx(np.array(differences), rel=1e-5, abs=1e-7)


def test_nothing_in_common_scores_zero():
    metric = CHRF()
    statistics = metric.statistics("abc", ["xyz"])
    assert metric.score(statistics) == 0
    assert not metric.gradient(statistics).any()


def test_a_text_in_place_of_a_list_of_references_is_refused():
    with pytest.raises(InputError, match="no list of references"):
        CHRF().corpus_statistics(["abc"], ["abc"])
