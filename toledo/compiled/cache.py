"""Compiled kernels on disk, found by their content (`toledo.compiled.stamps`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from toledo.compiled.numba_internals import CodeCache
from toledo.compiled.stamps import cache_directory, code_directory, stamp_of

log = logging.getLogger(__name__)

KEPT = 4  # versions of a kernel that stay on disk: some checkouts side by side


class KernelCache(CodeCache):
    """The cache of one kernel; `compiling` is called before a version of it is compiled."""

    def __init__(self, kernel: Any, compiling: Callable[[], None]) -> None:
        super().__init__(kernel.py_func)
        self._kernel, self._compiling = kernel, compiling

    @cached_property
    def stamp(self) -> str:
        """A digest of everything that the machine code of this kernel depends on."""
        return stamp_of(self._kernel)

    @property
    def directory(self) -> Path:
        """Where the code of this kernel is kept: a directory for each module."""
        return code_directory(self._kernel.py_func.__module__)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return compiled code for a signature from disk, or None."""
        try:
            result = self.read(self.directory, self.stamp, signature, target_context)
        except OSError:
            result = None
        except (AttributeError, ImportError):  # kept by another version of the package, for types that are gone
            self.forget(self.directory, self.stamp)
            result = None
        if result is None:
            self._compiling()
        return result

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


@cache
def _warn_not_kept() -> None:
    log.warning("compiled kernels cannot be kept: %s may not be written to (set TOLEDO_CACHE)", cache_directory())
