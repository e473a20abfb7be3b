"""Progress of long work, independent of how it is shown.

A function that may take long has a parameter `progress: Progress = silent` and writes

    with progress("extracting phrases", total=len(corpus)) as advance:
        ...
        advance(100)        # a hundred more are done

The command line passes a reporter that draws a bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Opens one task of a known size and yields the function that reports steps of it."""

    def __call__(self, label: str, total: int) -> AbstractContextManager[Advance]:
        """Start a task named `label` of `total` steps."""
        ...


@contextmanager
def silent(label: str, total: int) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda steps: None
