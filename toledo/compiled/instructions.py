"""Single instructions of the processor that NumPy has no words for, in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from toledo.compiled.numba_internals import cgutils, make_array

READ, KEEP, DATA = 0, 3, 1  # what LLVM's instruction asks for: to read, in all caches, and not code
EIGHT = 8


def prefetch(array: Any, index: int) -> None:
    """In a kernel: start to fetch `array[index]`, a contiguous array's, and go on. In plain Python: nothing.

    For look-ups in tables that no cache can hold.
    """


def load_eight(array: NDArray[np.uint8], place: int) -> np.uint64:
    """8 bytes of a contiguous array from any place on, as a number (the first byte lowest); bounds are not checked."""
    return np.uint64(int.from_bytes(array[place : place + EIGHT].tobytes(), "little"))


def trailing_zeros(number: np.uint64) -> np.uint64:
    """Return how many zeros follow the lowest one bit of a number, which is not 0."""
    return np.uint64((int(number) & -int(number)).bit_length() - 1)


@overload(prefetch)  # type: ignore[untyped-decorator]
def _compiled_prefetch(array: Any, index: Any) -> Any:
    def instruction(array: Any, index: Any) -> Any:
        _prefetch(array, index)

    return instruction


@overload(load_eight)  # type: ignore[untyped-decorator]
def _compiled_load_eight(array: Any, place: Any) -> Any:
    def instruction(array: Any, place: Any) -> Any:
        return _load_eight(array, place)

    return instruction


@overload(trailing_zeros)  # type: ignore[untyped-decorator]
def _compiled_trailing_zeros(number: Any) -> Any:
    def instruction(number: Any) -> Any:
        return _trailing_zeros(number)

    return instruction


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature, arguments, cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _load_eight(typing_context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature, arguments, ir.IntType(8 * EIGHT).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    """Return a pointer to the element of an array (the first argument) at an index (the second one)."""
    data = make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), kind)
