"""What is one thing in compiled code and another in plain Python, where this file has the latter.

The compiled twins, single instructions of the processor or nothing at all, are in
`toledo.compiled.machine_instructions`, which needs Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

EIGHT = 8


def prefetch(array: Any, index: int) -> None:
    """In a kernel: start to fetch `array[index]`, a contiguous array's, and go on. In plain Python: nothing.

    For look-ups in tables that no cache can hold.
    """


def load_eight(array: NDArray[np.uint8], place: int) -> np.uint64:
    """8 bytes of a contiguous array from any place on, as a number (the first byte lowest); bounds are not checked."""
    return np.uint64(int.from_bytes(array[place : place + EIGHT].tobytes(), "little"))


def trailing_zeros(number: np.uint64) -> np.uint64:
    """Return how many zeros follow the lowest one bit of a number, which is not 0."""
    return np.uint64((int(number) & -int(number)).bit_length() - 1)


def listed(array: NDArray[Any]) -> Any:
    """In a kernel: the array itself. In plain Python: a list of its elements, for loops that read or write many.

    Lists are several times faster than arrays there, and Python's numbers do not wrap around. What is written to such a
    list reaches no array, so this is for memory that nobody else reads.
    """
    return array.tolist()
