"""One thread of BLAS within a block, in all threads of Python, and as many as before after it."""

import threading

import numpy as np
import pytest
import scipy.optimize

from toledo.compiled import blas
from toledo.tuning.maximize import Bounds, maximize


@pytest.fixture
def threads() -> list[int]:
    """The number of threads that a BLAS library has, from now on and for the code under test."""
    return [7]


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch, threads: list[int]) -> None:
    def set_number(number: int) -> None:
        threads[0] = number

    monkeypatch.setattr(blas, "_threads", lambda: (lambda: threads[0], set_number))


def test_the_number_is_1_within_and_as_before_after_it(threads: list[int]) -> None:
    with blas.one_blas_thread():
        assert threads == [1]
        with blas.one_blas_thread():
            assert threads == [1]
        assert threads == [1]
    assert threads == [7]


def test_an_error_brings_the_number_back(threads: list[int]) -> None:
    with pytest.raises(ZeroDivisionError), blas.one_blas_thread():
        raise ZeroDivisionError
    assert threads == [7]


def test_blocks_of_several_threads_may_end_in_any_order(threads: list[int]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with blas.one_blas_thread():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with blas.one_blas_thread():
        thread.start()
        inside.wait()
    assert threads == [1]  # the other block is still running
    leave.set()
    thread.join()
    assert threads == [7]


def test_lbfgs_runs_in_such_a_block(threads: list[int]) -> None:
    seen = list[int]()

    def function(point: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(threads[0])
        return -float(point @ point), -2.0 * point

    maximize(function, np.ones(3), Bounds(np.full(3, -np.inf), np.full(3, np.inf)), "lbfgs", 5)
    assert {*seen} == {1}
    assert threads == [7]


def test_the_library_of_scipy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    get, set_number = blas._threads()
    before = get()
    assert before >= 1
    with blas.one_blas_thread():
        assert get() == 1
        scipy.optimize.minimize(lambda x: float(x @ x), np.ones(2), method="L-BFGS-B")
    assert get() == before
    if (scipy.__config__.CONFIG["Build Dependencies"]["blas"]["name"]).startswith("scipy-openblas"):
        set_number(2)
        assert get() == 2  # a real library, not the one that does nothing
        set_number(before)
