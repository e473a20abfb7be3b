"""Everything that Toledo uses of Numba beyond its documented interface, so that a new version is checked in one place.

A name here may change with any version of Numba. All hold for VERSIONS; a test says which is gone in another.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.environment import lookup_environment
from numba.core.event import Event, Listener, install_listener, register
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral
from numba.np.arrayobj import make_array

from toledo.compiled.stamps import STAMP_IN_NAME

__all__ = [
    "FOR_KERNELS", "FOR_PYTHON", "NO_REFERENCE_COUNTS", "VERSIONS", "CodeCache", "Event", "Listener",
    "at_first_compilation", "cgutils", "code_on_demand", "generalize_calls", "make_array", "register", "share_code",
    "use_cache",
]  # fmt: skip

VERSIONS = ("0.65", "0.66", "0.67", "0.68")
# options of `numba.njit`
NO_REFERENCE_COUNTS = {"_nrt": False}  # array arguments are not counted
FOR_PYTHON = {"no_cfunc_wrapper": True}  # nobody calls a kernel from C
FOR_KERNELS = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
ENVIRONMENT = "_ZN08NumbaEnv"  # how names of variables begin that point to objects of Python


def use_cache(dispatcher: Any, cache: CodeCache) -> None:
    """Let a kernel ask this cache before it compiles, and give it what was compiled."""
    dispatcher._cache = cache


def generalize_calls(dispatcher: Any) -> None:
    """Let calls from kernels see types without values, and integers of 64 bits alone.

    A variable that begins as a constant is a literal when Numba first types a call, and an integer after the loop; an
    element of an array has 32 bits, and 64 after an addition: the callee would be compiled for each.
    """
    template = dispatcher.get_call_template

    def of_general_types(args: Any, kws: Any) -> Any:
        return template(tuple(map(_general, args)), {name: _general(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = of_general_types


def _general(kind: Any) -> Any:
    kind = unliteral(kind)
    is_narrow = isinstance(kind, types.Integer) and kind.signed and kind.bitwidth < types.intp.bitwidth
    return types.intp if is_narrow else kind


def share_code(dispatcher: Any, cache: CodeCache, signature: Any) -> Any:
    """Return what a kernel has compiled or kept on disk for a signature, or None; what is found on disk is loaded."""
    context = dispatcher.targetctx
    if signature not in dispatcher.overloads:
        found = cache.find_overload(signature, context)
        if found is None:
            return None
        context.insert_user_function(found.entry_point, found.fndesc, [found.library])
        dispatcher.add_overload(found)
    result = dispatcher.overloads[signature]
    entry_point = context.get_executable(result.library, result.fndesc, result.environment)  # one for each dispatcher
    return result._replace(entry_point=entry_point, metadata=None)


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """Functions that become machine code when Python asks for one of them.

    Numba optimizes each function and makes machine code of it, and does so again for its copy in each caller. Of a
    function that only kernels call, nobody runs the first of these.
    """

    _has_code = False

    def _optimize_final_module(self) -> None:
        """Leave it to `_make_code`."""

    def _finalize_final_module(self) -> None:
        if getattr(self, "_compiled_object", None):  # found on disk
            self._has_code = True
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True
        if any(one.name.startswith(self._codegen._rtlinker.PREFIX) for one in self._final_module.global_variables):
            self._make_code()  # functions that call each other find each other by their addresses

    def _make_code(self) -> None:
        self._has_code = True
        self._dynamic_globals.clear()  # they are found again
        super()._optimize_final_module()
        super()._finalize_final_module()
        for name in [one.name for one in self._final_module.global_variables]:
            environment = lookup_environment(name) if name.startswith(ENVIRONMENT) else None
            if environment is not None:
                self._codegen.set_env(name, environment)

    def get_pointer_to_function(self, name: str) -> Any:
        self._ensure_finalized()
        if not self._has_code and any(
            one.name == name and not one.is_declaration for one in self._final_module.functions
        ):
            self._make_code()
        return super().get_pointer_to_function(name)

    def serialize_using_object_code(self) -> Any:
        self._ensure_finalized()
        return super().serialize_using_object_code() if self._has_code else self.serialize_using_bitcode()


def code_on_demand() -> None:
    """From now on, let Numba make machine code only of functions that Python calls, and of copies within them."""
    codegen = cpu_target.target_context.codegen()

    def set_env(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):  # else by `_make_code`, of each caller
            JITCPUCodegen.set_env(codegen, name, environment)

    codegen._library_class, codegen.set_env = _Library, set_env


class _FirstCompilation(Listener):  # type: ignore[misc]
    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def on_start(self, event: Event) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    def on_end(self, event: Event) -> None:
        pass


def at_first_compilation(call: Callable[[], None]) -> AbstractContextManager[None]:
    """In a block: call a function once, as soon as a kernel is found nowhere and must be compiled."""
    block: AbstractContextManager[None] = install_listener("numba:compile", _FirstCompilation(call))
    return block


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Gives the parts of a file's name; the directory and the stamp are arguments of `CodeCache`."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._py_file = file  # Numba names it where a kernel cannot be kept
        self._name = f"{function.__module__}.{function.__qualname__}"

    def get_cache_path(self) -> str:
        return ""

    def get_source_stamp(self) -> str:
        return ""

    def get_disambiguator(self) -> str:
        return hashlib.sha256(self._name.encode()).hexdigest()[:10]

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> _Locator:
        return cls(function, file)


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)

    def reduce(self, result: Any) -> Any:
        """Leave the listing of the source with its types out: a sixth of the size, and paths of this machine."""
        return super().reduce(result._replace(type_annotation=""))


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """Remembers the name of the file that was loaded."""

    loaded = ""

    def _load_data(self, name: str) -> Any:
        self.loaded = name
        return super()._load_data(name)


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """In a block: no other process is in such a block for this directory, where the system has locks.

    Numba reads an index, chooses the number of a file and writes both. Two processes at once would lose entries, or
    choose the same number for different types.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        yield
        return
    place = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


class CodeCache(FunctionCache):  # type: ignore[misc]
    """Machine code of one kernel in files of Numba's form: an index, and a file for each signature and processor.

    Numba calls `load_overload` before it compiles and `save_overload` after it; a subclass decides where to look.
    """

    _impl_class = _Implementation

    def __init__(self, function: FunctionType, ending: str = "") -> None:
        super().__init__(function)
        self.file_name: str = self._impl.filename_base + ending

    def find_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature, or None."""
        raise NotImplementedError

    def read(
        self, directory: Path, stamp: str, signature: Any, context: Any, *, processor: str | None = None
    ) -> tuple[Any, str] | None:
        """Return code from a directory and the name of its file: for this processor, or for a kind of processors."""
        rtsys.initialize(context)  # Numba's method refreshes all registries here, which only compiling needs
        signature, (triple, *host), function = self._index_key(signature, context.codegen())
        target = (triple, *host) if processor is None else (triple, processor, "")
        files = self._files(directory, stamp)
        payload = files.load((signature, target, function))
        return None if payload is None else (self._impl.rebuild(context, payload), files.loaded)

    def write(self, directory: Path, stamp: str, signature: Any, result: Any) -> None:
        """Keep code in a directory, unless it holds addresses of this process."""
        if self._impl.check_cachable(result):
            directory.mkdir(parents=True, exist_ok=True)
            key = self._index_key(signature, result.codegen)
            with _alone_in(directory):
                self._files(directory, stamp).save(key, self._impl.reduce(result))

    def forget(self, directory: Path, stamp: str) -> None:
        """Empty the index of a directory."""
        self._files(directory, stamp).flush()

    def _files(self, directory: Path, stamp: str) -> _Files:
        return _Files(str(directory), f"{self.file_name}.{stamp[:STAMP_IN_NAME]}", stamp)
