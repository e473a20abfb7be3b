"""Compiled kernels on disk, found by their content.

Numba's cache notices a change in the file of a function, but not in the functions that it calls, and keeps code apart
for each directory of sources. Here the key of a kernel is a digest of its byte code and of everything that it reaches:
kernels, constants, options. Moving a file or editing a comment changes nothing; changing a callee does.

Code is looked up in the user's cache directory first, then among shipped kernels: the package `toledo_mt_kernels`, with
code for any processor of the level x86-64-v3, which is never written to. What is in neither is compiled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numpy as np

from toledo.compiled.numba_internals import CodeCache, Dispatcher

log = logging.getLogger(__name__)

KEPT = 4  # versions of a kernel that stay on disk: some checkouts side by side
SHIPPED_PACKAGE = "toledo_mt_kernels"
SHIPPED_PROCESSOR = "x86-64-v3"
SHIPPED_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # as llvmlite calls them


class KernelCache(CodeCache):
    """The cache of one kernel; `compiling` is called before a version of it is compiled."""

    def __init__(self, dispatcher: Any, compiling: Callable[[], None]) -> None:
        super().__init__(dispatcher.py_func)
        self._dispatcher, self._compiling = dispatcher, compiling
        self._module: str = dispatcher.py_func.__module__

    @cached_property
    def stamp(self) -> str:
        """A digest of everything that the machine code of this kernel depends on."""
        digest = hashlib.sha256()
        for part in sorted(set(_reached(self._dispatcher, set()))):
            digest.update(part.encode())
        return digest.hexdigest()

    @property
    def directory(self) -> Path:
        """Where the code of this kernel is kept: a directory for each module."""
        return cache_directory() / self._module

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature from the user's cache or the shipped kernels, or None."""
        result = self._found("kept", self.directory, signature, target_context)
        if result is None and (shipped := shipped_directory()):
            result = self._found("shipped", shipped / self._module, signature, target_context, SHIPPED_PROCESSOR)
        if result is None:
            self._record("compiled", signature)
            self._compiling()
        return result

    def _found(self, how: str, directory: Path, signature: Any, context: Any, processor: str | None = None) -> Any:
        try:
            found = self.read(directory, self.stamp, signature, context, processor=processor)
        except OSError:
            return None
        except Exception:  # a damaged file, or one of another version of the package, for types that are gone
            if how == "kept":
                self.forget(directory, self.stamp)
            return None
        if found is None:
            return None
        result, file = found
        self._record(how, signature, file)
        return result

    def _record(self, how: str, signature: Any, file: str = "") -> None:
        """Write a line on where code comes from to the file that is named by $TOLEDO_KERNELS_LOG, if any."""
        if path := os.environ.get("TOLEDO_KERNELS_LOG"):
            line = "\t".join([how, self._module, self._dispatcher.py_func.__qualname__, str(signature), file])
            with open(path, "a", encoding="utf-8") as record:
                record.write(f"{line}\n")

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep compiled code in the user's cache directory."""
        try:
            self.write(self.directory, self.stamp, signature, data)
            _remove_old(self.directory, self.file_name)
        except OSError:  # a read-only home must not stop the work
            _warn_not_kept()


def _remove_old(directory: Path, base: str) -> None:
    """Remove all but the newest versions of a kernel."""
    indexes = sorted(directory.glob(f"{base}.*.nbi"), key=lambda path: path.stat().st_mtime, reverse=True)
    for index in indexes[KEPT:]:
        for path in directory.glob(f"{index.stem}.*"):
            path.unlink(missing_ok=True)


def _reached(dispatcher: Any, seen: set[FunctionType]) -> Iterator[str]:
    """Describe a kernel and all that it reaches."""
    function: FunctionType = dispatcher.py_func
    seen.add(function)
    yield f"{function.__module__}.{function.__qualname__}{sorted(dispatcher.targetoptions.items())}"
    yield f"{_described(function.__code__, function.__doc__)}{function.__defaults__}"
    for name in sorted(_names(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher):
            if value.py_func not in seen:
                yield from _reached(value, seen)
        elif isinstance(value, FunctionType):  # a plain function with a compiled twin beside it (Numba's overload)
            yield _file_digest(value.__code__.co_filename)
        elif isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] == function.__module__.partition(".")[0]:
                yield _file_digest(str(value.__file__))
        elif isinstance(value, np.ndarray):
            yield f"{name}={value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, type):
            yield f"{name}={value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
        elif isinstance(value, int | float | str | tuple | np.generic | np.dtype):
            yield f"{name}={value!r}"


def _described(code: CodeType, docstring: str | None = None) -> str:
    constants = [None if value == docstring else value for value in code.co_consts]
    parts = [
        _described(value) if isinstance(value, CodeType)
        else str(sorted(map(repr, value))) if isinstance(value, frozenset)
        else repr(value)
        for value in constants
    ]  # fmt: skip
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return f"{hashlib.sha256(code.co_code).hexdigest()}{parts}{names}{code.co_argcount}"


def _names(code: CodeType) -> set[str]:
    nested = [_names(value) for value in code.co_consts if isinstance(value, CodeType)]
    return set(code.co_names).union(*nested)


@cache
def _file_digest(file: str) -> str:
    path = Path(file)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else file


@cache
def shipped_directory() -> Path | None:
    """Return the directory of shipped kernels, if there is one and this processor can run them.

    $TOLEDO_KERNELS names it, or is empty for none; by default it is that of the installed package.
    """
    configured = os.environ.get("TOLEDO_KERNELS")
    if configured is None:
        package = importlib.util.find_spec(SHIPPED_PACKAGE)
        configured = package.submodule_search_locations[0] if package and package.submodule_search_locations else ""
    return Path(configured) if configured and _has_features() else None


def _has_features() -> bool:
    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # not known for this kind of processor
        return False
    return all(features.get(name, False) for name in SHIPPED_FEATURES)


@cache
def _warn_not_kept() -> None:
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
