"""From a kernel to machine code, by Numba: imported when the first kernel is compiled or loaded."""

from __future__ import annotations

from typing import Any

import numba
from numba.extending import typeof_impl

from toledo.compiled import machine_instructions  # noqa: F401 (tells Numba about them)
from toledo.compiled.cache import KernelCache
from toledo.compiled.kernels import Kernel, announcement, compilation
from toledo.compiled.numba_internals import NO_REFERENCE_COUNTS, Event, Listener, generalize_calls, register, use_cache

OPTIONS: dict[str, dict[str, Any]] = {"kernel": {}, "inner": NO_REFERENCE_COUNTS, "inlined": {"inline": "always"}}


def make_dispatcher(kernel: Kernel) -> Any:
    """Return Numba's function for a kernel; nothing is compiled yet."""
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **OPTIONS[kernel.kind])(kernel.py_func)
    compiles = hasattr(dispatcher, "py_func")  # a plain function where compilation is switched off for debugging
    if compiles and kernel.kind != "inlined":
        use_cache(dispatcher, KernelCache(kernel, announcement.one_more))
        generalize_calls(dispatcher)
    return dispatcher


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """Let kernels call kernels: to Numba's type inference one is its dispatcher."""
    return typeof_impl(kernel.dispatcher, context)


class _Watch(Listener):  # type: ignore[misc]
    """Reports each beginning and end of compiling."""

    def on_start(self, event: Event) -> None:
        compilation.begins()

    def on_end(self, event: Event) -> None:
        compilation.ends()


register("numba:compile", _Watch())
