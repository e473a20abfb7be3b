"""Align the words of an output to the columns of a network: edit distance with block shifts, as TER counts them.

Costs are in tenths of an edit: 0 for a word that a column has, `PARTIAL` for one that matches in part, `EDIT` for any
other word, for a word without a column and for a column without a word. A column that some output has skipped already
costs only `SKIP`: the network says itself that it may be skipped. This is not quite free, so that of two alignments the
one that fills more columns is preferred.

As in TER (Snover et al. 2006), blocks of words are shifted to columns that they match, one at a time, each time the
block that saves most, as long as that is no less than the `EDIT` which a shift costs. The cost of a network of one
plain string and exact matching is that of TER, without its beam around the diagonal: without shifts it is the
Levenshtein distance.

Words that differ in case, inflected forms and synonyms match in part. They are nearly as good as equal words when
outputs are aligned, so that *cars* stands in one column with *car* and not with any other word (Rosti et al. 2009).
Stems are those of Snowball; synonyms are given (`toledo.combination.synonyms`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from toledo.combination.synonyms import Synonyms
from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.metrics.ter import Places, Shift, shift_bounds, shift_candidates, shifted

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
EDIT, PARTIAL = np.int32(10), np.int32(2)  # costs in tenths of an edit: a wrong word, a word that matches in part
WORDS_KEPT = 1 << 17


@dataclass(frozen=True)
class Matcher:
    """Compares words of one language, named as Snowball names it; without a language, only case is ignored."""

    language: str = "english"
    synonyms: Synonyms | None = None

    def __post_init__(self) -> None:
        if self.language and self.language not in snowballstemmer.algorithms():
            known = ", ".join(snowballstemmer.algorithms())
            raise InputError(f"no stems for the language {self.language!r}", remedy=f"give one of {known}, or none")

    @property
    def signature(self) -> str:
        """What is compared."""
        stems = [f"stems.{self.language}"] if self.language else []
        synonyms = [self.synonyms.signature] if self.synonyms else []
        return "+".join(["exact", "case", *stems, *synonyms])

    def costs(self, words: Sequence[str]) -> Int32s:
        """Return the cost of replacing each of some distinct words by each other."""
        stems: dict[str, int] = {}
        groups = np.array([stems.setdefault(self._stem(word.lower()), len(stems)) for word in words], np.int64)
        costs = np.where(groups[:, None] == groups, PARTIAL, EDIT).astype(np.int32)
        for places in self._synonymous(words):
            costs[np.ix_(places, places)] = PARTIAL
        np.fill_diagonal(costs, 0)
        return costs

    def _synonymous(self, words: Sequence[str]) -> list[list[int]]:
        """Return the places of words that belong to one set of synonyms, for each set."""
        if self.synonyms is None:
            return []
        places = defaultdict(list)
        for place, word in enumerate(words):
            for number in self.synonyms.of(word):
                places[number].append(place)
        return [own for own in places.values() if len(own) > 1]

    def _stem(self, word: str) -> str:
        return _stem(self.language, word) if self.language else word


@lru_cache(WORDS_KEPT)
def _stem(language: str, word: str) -> str:
    """Return the stem of a word; stemmers keep state that threads must not share, so each word gets a new one."""
    return str(snowballstemmer.stemmer(language).stemWord(word))


SKIP = np.int32(1)
LONGEST_BLOCK, FARTHEST, CANDIDATES = 10, 50, 1000  # limits of TER's search for shifts
NO_COLUMN = -1


class ColumnCosts(NamedTuple):
    """What to align: the cost of word i in column j, and the cost of leaving a column empty."""

    words: Int32s
    columns: Int32s


class Tables(NamedTuple):
    """The cost of the first i words and j columns, that of the rest, and room for two rows."""

    before: Int32s
    after: Int32s
    rows: Int32s


class Aligned(NamedTuple):
    """The order of the words after all shifts; the column of each word in that order, or NO_COLUMN; the cost."""

    order: Int64s
    columns: Int64s
    cost: int
    shifts: int


@kernel
def align(task: ColumnCosts, shifting: bool) -> Aligned:
    """Return the best alignment found; a shift costs an edit as well."""
    words, columns = task.words.shape
    order = np.arange(words)
    tables = Tables(
        np.empty((words + 1, columns + 1), np.int32),
        np.empty((words + 1, columns + 1), np.int32),
        np.empty((2, columns + 1), np.int32),
    )
    shifts, checked = 0, 0
    while True:
        _fill_before(task, order, tables.before)
        places, at = _trace(task, order, tables.before)
        cost = int(tables.before[words, columns])
        if not shifting or cost < EDIT or checked >= CANDIDATES:
            break
        _fill_after(task, order, tables.after)
        best, checked = _best_shift(task, order, places, at, tables, cost, checked)
        if best.gain < EDIT:  # which it costs
            break
        order = shifted(order, -best.minus_start, best.length, -best.minus_target)
        shifts += 1
    return Aligned(order, places, int(cost + shifts * EDIT), shifts)


@kernel
def _fill_before(task: ColumnCosts, order: Int64s, table: Int32s) -> None:
    """Row i is the cost of the first i words beside each number of columns."""
    table[0, 0] = 0
    for j in range(task.columns.size):
        table[0, j + 1] = table[0, j] + task.columns[j]
    for i in range(order.size):
        _next_row(task, order[i], table[i], table[i + 1])


@kernel
def _next_row(task: ColumnCosts, word: int, above: Int32s, here: Int32s) -> None:
    """Compute the costs with one more word."""
    here[0] = above[0] + EDIT
    left = here[0]
    for j in range(task.columns.size):
        cost = min(above[j] + task.words[word, j], above[j + 1] + EDIT, left + task.columns[j])
        here[j + 1] = left = cost


@kernel
def _fill_after(task: ColumnCosts, order: Int64s, table: Int32s) -> None:
    """Row i is the cost of the words from i on beside the columns from each on."""
    words, width = order.size, task.columns.size
    table[words, width] = 0
    for j in range(width - 1, -1, -1):
        table[words, j] = table[words, j + 1] + task.columns[j]
    for i in range(words - 1, -1, -1):
        table[i, width] = table[i + 1, width] + EDIT
        for j in range(width - 1, -1, -1):
            table[i, j] = min(
                table[i + 1, j + 1] + task.words[order[i], j], table[i + 1, j] + EDIT, table[i, j + 1] + task.columns[j]
            )


@kernel
def _trace(task: ColumnCosts, order: Int64s, table: Int32s) -> tuple[Int64s, Int64s]:
    """Return the column of each word, and for each column the word in it or else the last one before it (−1: none).

    Of equal ways back a word in a column is preferred, then a word without one.
    """
    places, at = np.full(order.size, NO_COLUMN), np.full(task.columns.size, -1)
    i, j = order.size, task.columns.size
    while i > 0:
        if j > 0 and table[i, j] == table[i - 1, j - 1] + task.words[order[i - 1], j - 1]:
            i, j = i - 1, j - 1
            places[i], at[j] = j, i
        elif table[i, j] == table[i - 1, j] + EDIT:
            i -= 1
        else:
            j -= 1
            at[j] = i - 1
    return places, at


@kernel
def _best_shift(
    task: ColumnCosts, order: Int64s, places: Int64s, at: Int64s, tables: Tables, cost: int, checked: int
) -> tuple[Shift, int]:
    """Return the shift that saves most (gain 0 if none saves anything), and the number of shifts tried so far."""
    words, width = order.size, task.columns.size
    beside = Places(
        np.zeros((words, 2 * FARTHEST + 1), np.bool_), at, np.ones(words, np.bool_), np.ones(width, np.bool_)
    )
    for i in range(words):
        for j in range(max(0, i - FARTHEST), min(width, i + FARTHEST + 1)):
            beside.matches[i, j - i + FARTHEST] = task.words[order[i], j] <= PARTIAL
        if places[i] != NO_COLUMN and task.words[order[i], places[i]] <= PARTIAL:
            beside.wrong[i] = beside.unmatched[places[i]] = False
    best = Shift(0, 0, 0, 0)
    candidates = shift_candidates(beside, LONGEST_BLOCK, CANDIDATES - checked)
    for start, length, target in candidates:
        after = _cost_after(task, order, tables, start, length, target)
        candidate = Shift(cost - after, length, -start, -target)
        if candidate > best:
            best = candidate
    return best, checked + len(candidates)


@kernel
def _cost_after(task: ColumnCosts, order: Int64s, tables: Tables, start: int, length: int, target: int) -> int:
    """Return the cost after a shift: only the words between the block's old and new place are aligned again."""
    first, middle, last = shift_bounds(order.size, start, length, target)
    here = tables.before[first]
    row = 0
    for part in range(2):
        begin, end = (middle, last) if part == 0 else (first, middle)
        for i in range(begin, end):
            _next_row(task, order[i], here, tables.rows[row])
            here, row = tables.rows[row], 1 - row
    best = here[0] + tables.after[last, 0]
    for j in range(1, here.size):
        best = min(best, here[j] + tables.after[last, j])
    return int(best)
