"""Priority queues for compiled code: binary heaps of scores with a number each, best first.

`Heap` grows, and among equal scores the smaller number comes first. The functions below it work on an array of ENTRY
that has room enough, and do not count entries themselves: for inner loops.

Arrays that grow, where the number of results is not known beforehand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, kernel


@kernel
def grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return the array with room for `needed` entries: the same one if it has it, else one at least twice as long."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with twice the room."""
    return grown(array, 2 * array.shape[0])


ENTRY = np.dtype([("key", np.float64), ("cell", np.int32)], align=True)


class Heap(NamedTuple):
    """`size[0]` entries; among equal scores the smaller number comes first, so that results are reproducible."""

    size: NDArray[np.int64]
    scores: NDArray[np.float64]
    numbers: NDArray[np.int32]


@kernel
def new_heap(room: int) -> Heap:
    """Return an empty heap."""
    return Heap(np.zeros(1, np.int64), np.empty(room), np.empty(room, np.int32))


@kernel
def _before(heap: Heap, i: int, j: int) -> bool:
    if heap.scores[i] != heap.scores[j]:
        return bool(heap.scores[i] > heap.scores[j])
    return bool(heap.numbers[i] < heap.numbers[j])


@kernel
def _swap(heap: Heap, i: int, j: int) -> None:
    heap.scores[i], heap.scores[j] = heap.scores[j], heap.scores[i]
    heap.numbers[i], heap.numbers[j] = heap.numbers[j], heap.numbers[i]


@kernel
def push(heap: Heap, score: float, number: int) -> Heap:
    """Add an entry; gives the heap, which may have moved to get room."""
    place = heap.size[0]
    if place == heap.scores.size:
        heap = Heap(heap.size, doubled(heap.scores), doubled(heap.numbers))
    heap.scores[place], heap.numbers[place] = score, number
    heap.size[0] = place + 1
    while place > 0 and _before(heap, place, (place - 1) // 2):
        _swap(heap, place, (place - 1) // 2)
        place = (place - 1) // 2
    return heap


@kernel
def pop(heap: Heap) -> int:
    """Remove the best entry and give its number (the heap must not be empty)."""
    number = heap.numbers[0]
    last = heap.size[0] - 1
    heap.size[0] = last
    heap.scores[0], heap.numbers[0] = heap.scores[last], heap.numbers[last]
    place = 0
    while True:
        best = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < last and _before(heap, child, best):
                best = child
        if best == place:
            return int(number)
        _swap(heap, place, best)
        place = best


@inlined
def add_entry(heap: NDArray[Any], size: int, key: float, cell: int) -> int:
    """Add to a heap, best first; there must be room."""
    place = size
    while place > 0 and heap[(place - 1) // 2]["key"] < key:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place]["key"], heap[place]["cell"] = key, cell
    return size + 1


@inlined
def replace_first(heap: NDArray[Any], size: int, key: float, cell: int) -> None:
    """Another entry, or the same one with another key, in place of the first: cheaper than to remove and to add."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1]["key"] > heap[child]["key"]:
            child += 1
        if heap[child]["key"] <= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place]["key"], heap[place]["cell"] = key, cell


@inlined
def remove_first(heap: NDArray[Any], size: int) -> int:
    """Return the new size."""
    size -= 1
    replace_first(heap, size, heap[size]["key"], heap[size]["cell"])
    return size


@inlined
def second_key(heap: NDArray[Any], size: int) -> float:
    """Return the key of the second best entry."""
    second = -math.inf
    for place in range(1, min(size, 3)):
        second = max(second, heap[place]["key"])
    return second


@kernel
def power_of_two(least: int) -> int:
    """Return the smallest power of two that is at least `least`."""
    size = 1
    while size < least:
        size *= 2
    return size
