"""Alignment of words to columns: against readable twins, against TER on real pairs."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from toledo.combination.alignment import EDIT, NO_COLUMN, PARTIAL, SKIP, Aligned, ColumnCosts, align
from toledo.metrics.ter import TERLimits, count_edits

tasks = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32 - 1)).map(
    lambda size: random_task(size[0], size[1], np.random.default_rng(size[2]))
)
strings = st.lists(st.integers(0, 4), max_size=9)


def random_task(words: int, columns: int, random: np.random.Generator) -> ColumnCosts:
    costs = random.choice([0, PARTIAL, EDIT, EDIT], (words, columns)).astype(np.int32)
    return ColumnCosts(costs, random.choice([SKIP, EDIT], columns).astype(np.int32))


def plain(hypothesis: list[int], reference: list[int]) -> ColumnCosts:
    own, other = np.array(hypothesis, np.int32), np.array(reference, np.int32)
    return ColumnCosts(np.where(own[:, None] == other, 0, EDIT).astype(np.int32), np.full(other.size, EDIT, np.int32))


def edit_cost(task: ColumnCosts, order: list[int]) -> int:
    """The textbook recursion."""
    words, columns = task.words.tolist(), task.columns.tolist()
    table = {(0, 0): 0}
    for i in range(len(order) + 1):
        for j in range(len(columns) + 1):
            ways = [table[i, j]] if (i, j) in table else []
            if i:
                ways.append(table[i - 1, j] + int(EDIT))
            if j:
                ways.append(table[i, j - 1] + columns[j - 1])
            if i and j:
                ways.append(table[i - 1, j - 1] + words[order[i - 1]][j - 1])
            table[i, j] = min(ways)
    return table[len(order), len(columns)]


def cost_of(task: ColumnCosts, found: Aligned) -> int:
    """The cost of an alignment as it stands."""
    filled = {int(column) for column in found.columns if column != NO_COLUMN}
    cost = sum(int(task.columns[j]) for j in range(task.columns.size) if j not in filled)
    for word, column in zip(found.order.tolist(), found.columns.tolist(), strict=True):
        cost += int(EDIT) if column == NO_COLUMN else int(task.words[word, column])
    return cost + found.shifts * int(EDIT)


@given(tasks)
def test_without_shifts_the_cost_is_that_of_the_textbook(task: ColumnCosts) -> None:
    found = align(task, False)
    assert found.cost == edit_cost(task, list(range(len(task.words)))) == cost_of(task, found)
    assert found.order.tolist() == list(range(len(task.words)))


@given(tasks)
def test_shifts_reorder_words_and_never_cost_more(task: ColumnCosts) -> None:
    found = align(task, True)
    assert sorted(found.order.tolist()) == list(range(len(task.words)))
    used = [column for column in found.columns.tolist() if column != NO_COLUMN]
    assert used == sorted(set(used))
    assert found.cost == cost_of(task, found) == edit_cost(task, found.order.tolist()) + found.shifts * int(EDIT)
    assert found.cost <= align(task, False).cost


@given(strings, strings)
def test_two_strings_cost_no_more_than_ter_without_shifts(hypothesis: list[int], reference: list[int]) -> None:
    edits = count_edits(np.array(hypothesis, np.int32), np.array(reference, np.int32), TERLimits(25, 0, 50, 1000))
    assert align(plain(hypothesis, reference), False).cost <= 10 * edits


@given(strings, strings)
def test_two_short_strings_cost_what_ter_counts(hypothesis: list[int], reference: list[int]) -> None:
    edits = count_edits(np.array(hypothesis, np.int32), np.array(reference, np.int32), TERLimits(25, 10, 50, 1000))
    assert align(plain(hypothesis, reference), True).cost == 10 * edits


def test_a_moved_block_is_one_shift() -> None:
    found = align(plain([3, 4, 0, 1, 2], [0, 1, 2, 3, 4]), True)
    assert (found.cost, found.shifts) == (10, 1)
    assert found.columns.tolist() == [0, 1, 2, 3, 4]


def test_a_thousand_real_pairs_cost_what_ter_counts(shared_folder: Path) -> None:
    folder = shared_folder / "data" / "wmt22-syscomb" / "ja-en" / "test"
    numbers: dict[str, int] = {}
    sides = [
        [
            [numbers.setdefault(word, len(numbers)) for word in line.split()]
            for line in (folder / name).read_text().splitlines()
        ]
        for name in ("sys.Online-A.en", "ref.A.en")
    ]
    pairs = list(zip(*sides, strict=True))[:1000]
    limits = TERLimits(25, 10, 50, 1000)
    ours = sum(align(plain(*pair), True).cost for pair in pairs) / 10
    plainly = [align(plain(*pair), False).cost / 10 for pair in pairs]
    arrays = [(np.array(own, np.int32), np.array(other, np.int32)) for own, other in pairs]
    assert abs(ours / sum(count_edits(*pair, limits) for pair in arrays) - 1) < 0.02
    no_shifts = [count_edits(*pair, limits._replace(shift_size=0)) for pair in arrays]
    assert all(own <= other for own, other in zip(plainly, no_shifts, strict=True))
