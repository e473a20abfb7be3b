"""The queue: a bounded number of requests wait, and their segments are worked on together.

A request brings values, such as segments, and a function that works on several at once. Threads take values of all
requests that wait for the same kind of work, a few of each, so that a long request does not keep others waiting.
Compiled kernels release the interpreter lock, so the event loop stays free.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from toledo.serve.call import Call
from toledo.serve.problems import ServeError

AT_ONCE = 32  # values, by one thread
WINDOW = 64  # finished requests that the rate is measured by
LONGEST_WAIT = 60  # seconds that a client is told to wait


@dataclass(frozen=True, eq=False)
class Work:
    """A function from several values to as many results, in order; requests with the same key share its calls."""

    key: Hashable
    function: Callable[[Sequence[Item]], Iterable[Any]]
    at_once: int = AT_ONCE


@dataclass(frozen=True, eq=False)
class Item:
    """A value of a request."""

    ticket: Ticket
    place: int
    value: Any

    @property
    def call(self) -> Call:
        """Return the call that it belongs to."""
        return self.ticket.call


@dataclass(eq=False)
class Ticket:
    """A request in the queue."""

    call: Call
    work: Work
    waiting: deque[Item]
    results: list[Any]
    future: asyncio.Future[list[Any]]
    missing: int
    queued: float = field(default_factory=time.monotonic)
    started: bool = False
    alone: bool = False  # after an error in shared work


class WorkQueue:
    """Requests that wait, and the threads that work on them."""

    def __init__(self, threads: int, most_waiting: int) -> None:
        self.threads, self.most_waiting = threads, most_waiting
        self.running = 0
        self._tickets: deque[Ticket] = deque()
        self._open: set[Ticket] = set()  # all that have no result yet
        self._changed = threading.Condition()
        self._finished: deque[float] = deque(maxlen=WINDOW)
        self._workers: list[threading.Thread] = []
        self._closed = False

    def start(self) -> None:
        """Start the threads."""
        for number in range(self.threads):
            worker = threading.Thread(target=self._work, name=f"toledo serve {number}", daemon=True)
            self._workers.append(worker)
            worker.start()

    @property
    def waiting(self) -> int:
        """Return the number of requests that nobody works on yet."""
        with self._changed:
            return self._count_waiting()

    def _count_waiting(self) -> int:
        return sum(not one.started and not one.call.patient for one in self._tickets)

    def retry_after(self) -> int:
        """Return after how many seconds a place should be free, by the measured rate."""
        with self._changed:
            times = list(self._finished)
            left = self._count_waiting()
        passed = time.monotonic() - times[0] if times else 0.0
        rate = len(times) / passed if passed > 0 else 1.0
        return max(1, min(LONGEST_WAIT, math.ceil(left / rate / 2)))

    async def run(self, call: Call, work: Work, values: Sequence[Any]) -> list[Any]:
        """Return the results for some values, once threads have come to them."""
        if not values:
            return []
        loop = asyncio.get_running_loop()
        ticket = Ticket(call, work, deque(), [None] * len(values), loop.create_future(), len(values))
        ticket.waiting.extend(Item(ticket, place, value) for place, value in enumerate(values))
        with self._changed:
            if self._closed:
                raise ServeError(503, "closing", "The server is about to end", headers={"Retry-After": "10"})
            full = not call.patient and self._count_waiting() >= max(self.most_waiting, 1)
            if not full:
                self._tickets.append(ticket)
                self._open.add(ticket)
                self._changed.notify()
        if full:
            wait = str(self.retry_after())
            detail = f"{self.most_waiting} requests wait already; try again in {wait} s."
            raise ServeError(429, "queue-full", "The queue is full", detail, headers={"Retry-After": wait})
        call.stopped = lambda error: _finish(ticket, error)
        try:
            return await ticket.future
        finally:
            call.stopped = None
            self._leave(ticket)

    async def close(self, seconds: float) -> bool:
        """Accept nothing new; return whether all work has ended within this time."""
        with self._changed:
            self._closed = True
        end = time.monotonic() + seconds
        while self._open and time.monotonic() < end:
            await asyncio.sleep(0.02)
        with self._changed:
            left = list(self._open)
            self._changed.notify_all()
        for ticket in left:
            ticket.call.cancel("closing")
        return not left

    def _leave(self, ticket: Ticket) -> None:
        """Take a request out of the queue, whether it is done or nobody wants it."""
        with self._changed:
            ticket.waiting.clear()
            self._open.discard(ticket)
            if ticket in self._tickets:
                self._tickets.remove(ticket)
            if not ticket.call.patient:
                self._finished.append(time.monotonic())

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._tickets and not self._closed:
                    self._changed.wait()
                if not self._tickets:
                    return
                items = self._take()
                self.running += bool(items)
            if items:
                try:
                    self._run(items)
                finally:
                    with self._changed:
                        self.running -= 1

    def _take(self) -> list[Item]:
        """Return values to work on next: some of each request that waits for the same work."""
        first = self._tickets[0]
        alike = [first] if first.alone else [one for one in self._tickets if one.work.key == first.work.key]
        alike = [one for one in alike if one is first or not one.alone]
        number = sum(len(one.waiting) for one in alike)
        size = min(first.work.at_once, max(1, math.ceil(number / self.threads)))
        share, items = max(1, size // len(alike)), list[Item]()
        for ticket in alike:
            self._tickets.remove(ticket)
            if len(items) < size:
                items += self._first(ticket, min(share, size - len(items)))
            if ticket.waiting:
                self._tickets.append(ticket)
        return items

    def _first(self, ticket: Ticket, number: int) -> Iterator[Item]:
        if not ticket.started:
            ticket.started = True
            ticket.call.add("queue", time.monotonic() - ticket.queued)
        for _ in range(min(number, len(ticket.waiting))):
            yield ticket.waiting.popleft()

    def _run(self, items: Sequence[Item]) -> None:
        wanted = [one for one in items if not one.call.cancelled]
        if not wanted:
            return
        done = 0
        try:
            for item, result in zip(wanted, wanted[0].ticket.work.function(wanted), strict=True):
                done += 1
                _deliver(item, result)
        except BaseException as error:
            self._fail(wanted[done:], error)

    def _fail(self, items: Sequence[Item], error: BaseException) -> None:
        """Hand an error to the request; if several share the work, each tries again by itself."""
        tickets = list({id(one.ticket): one.ticket for one in items}.values())
        if len(tickets) == 1:
            _finish(tickets[0], error)
            return
        with self._changed:
            for item in items:
                item.ticket.waiting.append(item)
            for ticket in tickets:
                ticket.alone = True
                if ticket not in self._tickets:
                    self._tickets.append(ticket)
            self._changed.notify()


def _deliver(item: Item, result: Any) -> None:
    ticket = item.ticket

    def keep() -> None:
        ticket.results[item.place] = result
        ticket.missing -= 1
        ticket.call.advance()
        if not ticket.missing and not ticket.future.done():
            ticket.future.set_result(ticket.results)

    _in_loop(ticket, keep)


def _finish(ticket: Ticket, error: BaseException) -> None:
    def fail() -> None:
        if not ticket.future.done():
            ticket.future.set_exception(error)

    _in_loop(ticket, fail)


def _in_loop(ticket: Ticket, function: Callable[[], None]) -> None:
    """Call a function in the event loop of a request, unless the loop has ended."""
    loop = ticket.future.get_loop()
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)
