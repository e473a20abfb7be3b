"""Locks on files and directories that a process writes; the system drops them when the process ends, however it ends.

What is being written has a name of its own beside its target, always the same one. So a second writer is refused, and
the next writer takes over what a killed one left. File systems without locks are used without them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toledo.errors import RunError

NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)

_shared: dict[str, tuple[int, int]] = {}  # directories that this process holds: descriptor and number of holders


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Make an empty file beside the target, to be written and renamed; if it is not, it is removed."""
    path = target.with_name(f".{target.name}.part")
    flags = os.O_RDWR | os.O_CREAT | NOT_THROUGH_LINKS
    descriptor = _take(path, target, lambda: os.open(path, flags, 0o600))
    try:
        os.ftruncate(descriptor, 0)
        yield path
    finally:
        if _is_at(path, descriptor):
            path.unlink()
        os.close(descriptor)


@contextmanager
def partial_directory(target: Path) -> Iterator[Path]:
    """Make an empty directory beside the target, to be filled and renamed; if it is not, it is removed."""
    path = target.with_name(f".{target.name}.part")
    descriptor = _take(path, target, lambda: _open_directory(path))
    try:
        for left in path.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        yield path
    finally:
        if _is_at(path, descriptor):
            shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def hold_directory(directory: Path) -> Callable[[], None]:
    """Lock a directory for this process, and return what ends that; within a process it may be held several times."""
    place = os.path.realpath(directory)
    descriptor, holders = _shared.get(place, (-1, 0))
    if not holders:
        descriptor = os.open(directory, os.O_RDONLY)
        _lock(descriptor, directory)
    _shared[place] = descriptor, holders + 1

    def release() -> None:
        descriptor, holders = _shared.pop(place)
        if holders > 1:
            _shared[place] = descriptor, holders - 1
        else:
            os.close(descriptor)

    return release


def _open_directory(path: Path) -> int:
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    return os.open(path, os.O_RDONLY | NOT_THROUGH_LINKS)


def _take(path: Path, target: Path, make: Callable[[], int]) -> int:
    """Return the locked descriptor of a file that is still there: another process may have removed it before."""
    while True:
        descriptor = make()
        _lock(descriptor, target)
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)


def _lock(descriptor: int, target: Path) -> None:
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        remedy = "wait until it ends, or name another output"
        raise RunError(f"{target}: another process is writing it", remedy=remedy) from None
    except OSError:  # a file system without locks
        pass


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
