"""BLEU against sacreBLEU, on real data and on random words."""

import numpy as np
import pytest
import sacrebleu.metrics as peers
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)
SMOOTHINGS = [("none", None), ("floor", None), ("floor", 0.5), ("add-k", None), ("add-k", 2.0), ("exp", None)]


def split(texts):
    return [text.split() for text in texts]


def sacrebleu_statistics(hypotheses, references, order=4):
    peer = peers.BLEU(tokenize="none", force=True, max_ngram_order=order)
    return np.array(peer._extract_corpus_statistics(hypotheses, references), float)


@pytest.mark.parametrize("order", [1, 4, 6])
def test_statistics_and_score_equal_those_of_sacrebleu_on_real_data(translations, order):
    metric = BLEU(max_ngram_order=order, smooth_method="none")
    ours = metric.corpus_statistics(split(translations.first), [split(group) for group in translations.by_segment])
    assert np.array_equal(ours, sacrebleu_statistics(translations.first, translations.references, order))
    peer = peers.BLEU(tokenize="none", force=True, max_ngram_order=order)
    expected = peer.corpus_score(translations.first, translations.references).score
    assert metric.score(ours.sum(axis=0)) == pytest.approx(expected, rel=1e-14)


@settings(max_examples=150, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.sampled_from(SMOOTHINGS), st.booleans())
def test_random_segments(hypothesis, references, smoothing, effective):
    method, value = smoothing
    metric = BLEU(smooth_method=method, smooth_value=value, effective_order=effective)
    ours = metric.statistics(hypothesis, references)
    theirs = sacrebleu_statistics([" ".join(hypothesis)], [[" ".join(reference)] for reference in references])[0]
    assert np.array_equal(ours, theirs)
    peer = peers.BLEU(tokenize="none", force=True, smooth_method=method, smooth_value=value, effective_order=effective)
    assert metric.score(ours) == pytest.approx(peer._compute_score_from_stats(list(theirs)).score, rel=1e-12)


def test_the_example_of_the_paper():
    """Papineni et al. 2002, section 2.1: the unigram precision of `the` seven times is clipped to 2/7."""
    hypothesis = ["the"] * 7
    references = [["the", "cat", "is", "on", "the", "mat"], ["there", "is", "a", "cat", "on", "the", "mat"]]
    statistics = BLEU(max_ngram_order=2, smooth_method="none").statistics(hypothesis, references)
    assert statistics.tolist() == [7, 7, 2, 0, 7, 6]


def test_of_two_reference_lengths_equally_close_the_shorter_counts():
    statistics = BLEU(smooth_method="none").statistics(["a"] * 5, [["b"] * 7, ["b"] * 3])
    assert statistics[1] == 3


def test_ids_and_words_give_the_same():
    words = BLEU(smooth_method="none").statistics(["a", "b", "c"], [["a", "b", "d"]])
    ids = BLEU(smooth_method="none").statistics(np.array([5, 6, 7], np.int32), [np.array([5, 6, 9], np.int32)])
    assert np.array_equal(words, ids)


def test_statistics_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    hypotheses = [rng.integers(0, 5, rng.integers(0, 20)).astype(np.int32) for _ in range(5000)]
    references = [[rng.integers(0, 5, rng.integers(0, 20)).astype(np.int32)] for _ in range(5000)]
    one, two = (
        BLEU(smooth_method="none").corpus_statistics(hypotheses, references, threads=threads) for threads in (1, 2)
    )
    assert np.array_equal(one, two)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0.5, 20), min_size=4, max_size=4),
    st.floats(5, 40),
    st.floats(5, 40),
    st.sampled_from(["none", "add-k", "exp", "floor"]),
)
def test_gradient_is_that_of_finite_differences(matches, hypothesis, reference, smoothing):
    if abs(hypothesis - reference) < 0.01:
        reference = hypothesis + 1.0  # at equality the brevity penalty has a kink
    statistics = np.array([hypothesis, reference, *matches, *(20.0 + n for n in matches)])
    metric = BLEU(smooth_method=smoothing)
    step = 1e-5 * np.eye(statistics.size)
    differences = [(metric.score(statistics + h) - metric.score(statistics - h)) / 2e-5 for h in step]
    assert metric.gradient(statistics) == pytest.approx(np.array(differences), rel=1e-5, abs=1e-6)


def test_no_matches_give_no_gradient():
    assert not BLEU(smooth_method="none").gradient(np.array([3.0, 3, 0, 0, 0, 0, 3, 2, 1, 0])).any()


def test_references_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match="2 hypotheses, but references for 1"):
        BLEU(smooth_method="none").corpus_statistics([["a"], ["b"]], [[["a"], ["b"]]])
    with pytest.raises(InputError, match="segment 1 has no list"):
        BLEU(smooth_method="none").corpus_statistics([["a"]], [[]])
    with pytest.raises(ValueError, match="ids of words are from 0"):
        BLEU(smooth_method="none").statistics(np.array([-1], np.int32), [np.array([1], np.int32)])
    with pytest.raises(ValueError, match="10 statistics"):
        BLEU(smooth_method="none").score(np.zeros(8))


def test_empty_corpora_have_no_statistics():
    assert BLEU(smooth_method="none").corpus_statistics([], []).shape == (0, 10)
