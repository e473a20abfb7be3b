"""A queue of scored numbers for compiled code, the best first, in an array that has room enough."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from toledo.kernels import inlined


@inlined
def push(heap: NDArray[Any], size: int, key: float, cell: int) -> int:
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
    """Gives the new size."""
    size -= 1
    replace_first(heap, size, heap[size]["key"], heap[size]["cell"])
    return size


@inlined
def second_key(heap: NDArray[Any], size: int) -> float:
    """The key of the second best entry."""
    second = -math.inf
    for place in range(1, min(size, 3)):
        second = max(second, heap[place]["key"])
    return second
