"""Radix sort and numbering against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.compiled.sorting import rank_pairs, sort_pairs

ids = st.integers(0, 2**31 - 1) | st.integers(0, 3)


@given(st.lists(st.tuples(ids, ids), max_size=50))
def test_sorting_and_numbering_equal_numpy(pairs: list[tuple[int, int]]) -> None:
    first = np.array([pair[0] for pair in pairs], np.int32)
    second = np.array([pair[1] for pair in pairs], np.int32)
    assert sort_pairs(first, second).tolist() == np.lexsort((second, first)).tolist()
    ranks = rank_pairs(first, second)
    keys = (first.astype(np.int64) << 32) | second
    _, expected_first, expected_of, expected_counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    assert ranks.of.tolist() == expected_of.tolist()
    assert ranks.first.tolist() == expected_first.tolist()
    assert ranks.counts.tolist() == expected_counts.tolist()


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        rank_pairs(np.zeros(2, np.int32), np.zeros(3, np.int32))
