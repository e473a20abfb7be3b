"""Compiled code: the decorators of kernels, and threads over sentences.

A kernel takes arrays and named tuples of arrays and gives arrays; it runs without the interpreter lock. It is compiled
on first use and kept on disk (`toledo.compiled.cache`). Numba is loaded when the first kernel is compiled or found.

Compiling takes seconds. A kernel that says how many elements are few for it runs as plain Python as long as its inputs
are no larger and nothing has compiled it before; with tiny inputs, even before Numba is loaded. Results must be the
same, bit for bit, so its source keeps to what means the same to NumPy and to Numba:

- elements of arrays of less than 64 bits become `int(…)` or `float(…)`, or are read from `listed(array)`, before they
  are added or multiplied; uint64 meets uint64 alone; integers stay within 64 bits;
- `math.log` and such, not `np.log`, of single numbers; no `.sum()` of floats, which NumPy adds in another order;
- no division by 0.
"""

from __future__ import annotations

import functools
import gc
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

from toledo.compiled.stamps import cache_directory, has_code, names_in
from toledo.progress import Progress, silent

log = logging.getLogger(__name__)

SECONDS_OF_SILENCE = 5.0  # before the second message about compiling; each wait is twice as long as the one before
SECONDS_AS_PYTHON = 4.0  # of CPU time, in all: less than compiling takes
SECONDS_TO_LOAD, TINY = 0.3, 10_000  # what loading Numba takes; elements for which no kernel takes as long

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")
Kind = Literal["kernel", "inner", "inlined"]
Mode = Literal["auto", "python", "machine"]

KERNELS: dict[str, Kernel] = {}  # all that were defined in modules imported so far, by module and name


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, small: int) -> Callable[[Function], Function]: ...
def kernel(function: Function | None = None, /, *, small: int = 0) -> Function | Callable[[Function], Function]:
    """Compile a function on first use: no interpreter lock, IEEE arithmetic, cached on disk.

    With `small`, calls whose arrays have no more elements than that may run as plain Python.
    """
    return _decorated(function, "kernel", small)


@overload
def inner_kernel(function: Function, /) -> Function: ...
@overload
def inner_kernel(*, small: int) -> Callable[[Function], Function]: ...
def inner_kernel(function: Function | None = None, /, *, small: int = 0) -> Function | Callable[[Function], Function]:
    """Compile a kernel that makes no arrays, and only works on those that it is given.

    Disables reference counting for array arguments. Where kernels pass arrays on in inner loops, counting (an atomic
    instruction each time) may take as long as the work.
    """
    return _decorated(function, "inner", small)


def _decorated(function: Function | None, kind: Kind, small: int) -> Function | Callable[[Function], Function]:
    if function is None:
        return lambda function: cast(Function, Kernel(function, kind, small))
    return cast(Function, Kernel(function, kind))


def inlined(function: Function) -> Function:
    """Compile a part of kernels by copying it into each: for small functions, where handing on arrays costs most."""
    return cast(Function, Kernel(function, "inlined"))


class Kernel:
    """A function with machine code, made or loaded when it is first called.

    `py_func` and `targetoptions` are what Numba's compiler asks of a compiled function that a kernel calls.
    """

    def __init__(self, function: Callable[..., Any], kind: Kind, small: int = 0) -> None:
        functools.update_wrapper(self, function)
        self.py_func = cast(FunctionType, function)
        self.kind = kind
        self.small = small
        self.targetoptions = {"kind": kind, "inline": "always" if kind == "inlined" else "never"}
        self._dispatcher: Any = None
        self._callee: Any = None
        KERNELS[f"{function.__module__}.{function.__qualname__}"] = self

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code, or the function itself where that is quicker."""
        if self.small and self._suits_python(arguments):
            return _interpretation.run(self.plain, arguments)
        return (self._dispatcher or self.dispatcher)(*arguments)

    @property
    def dispatcher(self) -> Any:
        """Numba's function that chooses machine code by the types of its arguments."""
        from toledo.compiled.compiler import make_dispatcher

        with _making:
            if self._dispatcher is None:
                self._dispatcher = make_dispatcher(self)
            return self._dispatcher

    @property
    def callee(self) -> Any:
        """The same for kernels that call this one: without what Python needs."""
        from toledo.compiled.compiler import make_callee

        with _making:
            if self._callee is None:
                self._callee = make_callee(self)
            return self._callee

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The same function in Python, calling plain functions instead of kernels."""
        return _plain(self, {})

    def _suits_python(self, arguments: tuple[Any, ...]) -> bool:
        if _interpretation.mode in ("python", "machine"):
            return _interpretation.mode == "python"
        seconds, elements = _interpretation.seconds, _elements(arguments)
        if self._dispatcher is not None or seconds > SECONDS_AS_PYTHON or elements > self.small:
            return False
        if elements <= TINY and seconds < SECONDS_TO_LOAD and "numba" not in sys.modules:
            return True
        return not self._is_kept

    @functools.cached_property
    def _is_kept(self) -> bool:
        return has_code(self)


_making = threading.RLock()


def _plain(kernel: Kernel, made: dict[Kernel, FunctionType]) -> FunctionType:
    """Return a kernel's function with plain functions for the kernels that it calls; `made` are those so far."""
    if kernel not in made:
        function, names = kernel.py_func, names_in(kernel.py_func.__code__)
        known = {name: value for name, value in function.__globals__.items() if name in names}
        known["__builtins__"] = function.__globals__["__builtins__"]
        made[kernel] = FunctionType(
            function.__code__, known, function.__name__, function.__defaults__, function.__closure__
        )
        known.update({name: _plain(value, made) for name, value in known.items() if isinstance(value, Kernel)})
    return made[kernel]


def _elements(arguments: tuple[Any, ...]) -> int:
    """Return the number of elements of all arrays."""
    return sum(
        one.size if isinstance(one, np.ndarray) else _elements(one) if isinstance(one, tuple) else 0
        for one in arguments
    )


class _Interpretation:
    """How kernels for small inputs run ($TOLEDO_SMALL_KERNELS), and the CPU time of those that ran as plain Python."""

    def __init__(self) -> None:
        self.mode = os.environ.get("TOLEDO_SMALL_KERNELS", "auto")
        self.seconds, self._lock = 0.0, threading.Lock()

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function; silent where integers wrap around, as in compiled code."""
        begin = time.thread_time()
        with np.errstate(all="ignore"):
            result = function(*arguments)
        with self._lock:
            self.seconds += time.thread_time() - begin
        return result


_interpretation = _Interpretation()


@contextmanager
def small_kernels(mode: Mode) -> Iterator[None]:
    """Let all kernels for small inputs run as plain Python, or as machine code, whatever their inputs."""
    before, _interpretation.mode = _interpretation.mode, mode
    try:
        yield
    finally:
        _interpretation.mode = before


def compiled_kernels() -> int:
    """Return the number of kernels that this process has compiled rather than found in the cache."""
    return announcement.compiled


def compilation_seconds() -> float:
    """Return the CPU time that this process has spent on compiling."""
    return compilation.seconds


def working_seconds() -> float:
    """Return the CPU time of this process, all threads together, without that of compiling."""
    return time.process_time() - compilation.seconds


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


class _Compilation:
    """CPU time of compiling. One thread at a time compiles, and callees within their callers.

    Compiling makes so many objects that Python looks for those that are no longer in use again and again, among all
    that there are, and finds next to none before the end. So it does not look until then.
    """

    def __init__(self) -> None:
        self.seconds, self.depth, self.last = 0.0, 0, 0.0
        self.collects = True

    def begins(self) -> None:
        """A kernel, perhaps within another one, begins to be compiled."""
        self._count()
        if not self.depth:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def ends(self) -> None:
        """The last kernel that began is compiled."""
        self._count()
        self.depth -= 1
        if not self.depth and self.collects:
            gc.enable()

    def _count(self) -> None:
        now = time.thread_time()
        self.seconds += now - self.last if self.depth else 0.0
        self.last = now


compilation = _Compilation()


class _Announcement:
    """Counts compiled kernels, and logs a message at the first and, ever more rarely, after it."""

    def __init__(self) -> None:
        self.compiled, self.last, self.wait = 0, -math.inf, SECONDS_OF_SILENCE

    def one_more(self) -> None:
        """A kernel is about to be compiled."""
        now = time.monotonic()
        if not self.compiled:
            log.warning("compiling kernels for this machine (only the first time; kept in %s)", cache_directory())
            self.last = now
        elif now - self.last > self.wait:
            log.warning("still compiling: %.0f CPU seconds so far", compilation.seconds)
            self.last, self.wait = now, 2.0 * self.wait
        self.compiled += 1


announcement = _Announcement()
