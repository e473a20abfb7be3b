"""Compiled code: the one decorator, its cache on disk, and threads over sentences.

A kernel takes arrays and named tuples of arrays and gives arrays; it runs without the interpreter lock.
Numba's own cache notices a change in the file of a function, but not in the files of the functions that it
calls. The cache here is keyed by the sources of a kernel *and of all kernels and constants it reaches*.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, register

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
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if isinstance(dispatcher, Dispatcher):  # a plain function where compilation is switched off for debugging
        dispatcher._cache = _KernelCache(function)  # type: ignore[attr-defined]
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


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Puts compiled code below the user's cache directory, apart for each place that the sources lie in."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self.file = file
        self.name = f"{function.__module__}.{function.__qualname__}"

    def get_cache_path(self) -> str:
        return str(cache_directory() / self.get_suitable_cache_subpath(self.file))

    def get_source_stamp(self) -> str:
        return ""  # not known before all callees are defined: see _KernelCache

    def get_disambiguator(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()[:10]

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _Locator:
        return cls(function, file)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    _impl_class = _Implementation

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        self._cache_file._source_stamp = self.stamp()
        try:
            found = super().load_overload(signature, target_context)
        except OSError:  # nothing can be read there: compile
            found = None
        except (AttributeError, ImportError):  # kept by another version of the package, for types that are gone
            self._cache_file.flush()
            found = None
        if found is None:
            _announcement.one_more()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError:  # a read-only home must not stop the work
            _announce_lack_of_cache()

    def stamp(self) -> str:
        """Return a digest of everything that the machine code of this kernel depends on."""
        digest = hashlib.sha256()
        for part in sorted(set(_dependencies(self._py_func, set()))):
            digest.update(part.encode())
        return digest.hexdigest()


def _dependencies(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    seen.add(function)
    yield _file_digest(inspect.getsourcefile(function) or function.__code__.co_filename)
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher):
            if value.py_func not in seen:
                yield from _dependencies(value.py_func, seen)
        elif isinstance(value, FunctionType):  # a plain function with a compiled twin beside it (numba's overload)
            yield _file_digest(value.__code__.co_filename)
        elif isinstance(value, int | float | str | tuple | np.generic | np.dtype):
            yield f"{name}={value!r}"
        elif isinstance(value, np.ndarray):
            yield f"{name}={value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


@cache
def _file_digest(file: str) -> str:
    path = Path(file)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else file


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


@cache
def _announce_lack_of_cache() -> None:
    log.warning("compiled kernels cannot be kept: %s may not be written to (set TOLEDO_CACHE)", cache_directory())


@cache
def cache_directory() -> Path:
    """Return where compiled kernels are kept: $TOLEDO_CACHE, or `toledo` in the user's cache directory."""
    configured = os.environ.get("TOLEDO_CACHE")
    if configured:
        return Path(configured)
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache_home) / "toledo"
    try:
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "toledo"
    except RuntimeError:  # a user without a home, as in some containers: a private directory for this process
        return Path(tempfile.mkdtemp(prefix="toledo-"))
