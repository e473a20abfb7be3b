"""The queue: results in order, shared work, fairness, errors that stay with their request."""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from toledo.serve.call import Call
from toledo.serve.problems import ServeError
from toledo.serve.queue import Item, Work, WorkQueue


def doubled(items: Sequence[Item]) -> Iterator[int]:
    for item in items:
        yield 2 * item.value


async def with_queue(function, threads=1, most_waiting=64):
    queue = WorkQueue(threads, most_waiting)
    queue.start()
    try:
        return await function(queue)
    finally:
        await queue.close(1.0)


def test_results_come_in_order():
    async def run(queue):
        return await asyncio.gather(*(queue.run(Call(), Work("x", doubled), range(n)) for n in range(5)))

    assert asyncio.run(with_queue(run, threads=3)) == [[2 * k for k in range(n)] for n in range(5)]


def test_requests_that_wait_are_worked_on_together():
    batches, gate = list[list[int]](), threading.Event()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        batches.append([one.value for one in items])
        yield from doubled(items)

    async def run(queue):
        first = asyncio.ensure_future(queue.run(Call(), Work("other", function), [0]))
        while not queue.running:
            await asyncio.sleep(0.001)
        rest = [asyncio.ensure_future(queue.run(Call(), Work("same", function), [n])) for n in range(1, 6)]
        while queue.waiting < 5:
            await asyncio.sleep(0.001)
        gate.set()
        return await asyncio.gather(first, *rest)

    assert asyncio.run(with_queue(run)) == [[2 * n] for n in range(6)]
    assert sorted(batches) == [[0], [1, 2, 3, 4, 5]]


def test_a_long_request_does_not_keep_others_waiting():
    order, gate = list[int](), threading.Event()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        for item in items:
            order.append(item.value)
            yield item.value

    async def run(queue):
        long = asyncio.ensure_future(queue.run(Call(), Work("w", function, 2), [0] * 20))
        while not queue.running:
            await asyncio.sleep(0.001)
        short = asyncio.ensure_future(queue.run(Call(), Work("w", function, 2), [1]))
        while queue.waiting < 1:
            await asyncio.sleep(0.001)
        gate.set()
        await asyncio.gather(long, short)

    asyncio.run(with_queue(run))
    assert order.index(1) < 5


def test_an_error_stays_with_its_request():
    gate = threading.Event()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        for item in items:
            if item.value < 0:
                raise ValueError("negative")
            yield item.value

    async def run(queue):
        blocker = asyncio.ensure_future(queue.run(Call(), Work("b", function), [0]))
        while not queue.running:
            await asyncio.sleep(0.001)
        tasks = [asyncio.ensure_future(queue.run(Call(), Work("w", function), [n, n])) for n in (1, -1, 2)]
        while queue.waiting < 3:
            await asyncio.sleep(0.001)
        gate.set()
        return await asyncio.gather(blocker, *tasks, return_exceptions=True)

    _, one, wrong, two = asyncio.run(with_queue(run))
    assert (one, two) == ([1, 1], [2, 2])
    assert isinstance(wrong, ValueError)


def test_cancelled_requests_leave_at_once():
    gate, seen = threading.Event(), list[int]()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        seen.extend(one.value for one in items)
        yield from doubled(items)

    async def run(queue):
        blocker = asyncio.ensure_future(queue.run(Call(), Work("b", function), [0]))
        while not queue.running:
            await asyncio.sleep(0.001)
        call = Call()
        task = asyncio.ensure_future(queue.run(call, Work("w", function), [7]))
        while queue.waiting < 1:
            await asyncio.sleep(0.001)
        call.cancel("deleted")
        with pytest.raises(ServeError, match="was stopped"):
            await task
        assert queue.waiting == 0
        gate.set()
        await blocker

    asyncio.run(with_queue(run))
    assert seen == [0]


def test_a_full_queue_refuses_but_long_work_has_no_place_in_it():
    gate = threading.Event()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        yield from doubled(items)

    async def run(queue):
        tasks = [asyncio.ensure_future(queue.run(Call(), Work("b", function), [0]))]
        while not queue.running:
            await asyncio.sleep(0.001)
        tasks += [asyncio.ensure_future(queue.run(Call(), Work(n, function), [n])) for n in range(2)]
        while queue.waiting < 2:
            await asyncio.sleep(0.001)
        with pytest.raises(ServeError) as refused:
            await queue.run(Call(), Work("w", function), [1])
        assert refused.value.status == 429
        assert int(refused.value.headers["Retry-After"]) >= 1
        patient = asyncio.ensure_future(queue.run(Call(patient=True), Work("p", function), [5]))
        gate.set()
        await asyncio.gather(*tasks)
        return await patient

    assert asyncio.run(with_queue(run, most_waiting=2)) == [10]


def test_a_closed_queue_refuses_and_stops_what_waits():
    gate = threading.Event()

    def function(items: Sequence[Item]) -> Iterator[int]:
        gate.wait(30)
        yield from doubled(items)

    async def run(queue):
        tasks = [asyncio.ensure_future(queue.run(Call(), Work(n, function), [n])) for n in range(2)]
        while not queue.running or queue.waiting < 1:
            await asyncio.sleep(0.001)
        closed = asyncio.ensure_future(queue.close(0.05))
        await asyncio.sleep(0.01)
        with pytest.raises(ServeError, match="about to end"):
            await queue.run(Call(), Work("w", function), [1])
        assert await closed is False
        gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(with_queue(run))
    assert all(isinstance(one, ServeError) and one.status == 503 for one in found)
