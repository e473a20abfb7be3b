"""What identifies the machine code of a kernel, and where it is kept. Needs no Numba.

Numba's cache notices a change in the file of a function, but not in the functions that it calls, and keeps code apart
for each directory of sources. Here the stamp of a kernel is a digest of its byte code and of everything that it
reaches: kernels, constants, options. Moving a file or editing a comment changes nothing; changing a callee does.

Code is in the user's cache directory, or among shipped kernels: the package `toledo_mt_kernels`, with code for any
processor of the level x86-64-v3, which is never written to.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

STAMP_IN_NAME = 16  # digits of a stamp in the name of a file
SHIPPED_PACKAGE = "toledo_mt_kernels"
SHIPPED_FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # of x86-64-v3, as llvmlite calls them
TWINS = "machine_"  # before the name of a file, for the compiled twins of its plain functions


def stamp_of(kernel: Any) -> str:
    """Return a digest of everything that the machine code of a kernel depends on."""
    digest = hashlib.sha256()
    for part in sorted(set(_reached(kernel, set()))):
        digest.update(part.encode())
    return digest.hexdigest()


def code_directory(module: str) -> Path:
    """Return where the code of a module's kernels is kept."""
    return cache_directory() / module


def has_code(kernel: Any) -> bool:
    """Return whether machine code of a kernel, for any types of arguments, is on disk."""
    module, pattern = kernel.__module__, f"*.{stamp_of(kernel)[:STAMP_IN_NAME]}.nbi"
    if any(code_directory(module).glob(pattern)):
        return True
    shipped = shipped_directory()
    return shipped is not None and any((shipped / module).glob(pattern))


def names_in(code: CodeType) -> set[str]:
    """Return the names that a function and functions within it look up: globals and attributes."""
    nested = [names_in(value) for value in code.co_consts if isinstance(value, CodeType)]
    return set(code.co_names).union(*nested)


def _reached(kernel: Any, seen: set[FunctionType]) -> Iterator[str]:
    """Describe a kernel (or a function that a user has compiled by Numba) and all that it reaches."""
    function: FunctionType = kernel.py_func
    seen.add(function)
    yield f"{function.__module__}.{function.__qualname__}{sorted(kernel.targetoptions.items())}"
    yield f"{_described(function.__code__, function.__doc__)}{function.__defaults__}"
    for name in sorted(names_in(function.__code__)):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func"):
            if value.py_func not in seen:
                yield from _reached(value, seen)
        elif isinstance(value, FunctionType):  # a plain function that has a compiled twin (Numba's overload)
            file = Path(value.__code__.co_filename)
            yield from (_file_digest(str(one)) for one in (file, file.with_name(TWINS + file.name)) if one.is_file())
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


@cache
def _file_digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


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
    import llvmlite.binding  # type: ignore[import-untyped]

    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # not known for this kind of processor
        return False
    return all(features.get(name, False) for name in SHIPPED_FEATURES)
