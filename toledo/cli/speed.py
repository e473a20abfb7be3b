"""How fast a command was, unless it had to compile: that would count as work."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from toledo.compiled.kernels import compiled_kernels


@dataclass(frozen=True)
class Speed:
    """CPU time from here on, all threads together."""

    start: float = field(default_factory=time.process_time)
    compiled: int = field(default_factory=compiled_kernels)

    def told(self, sentences: int, words: int) -> str:
        """A line about so many sentences and words."""
        seconds = max(time.process_time() - self.start, 1e-9)
        if compiled_kernels() > self.compiled:
            return f"sentences: {sentences} (no speed: kernels were compiled meanwhile)"
        rate = f"{sentences / seconds:.{0 if sentences > 9 * seconds else 1}f}"
        return f"sentences: {sentences}, per CPU second {rate}; words per CPU second {words / seconds:.0f}"
