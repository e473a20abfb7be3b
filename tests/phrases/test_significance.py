from __future__ import annotations

from math import log, pi

import numpy as np
import pytest
from extraction_twin import corpora, encode, words_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import hypergeom

from toledo.phrases.extraction import extract_phrases
from toledo.phrases.pruning import log_tail, significance, threshold


def holds(sentence: list[int], phrase: tuple[int, ...]) -> bool:
    return any(tuple(sentence[i : i + len(phrase)]) == phrase for i in range(len(sentence)))


@settings(deadline=None, max_examples=60)
@given(corpora)
def test_equals_the_test_of_scipy_on_sentences_counted_one_by_one(sentences: list) -> None:
    corpus, alignments = encode(sentences)
    pairs = extract_phrases(corpus, alignments, 3).pairs
    values = significance(pairs, corpus, threads=1)
    assert np.array_equal(values, significance(pairs, corpus, threads=2))
    for i, value in enumerate(values):
        phrases = words_of(pairs, i)
        in_source, in_target = (np.array([holds(pair[side], phrases[side]) for pair in sentences]) for side in (0, 1))
        both = int((in_source & in_target).sum())
        tail = hypergeom.sf(both - 1, len(sentences), in_source.sum(), in_target.sum())
        assert value == pytest.approx(-log(tail), abs=1e-9)


@settings(deadline=None)
@given(st.integers(1, 3000), st.data())
def test_the_tail_is_that_of_scipy(total: int, data: st.DataObject) -> None:
    first, second = data.draw(st.integers(1, total)), data.draw(st.integers(1, total))
    both = data.draw(st.integers(max(0, first + second - total), min(first, second)))
    factorials = gammaln(np.arange(total + 1.0) + 1.0)
    expected = hypergeom.logsf(both - 1, total, first, second)
    if np.isfinite(expected) and expected > -500:
        assert log_tail(both, first, second, factorials) == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert log_tail(both, first, second, factorials) <= 0.0


def test_phrases_that_meet_once_lie_at_alpha() -> None:
    sentences = [([3], [3], [(0, 0)])] + [([4], [4], [(0, 0)])] * 9
    corpus, alignments = encode(sentences)
    pairs = extract_phrases(corpus, alignments).pairs
    values = significance(pairs, corpus)
    alpha = log(len(sentences))
    assert values == pytest.approx([alpha, alpha])  # nine of ten together are as unlikely as one of one
    assert not np.any(values >= threshold(len(sentences)))
    assert np.all(values >= threshold(len(sentences), -0.01))


def test_extreme_tables_stay_finite() -> None:
    factorials = gammaln(np.arange(1_000_001.0) + 1.0)
    assert log_tail(200_000, 500_000, 500_000, factorials) == pytest.approx(0.0)
    one_of_all_choices = -(1_000_000 * log(2) - log(pi * 500_000) / 2)  # Stirling
    assert log_tail(500_000, 500_000, 500_000, factorials) == pytest.approx(one_of_all_choices, abs=1e-3)
    assert log_tail(1, 1, 1, factorials) == pytest.approx(-log(1_000_000), abs=1e-6)
