"""The engine: models, the queue of work, what is kept, jobs and numbers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from toledo.api.combination import Combination
from toledo.api.model import Model
from toledo.compiled.kernels import available_threads
from toledo.serve.deciding import DecidableForest
from toledo.serve.memory import MemoryCeiling
from toledo.serve.metrics import ServerMetrics
from toledo.serve.models import ServedModel
from toledo.serve.problems import ServeError
from toledo.serve.queue import WorkQueue
from toledo.serve.settings import MEGABYTE, ServerLimits
from toledo.serve.store import Store

log = logging.getLogger(__name__)


class Engine:
    """What requests are answered with: models and combinations by name, and directories of runs."""

    def __init__(
        self,
        models: Mapping[str, Model],
        combinations: Mapping[str, Combination] | None = None,
        runs: Sequence[Path] = (),
        limits: ServerLimits | None = None,
        threads: int | None = None,
        demo: bool = False,
    ) -> None:
        self.models = {name: ServedModel(name, model) for name, model in models.items()}
        self.combinations = dict(combinations or {})
        self.runs, self.demo = tuple(runs), demo
        self.limits = limits or ServerLimits()
        self.threads = threads or available_threads()
        self.metrics = ServerMetrics()
        self.queue = WorkQueue(self.threads, self.limits.waiting)
        self.memory = MemoryCeiling(None if self.limits.memory is None else self.limits.memory * MEGABYTE)
        self.forests: Store[DecidableForest] = Store(
            "f", "forest", int(self.limits.keep * MEGABYTE / 2), self.limits.keep_seconds, time.monotonic
        )
        self.ready = self.closing = False

    def model(self, name: str | None) -> ServedModel:
        """Return a model by name, or the first."""
        if not self.models:
            raise ServeError(404, "no-model", "No model is served", "Start the server with a model.", "/model")
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            known = ", ".join(self.models)
            raise ServeError(422, "unknown-name", f"There is no model {name[:80]!r}", f"Use {known}.", "/model")
        return self.models[name]

    async def start(self) -> None:
        """Begin to work: ready when kernels are compiled and one sentence has gone through every rule."""
        self.queue.start()
        self._warming = asyncio.ensure_future(self._warm_up())

    async def _warm_up(self) -> None:
        from toledo.serve.warming import warm_up

        try:
            await warm_up(self)
            self.ready = True
        except Exception:
            log.exception("the server does not become ready")

    async def close(self) -> None:
        """End: nothing new is accepted, and what runs may finish within its time."""
        self.closing, self.ready = True, False
        self._warming.cancel()
        await self.queue.close(self.limits.closing)
