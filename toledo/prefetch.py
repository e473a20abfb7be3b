"""Asking for memory before it is needed, in compiled code: for look-ups in tables that no cache can hold."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

READ, KEEP, DATA = 0, 3, 1  # what LLVM's instruction asks for: to read, in all caches, and not code


def prefetch(array: Any, index: int) -> None:
    """In a kernel: start to fetch `array[index]`, a contiguous array's, and go on. In plain Python: nothing."""


@overload(prefetch)  # type: ignore[untyped-decorator]
def _compiled(array: Any, index: Any) -> Any:
    def instruction(array: Any, index: Any) -> Any:
        _prefetch(array, index)

    return instruction


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.none(array, types.intp), generate
