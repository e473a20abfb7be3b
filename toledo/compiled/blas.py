"""One thread for the linear algebra of others: what takes microseconds is not worth waking threads for.

SciPy's optimizers call BLAS and LAPACK on matrices of some twenty rows, many thousand times. OpenBLAS divides even
these among threads, which wait for each other in busy loops: more than a quarter of the CPU time of tuning a
combination from Python. Besides, sums are then added in the same order on any number of processors.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

NAMES = "scipy_openblas_{}_num_threads", "scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads"

_turn = threading.Lock()
_inside = 0  # blocks that are running, in all threads
_before = 0  # threads outside of them


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """In a block: SciPy's BLAS runs in one thread, if it is OpenBLAS; another one is left as it is."""
    global _inside, _before
    get, set_number = _threads()
    with _turn:
        if not _inside:
            _before = get()
            set_number(1)
        _inside += 1
    try:
        yield
    finally:
        with _turn:
            _inside -= 1
            if not _inside:
                set_number(_before)


@cache
def _threads() -> tuple[Callable[[], int], Callable[[int], Any]]:
    """Return functions that tell and set the number of threads of the BLAS that SciPy's optimizers are linked to."""
    from scipy.optimize import _lbfgsb

    try:
        library = ctypes.CDLL(_lbfgsb.__file__)  # names of the libraries that it needs are found, too
    except (AttributeError, OSError):
        library = None
    for name in NAMES:
        get, set_number = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
        if get is not None and set_number is not None:
            return get, set_number
    return lambda: 1, lambda number: None
