"""The engine: models, the queue of work, what is kept, jobs and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toledo.api.combination import Combination
from toledo.api.model import Model
from toledo.serve.metrics import ServerMetrics
from toledo.serve.settings import ServerLimits


@dataclass
class Engine:
    """What requests are answered with."""

    models: Mapping[str, Model]
    combinations: Mapping[str, Combination] = field(default_factory=dict)
    runs: Sequence[Path] = ()
    limits: ServerLimits = field(default_factory=ServerLimits)
    threads: int = 1
    demo: bool = False
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    ready: bool = False

    async def start(self) -> None:
        """Begin to work."""
        self.ready = True

    async def close(self) -> None:
        """End: nothing new is accepted, and what runs may finish within its time."""
        self.ready = False
