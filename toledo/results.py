"""What functions return: frozen records that print as the text or the table that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, repr=False)
class Hypothesis:
    """One output for a segment and what is known of it; `str` gives its text."""

    text: str
    score: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    logprob: float | None = None
    count: int = 1
    alignment: Sequence[tuple[int, int]] | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        known = (
            f", {name}={getattr(self, name):g}" for name in ("score", "logprob") if getattr(self, name) is not None
        )
        return f"Hypothesis({self.text!r}{''.join(known)})"
