"""Symmetrization against a twin with sets that follows Moses' symal."""

import numpy as np
import pytest
from alignment_twin import symmetrize as twin
from hypothesis import given
from hypothesis import strategies as st

from toledo.phrases.word_alignment.symmetrize import SYMMETRIZATIONS, OneWay, symmetrize


@st.composite
def one_way_pairs(draw):
    source, target = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    forward = draw(st.lists(st.integers(-1, source - 1), min_size=target, max_size=target))
    backward = draw(st.lists(st.integers(-1, target - 1), min_size=source, max_size=source))
    return forward, backward


def encode(pairs):
    offsets = [np.cumsum([0, *(len(pair[side]) for pair in pairs)]) for side in (1, 0)]
    links = [np.array([link for pair in pairs for link in pair[side]], np.int32) for side in (0, 1)]
    return OneWay(*offsets, *links)


@pytest.mark.parametrize("method", SYMMETRIZATIONS)
@given(st.lists(one_way_pairs(), max_size=4))
def test_links_are_those_of_the_twin(method, pairs):
    found = symmetrize(encode(pairs), method)
    assert len(found) == len(pairs)
    for index, pair in enumerate(pairs):
        assert [tuple(link) for link in found[index].tolist()] == sorted(twin(*pair, method))


@given(one_way_pairs())
def test_each_method_adds_to_the_one_before(pair):
    links = {
        method: {tuple(link) for link in symmetrize(encode([pair]), method)[0].tolist()} for method in SYMMETRIZATIONS
    }
    assert links["intersection"] <= links["grow"] <= links["union"]
    assert links["intersection"] <= links["grow-diag"] <= links["grow-diag-final-and"] <= links["union"]
    assert links["grow-diag"] <= links["grow-diag-final"] <= links["union"]


def test_points_are_visited_in_the_order_of_symal():
    # From 0-0 the neighbor 0-1 is tried before 1-1. The other way round, 1-1 would leave no word for it to cover.
    assert symmetrize(encode([([0, 0], [0, 1])]), "grow-diag")[0].tolist() == [[0, 0], [0, 1], [1, 1]]


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    pairs = [(rng.integers(-1, 6, 8).tolist(), rng.integers(-1, 8, 6).tolist()) for _ in range(5000)]
    one, three = (symmetrize(encode(pairs), "grow-diag-final-and", threads) for threads in (1, 3))
    assert np.array_equal(one.links, three.links)
    assert np.array_equal(one.offsets, three.offsets)


def test_links_out_of_a_sentence_are_refused():
    for forward, backward in (([1], [0]), ([0], [1]), ([-2], [0])):
        with pytest.raises(ValueError, match="out of its sentence"):
            symmetrize(encode([(forward, backward)]), "union")
    with pytest.raises(ValueError, match="do not fit"):
        symmetrize(encode([([0], [0])])._replace(forward=np.zeros(2, np.int32)), "union")
