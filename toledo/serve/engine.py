"""The engine: models, the queue of work, what is kept, jobs and numbers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from toledo import __version__
from toledo.api.combination import Combination
from toledo.api.model import Model
from toledo.compiled.kernels import available_threads
from toledo.serve.comparing import KeptTexts
from toledo.serve.deciding import DecidableForest
from toledo.serve.documents import document_model_names
from toledo.serve.jobs import Jobs
from toledo.serve.memory import MemoryCeiling
from toledo.serve.metrics import ServerMetrics
from toledo.serve.models import ServedModel
from toledo.serve.names import FOREST_RULES, LIST_RULES, METRICS
from toledo.serve.problems import ServeError
from toledo.serve.queue import WorkQueue
from toledo.serve.settings import MEGABYTE, ServerLimits
from toledo.serve.store import Store
from toledo.serve.work_types import AboutResult, CombinationAbout, Limits

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
        self.comparisons: Store[KeptTexts] = Store(
            "c", "comparison", int(self.limits.keep * MEGABYTE / 2), self.limits.keep_seconds, time.monotonic
        )
        self.jobs = Jobs(self.limits)
        self.ready = self.closing = False
        self.failure = ""  # why it does not become ready

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
        except Exception as error:
            self.failure = str(error)
            log.exception("the server does not become ready")

    def begin_to_end(self) -> None:
        """Stop jobs, and with them streams of their events."""
        self.closing, self.ready = True, False
        self._warming.cancel()
        self.jobs.close()

    async def close(self) -> None:
        """End: nothing new is accepted, and what runs may finish within its time."""
        self.begin_to_end()
        await self.queue.close(self.limits.closing)

    def metrics_text(self) -> str:
        """Return numbers for Prometheus."""
        gauges = {
            "toledo_queue_waiting": self.queue.waiting,
            "toledo_running": self.queue.running,
            "toledo_kept_bytes": self.kept_bytes,
        }
        return self.metrics.text(gauges)

    @property
    def kept_bytes(self) -> int:
        """Return how many bytes are kept for later requests."""
        return self.forests.size + self.comparisons.size

    def about(self) -> AboutResult:
        """Return what is served, and within which limits."""
        limits = self.limits
        return AboutResult(
            version=__version__, models=[one.about() for one in self.models.values()],
            combinations=[about_combination(name, one) for name, one in self.combinations.items()],
            rules=list(FOREST_RULES), list_rules=list(LIST_RULES), metrics=list(METRICS),
            document_models=document_model_names(), demo=self.demo, runs=bool(self.runs),
            limits=Limits(
                body_bytes=limits.body_bytes, compare_bytes=limits.compare_bytes, segments=limits.segments,
                words=limits.words, hypotheses=limits.hypotheses, all_hypotheses=limits.all_hypotheses,
                systems=limits.systems, columns=limits.columns, nbest=limits.nbest, waiting=limits.waiting,
                running=self.threads, connections=limits.connections, seconds=limits.seconds,
                kept_bytes=int(limits.keep * MEGABYTE), kept_seconds=limits.keep_seconds, streams=limits.streams,
                closing_seconds=limits.closing,
            ),
        )  # fmt: skip


def about_combination(name: str, combination: Combination) -> CombinationAbout:
    """Return what the server says about a tuned combination."""
    shares, weights = dict(combination.shares), dict(combination.weights)
    return CombinationAbout(name=name, systems=list(combination.systems), shares=shares, weights=weights)
