"""Prepared references give the statistics of BLEU for many hypotheses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.compiled.ragged import offsets_of
from toledo.metrics.bleu import BLEU
from toledo.metrics.references import prepare_references

IDS = st.lists(st.integers(0, 4), max_size=10).map(lambda ids: np.array(ids, np.int32))


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 5))
def test_equal_to_the_metric(data, order):
    references = data.draw(st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=1, max_size=4))
    hypotheses = data.draw(st.lists(IDS, min_size=1, max_size=8))
    segments = np.array([data.draw(st.integers(0, len(references) - 1)) for _ in hypotheses])
    metric = BLEU(max_ngram_order=order, smooth_method="none")
    prepared = prepare_references(metric, references)
    offsets = offsets_of([words.size for words in hypotheses])
    statistics = prepared.statistics(np.concatenate(hypotheses), offsets, segments)
    expected = metric.corpus_statistics(hypotheses, [references[segment] for segment in segments])
    assert np.array_equal(statistics, expected)


def test_bad_segments_and_offsets_are_refused():
    prepared = prepare_references(BLEU(smooth_method="none"), [[np.array([1, 2], np.int32)]])
    words = np.array([1, 2], np.int32)
    with pytest.raises(ValueError, match="numbered from 0 to 0"):
        prepared.statistics(words, np.array([0, 2]), np.array([1]))
    with pytest.raises(ValueError, match="offsets of hypotheses must rise"):
        prepared.statistics(words, np.array([0, 3]), np.array([0]))
