"""From a kernel to machine code, by Numba: imported when the first kernel is compiled or loaded."""

from __future__ import annotations

from typing import Any

import numba
from numba.extending import typeof_impl

from toledo.compiled import machine_instructions  # noqa: F401 (tells Numba about them)
from toledo.compiled.cache import CalleeCache, KernelCache
from toledo.compiled.kernels import Kernel, announcement, compilation
from toledo.compiled.numba_internals import (
    FOR_KERNELS,
    FOR_PYTHON,
    NO_REFERENCE_COUNTS,
    Event,
    Listener,
    code_on_demand,
    generalize_calls,
    register,
    use_cache,
)

OPTIONS: dict[str, dict[str, Any]] = {"kernel": {}, "inner": NO_REFERENCE_COUNTS, "inlined": {"inline": "always"}}


def make_dispatcher(kernel: Kernel) -> Any:
    """Return Numba's function for a kernel that Python calls; nothing is compiled yet."""
    dispatcher = _dispatcher(kernel, FOR_PYTHON)
    if _is_compiled(kernel, dispatcher):
        use_cache(dispatcher, KernelCache(kernel, announcement.one_more))
    return dispatcher


def make_callee(kernel: Kernel) -> Any:
    """Return Numba's function for a kernel that kernels call."""
    if not _is_compiled(kernel, kernel.dispatcher):
        return kernel.dispatcher
    dispatcher = _dispatcher(kernel, FOR_KERNELS)
    use_cache(dispatcher, CalleeCache(kernel, announcement.one_more))
    generalize_calls(dispatcher)
    return dispatcher


def _dispatcher(kernel: Kernel, options: dict[str, Any]) -> Any:
    return numba.njit(nogil=True, error_model="numpy", **options, **OPTIONS[kernel.kind])(kernel.py_func)


def _is_compiled(kernel: Kernel, dispatcher: Any) -> bool:
    """Return whether a kernel is code of its own; it is a plain function where Numba is switched off for debugging."""
    return kernel.kind != "inlined" and hasattr(dispatcher, "py_func")


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """Let kernels call kernels: to Numba's type inference one is a dispatcher."""
    return typeof_impl(kernel.callee, context)


class _Watch(Listener):  # type: ignore[misc]
    """Reports each beginning and end of compiling."""

    def on_start(self, event: Event) -> None:
        compilation.begins()

    def on_end(self, event: Event) -> None:
        compilation.ends()


register("numba:compile", _Watch())
code_on_demand()
