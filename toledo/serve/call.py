"""A call: one request on its way through the server, which can be cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from toledo.serve.problems import ServeError

STOPPED = {
    "client gone": ServeError(499, "client-gone", "The client has gone"),
    "timeout": ServeError(504, "timeout", "The work took too long and was stopped", "Send less at a time."),
    "deleted": ServeError(410, "deleted", "The work was stopped"),
    "closing": ServeError(503, "closing", "The server is about to end"),
}


@dataclass
class Call:
    """A request that is worked on: when it began, whether it is still wanted, and how long its parts took."""

    id: str = ""
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)
    segments: int = 0
    words: int = 0
    patient: bool = False  # long work has no time-out, and no place among the requests that wait
    progress: Callable[[int], None] | None = None
    stopped: Callable[[ServeError], None] | None = None  # called when nobody wants the result any more
    _reason: str = ""
    _stopped: Event = field(default_factory=Event)

    def cancel(self, reason: str) -> None:
        """Stop the work: what waits is given up at once, what runs stops at its next look."""
        if not self._stopped.is_set():
            self._reason = reason
            self._stopped.set()
            if self.stopped is not None:
                self.stopped(STOPPED[reason])

    @property
    def cancelled(self) -> bool:
        """Whether nobody wants the result any more."""
        return self._stopped.is_set()

    def check(self) -> None:
        """Raise an error if nobody wants the result any more."""
        if self._stopped.is_set():
            raise STOPPED[self._reason]

    def add(self, part: str, seconds: float) -> None:
        """Count the time of a part."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    def advance(self, steps: int = 1) -> None:
        """Say that a part of the work is done."""
        if self.progress is not None:
            self.progress(steps)
