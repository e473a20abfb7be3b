"""A queue of scored numbers for compiled code, the best first, in arrays that have room enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined


@inlined
def push(keys: NDArray[np.float64], heap: NDArray[np.int32], size: int, key: float, cell: int) -> int:
    """Add to a heap, best first; there must be room."""
    place = size
    while place > 0 and keys[(place - 1) // 2] < key:
        keys[place], heap[place] = keys[(place - 1) // 2], heap[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], heap[place] = key, cell
    return size + 1


@inlined
def pop(keys: NDArray[np.float64], heap: NDArray[np.int32], size: int) -> int:
    """Remove the first entry; gives the new size."""
    size -= 1
    key, cell = keys[size], heap[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[place], heap[place] = keys[child], heap[child]
        place = child
    keys[place], heap[place] = key, cell
    return size
