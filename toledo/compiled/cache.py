"""Compiled kernels on disk, found by their content (`toledo.compiled.stamps`).

Code is looked up in the user's cache directory first, then among shipped kernels. What is in neither is compiled.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from toledo.compiled.numba_internals import CodeCache, share_code
from toledo.compiled.stamps import cache_directory, code_directory, shipped_directory, stamp_of

log = logging.getLogger(__name__)

KEPT = 4  # versions of a kernel that stay on disk: some checkouts side by side
SHIPPED_PROCESSOR = "x86-64-v3"


class KernelCache(CodeCache):
    """The cache of one kernel; `compiling` is called before a version of it is compiled."""

    def __init__(self, kernel: Any, compiling: Callable[[], None], ending: str = "") -> None:
        super().__init__(kernel.py_func, ending)
        self._kernel, self._compiling = kernel, compiling
        self._module: str = kernel.py_func.__module__

    @cached_property
    def stamp(self) -> str:
        """A digest of everything that the machine code of this kernel depends on."""
        return stamp_of(self._kernel)

    @property
    def directory(self) -> Path:
        """Where the code of this kernel is kept: a directory for each module."""
        return code_directory(self._module)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature, or None: then it is going to be compiled."""
        result = self.find_overload(signature, target_context)
        if result is None:
            self._record("compiled", signature)
            self._compiling()
        return result

    def find_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature from the user's cache or the shipped kernels, or None."""
        result = self._found("kept", self.directory, signature, target_context)
        if result is None and (shipped := shipped_directory()):
            result = self._found("shipped", shipped / self._module, signature, target_context, SHIPPED_PROCESSOR)
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
            line = "\t".join([how, self._module, self._kernel.py_func.__qualname__, str(signature), file])
            with open(path, "a", encoding="utf-8") as record:
                record.write(f"{line}\n")

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep compiled code in the user's cache directory."""
        try:
            self.write(self.directory, self.stamp, signature, data)
            _remove_old(self.directory, self.file_name)
        except OSError:  # a read-only home must not stop the work
            _warn_not_kept()


class CalleeCache(KernelCache):
    """The cache of one kernel's code for the kernels that call it, which is not machine code yet.

    Code that Python calls has all that callers need, so it is taken where there is some.
    """

    def __init__(self, kernel: Any, compiling: Callable[[], None]) -> None:
        super().__init__(kernel, compiling, "-callee")

    @cached_property
    def stamp(self) -> str:
        """A digest of everything that the code of this kernel depends on, unlike that of its code for Python."""
        return hashlib.sha256(f"callee {stamp_of(self._kernel)}".encode()).hexdigest()

    def find_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature from this process, the user's cache or the shipped kernels, or None."""
        dispatcher = self._kernel.dispatcher
        shared = share_code(dispatcher, dispatcher._cache, signature)
        return super().find_overload(signature, target_context) if shared is None else shared


def _remove_old(directory: Path, base: str) -> None:
    """Remove all but the newest versions of a kernel."""
    indexes = sorted(directory.glob(f"{base}.*.nbi"), key=lambda path: path.stat().st_mtime, reverse=True)
    for index in indexes[KEPT:]:
        for path in directory.glob(f"{index.stem}.*"):
            path.unlink(missing_ok=True)


@cache
def _warn_not_kept() -> None:
    log.warning("compiled kernels cannot be kept: %s may not be written to (set TOLEDO_CACHE)", cache_directory())
