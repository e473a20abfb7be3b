"""Long work: it goes on after its request has been answered, tells what it does as events, and can be stopped.

Events have numbers, so that a client that lost its connection goes on where it was. Progress comes at most ten times
a second, and of older progress only the last is kept; other events are kept until the job is forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from toledo.serve.call import Call
from toledo.serve.problems import ServeError, error_of
from toledo.serve.settings import ServerLimits
from toledo.serve.store import ID, new_id
from toledo.serve.work_types import JobResult, JobState, Problem

log = logging.getLogger(__name__)

MOST_JOBS, MOST_RUNNING = 64, 2
OFTEN = 0.1  # seconds between two events of progress
ALIVE = 15.0  # seconds without an event until the client hears that the server is there
PROGRESS = "progress"
Kind = Literal["translate", "documents", "compare"]


@dataclass(frozen=True)
class JobEvent:
    """Something that happened, as clients read it."""

    number: int
    name: str
    data: bytes

    def text(self) -> bytes:
        """Return the event as a part of a stream."""
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.number, self.name.encode(), self.data)


@dataclass(eq=False)
class Job:
    """Work that goes on by itself."""

    kind: Kind
    total: int
    call: Call
    id: str = field(default_factory=lambda: new_id("j"))
    state: JobState = "waiting"
    done: int = 0
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None
    result: Any = None
    problem: Problem | None = None
    events: list[JobEvent] = field(default_factory=list)
    _last: int = 0
    _told: float = 0.0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    def tell(self, name: str, data: Any) -> None:
        """Add an event; for any thread."""
        self._loop.call_soon_threadsafe(self._add, name, msgspec.json.encode(data))

    def advance(self, steps: int = 1) -> None:
        """Count what is done, and say so now and then; for any thread."""
        self.done += steps
        now = time.monotonic()
        if now - self._told >= OFTEN or self.done >= self.total:
            self._told = now
            self.tell(PROGRESS, {"done": self.done, "total": self.total, "rate": self.rate, "left": self.left})

    @property
    def rate(self) -> float | None:
        """Return how much is done in a second."""
        passed = (self.ended or time.monotonic()) - self.begun
        return round(self.done / passed, 3) if self.done and passed > 0 else None

    @property
    def left(self) -> float | None:
        """Return after how many seconds it should be done."""
        return round((self.total - self.done) / self.rate, 1) if self.rate and self.ended is None else None

    def about(self) -> JobResult:
        """Return the state of the job."""
        return JobResult(
            job=self.id, kind=self.kind, state=self.state, done=self.done, total=self.total, rate=self.rate,
            left=self.left, result=self.result, problem=self.problem,
        )  # fmt: skip

    def _add(self, name: str, data: bytes) -> None:
        self._last += 1
        if name == PROGRESS and self.events and self.events[-1].name == PROGRESS:
            self.events.pop()
        self.events.append(JobEvent(self._last, name, data))
        self._changed.set()

    async def stream(self, after: int) -> AsyncIterator[bytes]:
        """Yield the events after a number as they come, until the job has ended."""
        while True:
            self._changed.clear()
            fresh = [one for one in self.events if one.number > after]
            for one in fresh:
                after = one.number
                yield one.text()
            if fresh:
                continue
            if self.ended is not None:
                return
            try:
                await asyncio.wait_for(self._changed.wait(), ALIVE)
            except TimeoutError:
                yield b": alive\n\n"


class Jobs:
    """The jobs that are there; those that ended are forgotten after a time."""

    def __init__(self, limits: ServerLimits) -> None:
        self.limits = limits
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._places: asyncio.Semaphore | None = None
        self.streams: Counter[str] = Counter()

    def start(self, kind: Kind, total: int, work: Callable[[Job], Awaitable[Any]]) -> Job:
        """Begin work that returns a result; it waits if others are running."""
        self._forget()
        active = sum(one.ended is None for one in self._jobs.values())
        if active >= MOST_JOBS:
            detail = f"{active} jobs are waiting or running; stop one, or try again later."
            raise ServeError(429, "queue-full", "There are too many jobs", detail, headers={"Retry-After": "30"})
        if self._places is None:
            self._places = asyncio.Semaphore(MOST_RUNNING)
        job = Job(kind, total, Call(patient=True))
        job.call.id, job.call.progress = job.id, job.advance
        self._jobs[job.id] = job
        self._tasks[job.id] = asyncio.ensure_future(self._run(job, work, self._places))
        return job

    async def _run(self, job: Job, work: Callable[[Job], Awaitable[Any]], places: asyncio.Semaphore) -> None:
        try:
            async with places:
                job.state, job.begun = "running", time.monotonic()
                job.result = await work(job)
            job.state = "stopped" if job.call.cancelled else "done"
        except asyncio.CancelledError:
            job.state = "stopped"
        except Exception as error:
            self._note(job, error)
        job.ended = time.monotonic()
        name = "done" if job.problem is None else "problem"
        job._add(name, msgspec.json.encode({"state": job.state} if job.problem is None else job.problem))
        self._tasks.pop(job.id, None)

    def _note(self, job: Job, error: Exception) -> None:
        found = error_of(error)
        if job.call.cancelled:
            job.state = "stopped"
            return
        if found.status == 500:
            log.exception("job %s failed", job.id)
        job.state, job.problem = "failed", found.problem(job.id)

    def get(self, key: str) -> Job:
        """Return a job by its id."""
        self._forget()
        if key in self._jobs:
            return self._jobs[key]
        if ID.fullmatch(key) and key.startswith("j_"):
            raise ServeError(410, "gone", "This job is no longer kept", "Start it again.")
        raise ServeError(404, "not-found", "There is no such job")

    def stop(self, key: str) -> Job:
        """Stop a job: what waits is given up, what runs ends at its next look."""
        job = self.get(key)
        job.call.cancel("deleted")
        task = self._tasks.get(key)
        if task is not None and job.state == "waiting":
            task.cancel()
        return job

    async def events(self, key: str, after: int, client: str) -> AsyncIterator[bytes]:
        """Yield the events of a job after a number."""
        job = self.get(key)
        self.streams[client] += 1
        try:
            async for part in job.stream(after):
                yield part
        finally:
            self.streams[client] -= 1

    def check_streams(self, client: str) -> None:
        """Refuse more streams of a client than there may be."""
        if self.streams[client] >= self.limits.streams:
            detail = f"At most {self.limits.streams} for one client."
            raise ServeError(429, "too-many-streams", "There are too many event streams", detail)

    def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs.values():
            job.call.cancel("closing")

    def _forget(self) -> None:
        oldest = time.monotonic() - self.limits.keep_seconds
        for key, job in list(self._jobs.items()):
            if job.ended is not None and job.ended < oldest:
                del self._jobs[key]
