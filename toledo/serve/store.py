"""What is kept between requests, such as forests: for a time after its last use, and up to a number of bytes."""

from __future__ import annotations

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from toledo.serve.problems import ServeError

T = TypeVar("T")
ID = re.compile(r"[a-z]_[A-Za-z0-9_-]{16}")


def new_id(kind: str) -> str:
    """Return an id that nobody can guess."""
    return f"{kind}_{secrets.token_urlsafe(12)}"


@dataclass
class _Kept(Generic[T]):
    value: T
    size: int
    used: float


class Store(Generic[T]):
    """Values by id; what was used least recently goes first."""

    def __init__(self, kind: str, name: str, most_bytes: int, seconds: float, clock: Callable[[], float]) -> None:
        self.kind, self.name, self.most_bytes, self.seconds, self._clock = kind, name, most_bytes, seconds, clock
        self._kept: OrderedDict[str, _Kept[T]] = OrderedDict()
        self._lock, self._size = Lock(), 0

    @property
    def size(self) -> int:
        """Return how many bytes are kept."""
        with self._lock:
            self._forget_old()
            return self._size

    def put(self, value: T, size: int) -> str:
        """Keep a value of that many bytes, and return its id."""
        key = new_id(self.kind)
        with self._lock:
            self._kept[key] = _Kept(value, size, self._clock())
            self._make_room(size)
        return key

    def grow(self, key: str, more: int) -> None:
        """Note that a value takes more bytes than before."""
        with self._lock:
            if key in self._kept:
                self._kept[key].size += more
                self._make_room(more)

    def get(self, key: str) -> T:
        """Return a value, which is then used most recently."""
        with self._lock:
            self._forget_old()
            if key in self._kept:
                found = self._kept[key]
                found.used = self._clock()
                self._kept.move_to_end(key)
                return found.value
        if ID.fullmatch(key) and key.startswith(f"{self.kind}_"):
            title = f"This {self.name} is no longer kept"
            raise ServeError(
                410, "gone", title, f"It is kept for {self.seconds:g} s after its last use. Make it again."
            )
        raise ServeError(404, "not-found", f"There is no such {self.name}")

    def _make_room(self, more: int) -> None:
        self._size += more
        self._forget_old()
        while self._size > self.most_bytes and self._kept:
            self._forget(next(iter(self._kept)))

    def _forget_old(self) -> None:
        oldest = self._clock() - self.seconds
        while self._kept and (first := next(iter(self._kept))) and self._kept[first].used < oldest:
            self._forget(first)

    def _forget(self, key: str) -> None:
        self._size -= self._kept.pop(key).size


clock = time.monotonic
