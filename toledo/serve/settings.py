"""What the server accepts at most, and how long it works and keeps things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toledo.settings import Meta, Settings

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class ServerLimits(Settings):
    """Limits of a server; a request over one of them is refused with status 413, 429, 503 or 504."""

    segments: Annotated[int, Meta(ge=1, description="Most segments of a request.")] = 500
    words: Annotated[int, Meta(ge=1, description="Most words of a segment.")] = 300
    hypotheses: Annotated[int, Meta(ge=1, description="Most hypotheses of a segment.")] = 1000
    all_hypotheses: Annotated[int, Meta(ge=1, description="Most hypotheses of a request.")] = 20_000
    systems: Annotated[int, Meta(ge=2, description="Most systems of a request.")] = 40
    columns: Annotated[int, Meta(ge=1, description="Most columns of a confusion network.")] = 2000
    nbest: Annotated[int, Meta(ge=1, description="Most entries of an n-best list.")] = 1000
    body: Annotated[float, Meta(gt=0, description="Most megabytes of a request.")] = 2.0
    compare_body: Annotated[float, Meta(gt=0, description="Most megabytes of a comparison.")] = 64.0
    waiting: Annotated[int, Meta(ge=0, description="Most requests that wait.")] = 64
    connections: Annotated[int, Meta(ge=1, description="Most connections.")] = 200
    streams: Annotated[int, Meta(ge=1, description="Most event streams of a client.")] = 8
    seconds: Annotated[float, Meta(gt=0, description="Most seconds of a request.")] = 30.0
    body_seconds: Annotated[float, Meta(gt=0, description="Most seconds until a request has been sent.")] = 10.0
    closing: Annotated[float, Meta(ge=0, description="Seconds that work may last when the server ends.")] = 10.0
    keep: Annotated[float, Meta(ge=0, description="Megabytes of kept forests and comparisons.")] = 256.0
    keep_seconds: Annotated[float, Meta(gt=0, description="Seconds that they are kept after their last use.")] = 900.0
    memory: Annotated[float | None, Meta(gt=0, description="Most megabytes of memory.")] = None

    @property
    def body_bytes(self) -> int:
        """Return the size of the largest body."""
        return int(self.body * MEGABYTE)

    @property
    def compare_bytes(self) -> int:
        """Return the size of the largest body of a comparison."""
        return int(self.compare_body * MEGABYTE)
