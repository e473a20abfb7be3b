from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.phrases.scores import Counts, discounts, good_turing_factors, phrase_probabilities

matrices = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=1, max_size=6).filter(
    lambda rows: any(map(any, rows))
)


def counts_of(rows: list[list[int]]) -> Counts:
    matrix = np.array(rows, np.float32)
    source, target = np.nonzero(matrix)
    return Counts(
        matrix[source, target],
        source.astype(np.int32),
        target.astype(np.int32),
        *(matrix.sum(axis=axis, dtype=np.float32) for axis in (1, 0)),
    )


@given(matrices)
def test_relative_frequencies_add_up_to_one(rows: list[list[int]]) -> None:
    counts = counts_of(rows)
    forward, backward = phrase_probabilities(counts)
    assert np.bincount(counts.source, forward)[counts.source] == pytest.approx(1.0)
    assert np.bincount(counts.target, backward)[counts.target] == pytest.approx(1.0)


@settings(deadline=None)
@pytest.mark.filterwarnings("ignore")
@given(matrices)
def test_kneser_ney_adds_up_to_one_over_all_phrases(rows: list[list[int]]) -> None:
    counts = counts_of(rows)
    d1, d2, d3 = discounts(counts.joint)
    forward, backward = phrase_probabilities(counts, "kneser-ney")
    discount = np.select([counts.joint == 1, counts.joint == 2], [d1, d2], d3)
    for given_, predicted, totals, probabilities in (
        (counts.source, counts.target, counts.of_source, forward),
        (counts.target, counts.source, counts.of_target, backward),
    ):
        spread = np.bincount(predicted) / counts.joint.size
        for phrase in np.unique(given_):
            mine = given_ == phrase
            mass = discount[mine].sum() / totals[phrase]
            unseen = np.ones(spread.size, np.bool_)
            unseen[predicted[mine]] = False
            assert probabilities[mine].sum() + mass * spread[unseen].sum() == pytest.approx(1.0)
            formula = (counts.joint[mine] - discount[mine]) / totals[phrase] + mass * spread[predicted[mine]]
            assert probabilities[mine] == pytest.approx(formula)


def test_discounts_are_those_of_chen_and_goodman() -> None:
    joint = np.repeat(np.arange(1, 5, dtype=np.float32), [100, 30, 12, 7])
    y = 100 / 160
    assert discounts(joint) == pytest.approx((1 - 2 * y * 0.3, 2 - 3 * y * 0.4, 3 - 4 * y * 7 / 12))


def test_a_tiny_table_gets_the_usual_discounts(caplog: pytest.LogCaptureFixture) -> None:
    assert discounts(np.array([1.0, 1.0, 2.0], np.float32)) == (0.5, 1.0, 1.5)
    assert "too few phrase pairs" in caplog.text


def test_good_turing_lowers_small_counts_only() -> None:
    joint = np.repeat(np.arange(1, 11, dtype=np.float32), [1000, 300, 150, 80, 50, 40, 30, 25, 20, 18])
    factors = good_turing_factors(joint)
    assert factors[1] == pytest.approx(2 * 300.1 / 1000.1)
    assert factors[2] == pytest.approx(3 / 2 * 150.1 / 300.1)
    assert np.all(np.diff(factors) >= 0)
    assert factors[9] == 1.0  # and above
    forward, _ = phrase_probabilities(counts_of([[1, 3], [2, 0]]), "good-turing")
    assert np.all(forward <= phrase_probabilities(counts_of([[1, 3], [2, 0]])).forward)
