"""Processes that make lists end with the one that began them."""

import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest

from toledo.refinement.training_lists import _ended_with_us


def interrupted(pending: list[Future[None]]) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, _ended_with_us(pool):
        pending += [pool.submit(time.sleep, 30) for _ in range(3)]
        raise KeyboardInterrupt


def test_an_interruption_does_not_wait_for_other_processes_and_ends_only_its_own() -> None:
    pending: list[Future[None]] = []
    other = get_context("spawn").Process(target=time.sleep, args=(30,))
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(pending)
        for one in pending:
            assert one.cancelled() or isinstance(one.exception(), BrokenProcessPool)
        assert other.exitcode is None
    finally:
        other.terminate()
        other.join()
