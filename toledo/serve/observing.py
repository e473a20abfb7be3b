"""One line of JSON in the log and one count for each request; never any of its text."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toledo.serve.metrics import ServerMetrics

log = logging.getLogger("toledo.serve.requests")

OTHER = "other"  # the path of requests for what is not there


class Observer:
    """Counts requests, and writes a line about each."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, routes: Sequence[BaseRoute]) -> None:
        self.app, self.metrics, self.routes = app, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.monotonic(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            self._note(scope, status, time.monotonic() - begun)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = self._pattern(scope)
        self.metrics.count(path, status, seconds)
        call = scope.get("state", {}).get("call")
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "id": getattr(call, "id", ""),
            "method": scope["method"] if scope["method"].isalpha() else "?",
            "path": path,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "queue_ms": round(1000 * call.seconds.get("queue", 0.0), 1) if call else 0.0,
            "segments": call.segments if call else 0,
            "words": call.words if call else 0,
        }
        log.info("%s", json.dumps(line))

    def _pattern(self, scope: Scope) -> str:
        """Return the pattern of the address: ids and text in it stay out of the log."""
        for route in self.routes:
            match, _ = route.matches(scope)
            if match is not Match.NONE:
                return str(getattr(route, "path", OTHER))
        return OTHER
