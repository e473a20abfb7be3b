"""The functions of `toledo.compiled.instructions` in compiled code: at most an instruction of the processor each."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from toledo.compiled.instructions import EIGHT, listed, load_eight, prefetch, trailing_zeros
from toledo.compiled.numba_internals import cgutils, make_array

READ, KEEP, DATA = 0, 3, 1  # what LLVM's instruction asks for: to read, in all caches, and not code


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


@overload(listed, inline="always")  # type: ignore[untyped-decorator]
def _compiled_listed(array: Any) -> Any:
    def nothing(array: Any) -> Any:
        return array

    return nothing


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
