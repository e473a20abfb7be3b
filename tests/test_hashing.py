"""Hash tables against dictionaries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.compiled.hashing import NOT_FOUND, build_pair_index, find_pair, number_rows
from toledo.compiled.ragged import Ragged, are_offsets, offsets_of

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


rows_of_numbers = st.lists(st.lists(st.integers(-2, 3) | st.integers(-(2**31), 2**31 - 1), max_size=4), max_size=40)


def ragged(rows: list[list[int]]) -> Ragged[np.int32]:
    return Ragged.from_lengths(np.array([value for row in rows for value in row], np.int32), map(len, rows))


@given(rows_of_numbers)
def test_distinct_rows_are_numbered_in_order_of_appearance(rows: list[list[int]]) -> None:
    given_rows, distinct = ragged(rows), list(dict.fromkeys(map(tuple, rows)))
    numbers, firsts = number_rows(given_rows.values, given_rows.offsets[:-1], given_rows.offsets[1:])
    assert numbers.tolist() == [distinct.index(tuple(row)) for row in rows]
    assert firsts.tolist() == [rows.index(list(row)) for row in distinct]


@given(rows_of_numbers, st.data())
def test_rows_are_selected_and_gathered_as_in_lists(rows: list[list[int]], data: st.DataObject) -> None:
    given_rows = ragged(rows)
    keep = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    assert [row.tolist() for row in given_rows] == rows
    assert given_rows.lengths.tolist() == list(map(len, rows))
    kept = given_rows.select(np.array(keep, np.bool_))
    assert [row.tolist() for row in kept] == [row for row, stays in zip(rows, keep, strict=True) if stays]
    assert [row.tolist() for row in given_rows.gather(np.array(chosen, np.int64))] == [rows[i] for i in chosen]


def test_offsets_must_rise_to_the_end() -> None:
    assert are_offsets(offsets_of([2, 0, 1]), 3)
    for wrong in ([], [0], [1, 3], [0, 2], [0, 2, 1, 3]):
        assert not are_offsets(np.array(wrong, np.int64), 3)
    with pytest.raises(ValueError, match="rise from 0 to 2"):
        Ragged(np.zeros(2, np.int32), np.array([0, 3]))
    with pytest.raises(IndexError):
        ragged([[1]])[1]
