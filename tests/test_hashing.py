"""The pair index against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.compiled.hashing import NOT_FOUND, build_pair_index, find_pair

ids = st.integers(0, 2**31 - 1) | st.integers(0, 5)
pairs = st.tuples(ids, ids)


@given(st.dictionaries(pairs, st.integers(0, 2**31 - 1), max_size=60), st.lists(pairs, max_size=20))
def test_every_pair_is_found_and_no_other(entries: dict[tuple[int, int], int], others: list[tuple[int, int]]) -> None:
    first = np.array([pair[0] for pair in entries], np.int32)
    second = np.array([pair[1] for pair in entries], np.int32)
    index = build_pair_index(first, second, np.array(list(entries.values()), np.int32))
    for pair in [*entries, *others]:
        assert find_pair(index, *pair) == entries.get(pair, NOT_FOUND)


def test_without_values_a_pair_has_its_position() -> None:
    index = build_pair_index(np.array([7, 8], np.int32), np.array([1, 1], np.int32))
    assert [find_pair(index, first, 1) for first in (7, 8, 9)] == [0, 1, NOT_FOUND]


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        build_pair_index(np.zeros(2, np.int32), np.zeros(3, np.int32))
