"""Numbers about the server, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Lock

from toledo.serve.memory import resident_bytes

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class ServerMetrics:
    """What the server has done."""

    def __init__(self) -> None:
        self.words = self.cancelled = 0
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request; `path` is the pattern of its address, so that there are few."""
        with self._lock:
            self._requests[path, status] += 1
            row = self._buckets.setdefault(path, [0] * (len(BUCKETS) + 1))
            row[sum(seconds > edge for edge in BUCKETS)] += 1
            self._seconds[path] = self._seconds.get(path, 0.0) + seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all numbers; `gauges` are those of the moment."""
        with self._lock:
            lines = [*self._counters(), *self._histogram()]
        for name, value in {**gauges, "process_resident_memory_bytes": resident_bytes()}.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}" if value < 1e6 else f"{name} {value:.0f}"]
        return "\n".join([*lines, ""])

    def _counters(self) -> Iterator[str]:
        yield "# TYPE toledo_requests_total counter"
        for (path, status), number in sorted(self._requests.items()):
            yield f'toledo_requests_total{{path="{path}",status="{status}"}} {number}'
        for name, value in (("words", self.words), ("cancelled", self.cancelled)):
            yield f"# TYPE toledo_{name}_total counter"
            yield f"toledo_{name}_total {value}"

    def _histogram(self) -> Iterator[str]:
        yield "# TYPE toledo_seconds histogram"
        for path, row in sorted(self._buckets.items()):
            total = 0
            for edge, number in zip((*BUCKETS, "+Inf"), row, strict=True):
                total += number
                yield f'toledo_seconds_bucket{{path="{path}",le="{edge}"}} {total}'
            yield f'toledo_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'toledo_seconds_count{{path="{path}"}} {total}'
