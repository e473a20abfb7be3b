"""How much memory the process has, and a ceiling for it."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from toledo.serve.problems import ServeError

STATM = Path("/proc/self/statm")
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the memory of this process that is in use; where the system does not tell, the most it ever was."""
    if STATM.exists():
        return int(STATM.read_text(encoding="ascii").split()[1]) * PAGE
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class MemoryCeiling:
    """Refuses work that would need more memory than there may be."""

    def __init__(self, most_bytes: float | None) -> None:
        self.most_bytes = most_bytes

    def require(self, more: int) -> None:
        """Refuse work that needs this many more bytes."""
        if self.most_bytes is not None and resident_bytes() + more > self.most_bytes:
            title = "The server has no memory for this now"
            raise ServeError(503, "memory", title, "Send less at a time, or later.", headers={"Retry-After": "5"})
