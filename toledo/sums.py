"""Sums of products in an order that is always the same.

BLAS, which is behind NumPy's `@`, shares sums of some 10,000 numbers among threads: their last digits depend on how
many there are, and after some hundred steps of an optimiser those of weights do, too. NumPy's own loops do not use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sum_of_products(factors: Floats, values: NDArray[Any]) -> Floats:
    """Σᵢ factors[i] · values[i], of numbers or of rows."""
    return np.asarray(np.einsum("i,i...->...", factors, values), np.float64)


def row_products(rows: NDArray[Any], vector: Floats) -> Floats:
    """Of each row with a vector."""
    return np.asarray(np.einsum("ij,j->i", rows, vector), np.float64)
