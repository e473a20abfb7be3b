"""Numbers about the server, as Prometheus reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ServerMetrics:
    """What the server has done."""

    words: int = 0
    cancelled: int = 0
