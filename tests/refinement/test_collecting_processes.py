"""Processes that make lists end with the one that began them."""

import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest

from toledo.refinement.collecting import _ended_with_us


def interrupted(pending: list[Future[None]]) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, _ended_with_us(pool):
        pending += [pool.submit(time.sleep, 30) for _ in range(3)]
        raise KeyboardInterrupt


def test_an_interruption_does_not_wait_for_other_processes() -> None:
    pending: list[Future[None]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(pending)
    for one in pending:
        assert one.cancelled() or isinstance(one.exception(), BrokenProcessPool)
