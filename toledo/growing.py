"""Arrays that grow, in compiled code: none of them knows beforehand how much it will find."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel


@kernel
def grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """The array with room for `needed` entries: the same one if it has it, else one at least twice as long."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """The array with twice the room."""
    return grown(array, 2 * array.shape[0])
