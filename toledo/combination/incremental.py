"""Build a network from one output as skeleton, to which the others are aligned one after another, the closest first.

A network is a table: one row per column of the network, one place per output, which holds a word or no word (`NULL`).
Each output is aligned to all words that the outputs before it have put into a column (Rosti et al. 2009); what fits
nowhere gets a new column. The closest outputs come first, by the edits with shifts between them and the skeleton:
they are the easiest to align well, and each makes it easier to align the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.combination.alignment import NO_COLUMN, SKIP, Aligned, Task, align
from toledo.combination.matching import EDIT
from toledo.kernels import kernel

NULL = -1  # no word of an output in a column


@kernel
def build_table(
    words: NDArray[np.int32], offsets: NDArray[np.int64], skeleton: int, costs: NDArray[np.int32], shifting: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The network around one of some texts, and the cost of each text beside the skeleton alone.

    Text h is `words[offsets[h]:offsets[h + 1]]`; words are rows of `costs`. The table has a row per column.
    """
    texts = offsets.size - 1
    plain = words[offsets[skeleton] : offsets[skeleton + 1]]
    table = np.full((plain.size, texts), NULL, np.int32)
    table[:, skeleton] = plain
    aligned = np.zeros(texts, np.bool_)
    aligned[skeleton] = True
    distances = np.zeros(texts, np.int64)
    for text in range(texts):
        if text != skeleton:
            own = words[offsets[text] : offsets[text + 1]]
            distances[text] = align(_task(own, table, aligned, costs), shifting).cost
    for text in np.argsort(distances, kind="mergesort"):
        if text != skeleton:
            own = words[offsets[text] : offsets[text + 1]]
            table = _with(table, text, own, align(_task(own, table, aligned, costs), shifting))
            aligned[text] = True
    return table, distances


@kernel
def _task(
    own: NDArray[np.int32], table: NDArray[np.int32], aligned: NDArray[np.bool_], costs: NDArray[np.int32]
) -> Task:
    """What each word costs in each column: as much as with the most similar word there."""
    width = table.shape[0]
    task = Task(np.full((own.size, width), EDIT, np.int32), np.full(width, EDIT, np.int32))
    for j in range(width):
        for text in range(aligned.size):
            if not aligned[text]:
                continue
            word = table[j, text]
            if word == NULL:
                task.columns[j] = SKIP
                continue
            for i in range(own.size):
                task.words[i, j] = min(task.words[i, j], costs[own[i], word])
    return task


@kernel
def _with(table: NDArray[np.int32], text: int, own: NDArray[np.int32], found: Aligned) -> NDArray[np.int32]:
    """The table with the words of one more text; words without a column get one after that of the word before."""
    new = 0
    for column in found.columns:
        new += column == NO_COLUMN
    result = np.full((table.shape[0] + new, table.shape[1]), NULL, np.int32)
    here = old = 0
    for i in range(own.size):
        column = found.columns[i]
        if column != NO_COLUMN:
            while old <= column:
                result[here] = table[old]
                here, old = here + 1, old + 1
            result[here - 1, text] = own[found.order[i]]
        else:
            result[here, text] = own[found.order[i]]
            here += 1
    result[here:] = table[old:]
    return result
