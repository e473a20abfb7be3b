"""Compiled code: the decorators of kernels, and threads over sentences.

A kernel takes arrays and named tuples of arrays and gives arrays; it runs without the interpreter lock.
Compiled code is kept on disk (`toledo.compiled.cache`).
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numba

from toledo.compiled.cache import KernelCache, cache_directory
from toledo.compiled.numba_internals import NO_REFERENCE_COUNTS, Event, Listener, forget_literals, register, use_cache
from toledo.progress import Progress, silent

log = logging.getLogger(__name__)

SECONDS_OF_SILENCE = 5.0

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


def kernel(function: Function) -> Function:
    """Compile a function on first use: no interpreter lock, IEEE arithmetic, cached on disk."""
    return _compiled(function)


def inner_kernel(function: Function) -> Function:
    """Compile a kernel that makes no arrays, and only works on those that it is given.

    Disables reference counting for array arguments. Where kernels pass arrays on in inner loops, counting (an atomic
    instruction each time) may take as long as the work.
    """
    return _compiled(function, **NO_REFERENCE_COUNTS)


def _compiled(function: Function, **options: bool) -> Function:
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(dispatcher, "py_func"):  # a plain function where compilation is switched off for debugging
        use_cache(dispatcher, KernelCache(dispatcher, _announcement.one_more))
        forget_literals(dispatcher)
    return cast(Function, dispatcher)


def inlined(function: Function) -> Function:
    """Compile a part of kernels by copying it into each: for small functions, where handing on arrays costs most."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", inline="always")(function))


def compiled_kernels() -> int:
    """Return the number of kernels that this process has compiled rather than found in the cache."""
    return _announcement.compiled


def compilation_seconds() -> float:
    """Return the CPU time that this process has spent on compiling."""
    return _compilation.seconds


def working_seconds() -> float:
    """Return the CPU time of this process, all threads together, without that of compiling."""
    return time.process_time() - _compilation.seconds


def available_threads() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_chunks(
    work: Callable[[int, int], Result],
    total: int,
    *,
    chunk: int,
    threads: int | None = None,
    progress: Progress = silent,
    label: str = "",
) -> list[Result]:
    """Call `work(begin, end)` for consecutive chunks of `range(total)` in threads; results in order of the chunks.

    The chunks depend on `total` and `chunk` alone, so whatever is summed over them in order is the same for any
    number of threads.
    """
    bounds = [(begin, min(begin + chunk, total)) for begin in range(0, total, chunk)]
    threads = min(threads or available_threads(), max(len(bounds), 1))
    with progress(label, total) as advance:
        return _run(work, bounds, threads, advance)


def _run(
    work: Callable[[int, int], Result], bounds: list[tuple[int, int]], threads: int, advance: Callable[[int], None]
) -> list[Result]:
    """Let each thread, the calling one too, take the next piece until none is left or one has failed.

    Pools would keep the calling thread idle, and hand out pieces at a cost that short work does not earn back.
    """
    results: list[Result | None] = [None] * len(bounds)
    errors: dict[int, BaseException] = {}
    pending, turn = iter(enumerate(bounds)), threading.Lock()

    def take_turns() -> None:
        while not errors:
            with turn:
                number, (begin, end) = next(pending, (-1, (0, 0)))
            if number < 0:
                return
            try:
                results[number] = work(begin, end)
                advance(end - begin)
            except BaseException as error:  # Ctrl-C too: the others must not go on
                errors[number] = error

    others = [threading.Thread(target=take_turns, daemon=True, name=__name__) for _ in range(threads - 1)]
    try:
        for thread in others:
            thread.start()
        take_turns()
        if not _interrupted(errors):  # what others are compiling may take long, and is of no use any more
            for thread in others:
                thread.join()
    except BaseException as error:  # Ctrl-C between two pieces
        errors[-1] = error
    if errors:
        raise errors[min(errors)]
    return cast(list[Result], results)


def _interrupted(errors: Mapping[int, BaseException]) -> bool:
    return any(not isinstance(error, Exception) for error in list(errors.values()))


class _Compilation(Listener):  # type: ignore[misc]
    """CPU time of compiling. One thread at a time compiles, and callees within their callers."""

    def __init__(self) -> None:
        self.seconds, self.depth, self.last = 0.0, 0, 0.0

    def on_start(self, event: Event) -> None:
        self._count()
        self.depth += 1

    def on_end(self, event: Event) -> None:
        self._count()
        self.depth -= 1

    def _count(self) -> None:
        now = time.thread_time()
        self.seconds += now - self.last if self.depth else 0.0
        self.last = now


_compilation = _Compilation()
register("numba:compile", _compilation)


class _Announcement:
    """Counts compiled kernels, and logs a message at the first and every few seconds after it."""

    def __init__(self) -> None:
        self.compiled, self.last = 0, -math.inf

    def one_more(self) -> None:
        """A kernel is about to be compiled."""
        now = time.monotonic()
        if not self.compiled:
            log.warning("compiling kernels for this machine (only the first time; kept in %s)", cache_directory())
            self.last = now
        elif now - self.last > SECONDS_OF_SILENCE:
            log.warning("still compiling: %.0f CPU seconds so far", _compilation.seconds)
            self.last = now
        self.compiled += 1


_announcement = _Announcement()
