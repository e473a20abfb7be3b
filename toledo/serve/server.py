"""`toledo.serve`: answer requests over HTTP."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from socket import socket
from typing import Any, TypeAlias
from urllib.parse import quote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from toledo.api.combination import Combination
from toledo.api.model import Model, load
from toledo.api.train import train
from toledo.errors import InputError, RunError
from toledo.sample.corpus import example_data
from toledo.serve.app import make_app
from toledo.serve.engine import Engine
from toledo.serve.security import Access, is_loopback, new_token
from toledo.serve.settings import ServerLimits

log = logging.getLogger(__name__)

GivenModel: TypeAlias = str | Path | Model
Models: TypeAlias = GivenModel | Sequence[GivenModel] | Mapping[str, GivenModel]
Combinations: TypeAlias = Sequence[str | Path] | Mapping[str, str | Path | Combination]

DEMO_SIZE = 2000  # sentence pairs
KEEP_ALIVE = 30  # seconds that an idle connection stays open
SHORTEST_TOKEN = 16
LONGEST_HEADERS = 32_768


class _EndingServer(uvicorn.Server):
    """Tells the engine before it waits for connections to end: streams of events end only then."""

    def __init__(self, engine: Engine, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._engine = engine

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self._engine.begin_to_end()
        await super().shutdown(sockets)


class Server:
    """A server that runs in a thread of its own; `close` ends it, as does the end of a `with` block."""

    def __init__(self, engine: Engine, access: Access, listening: socket) -> None:
        self.engine, self.access, self._socket = engine, access, listening
        limits = engine.limits
        self._server = _EndingServer(
            engine,
            uvicorn.Config(
                make_app(engine, access),
                http=_protocol(limits.body_seconds),
                loop="asyncio",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=limits.connections,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=int(limits.closing) or 1,
                h11_max_incomplete_event_size=LONGEST_HEADERS,
            ),
        )
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Return the port that the server listens on."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Return the address of the first page, with the token if there is one."""
        host = str(self._socket.getsockname()[0])
        shown = f"[{host}]" if ":" in host else host
        token = "" if self.access.token is None else f"#token={quote(self.access.token)}"
        return f"http://{shown}:{self.port}/{token}"

    def run(self, show_token: bool = False) -> None:
        """Answer requests until a signal ends the process; a token that was made is shown once, here."""
        log.info("%s", self.url if show_token else self.url.partition("#")[0])
        self._server.run(sockets=[self._socket])

    def start(self) -> Server:
        """Answer requests in a thread, and return when the server is ready."""
        thread = self._begin()
        while not self.engine.ready and thread.is_alive():
            if self.engine.failure:
                self.close()
                raise RunError(f"the server does not become ready: {self.engine.failure}")
            time.sleep(0.01)
        return self

    def _begin(self) -> threading.Thread:
        self._thread = threading.Thread(target=self._serve, name="toledo serve", daemon=True)
        self._thread.start()
        return self._thread

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def close(self) -> None:
        """End: what runs may finish within its time."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url.partition('#')[0]!r})"


def serve(
    models: Models = (),
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    combinations: Combinations = (),
    runs: Sequence[str | Path] = (),
    hosts: Sequence[str] = (),
    token: str | None = None,
    limits: ServerLimits | None = None,
    demo: bool = False,
    block: bool = True,
    threads: int | None = None,
) -> Server:
    """Answer requests over HTTP: pages to look inside, a JSON API below /api/v1, and Moses' XML-RPC at /RPC2.

    `models` and tuned `combinations` have the names of their directories, or those of a mapping. `runs` are directories
    whose tunings are shown. With `demo`, a small model is trained on the built-in sample. On a `host` that other
    machines can reach, every request needs a `token`, which is made if it is not given; `hosts` are further names of
    this machine. With `block=False` the server runs in a thread; `close` ends it.
    """
    named = {name: one if isinstance(one, Model) else load(one) for name, one in _named(models, "models").items()}
    if demo:
        named = {**named, "demo": demo_model(threads)}
    tuned = {
        name: one if isinstance(one, Combination) else Combination.load(one)
        for name, one in _named(combinations, "combinations").items()
    }
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InputError(
            f"a token of {len(token)} characters", argument="token", remedy=f"use {SHORTEST_TOKEN} or more"
        )
    made = token is None and not is_loopback(host)
    if made:
        token = new_token()
    engine = Engine(named, tuned, [Path(one) for one in runs], limits, threads, demo)
    listening = _listen(host, port)
    access = Access.at(host, int(listening.getsockname()[1]), hosts, token)
    server = Server(engine, access, listening)
    if block:
        server.run(show_token=made)
        return server
    return server.start()


def demo_model(threads: int | None = None) -> Model:
    """Train a small model on the built-in sample."""
    text = example_data(train=DEMO_SIZE, tune=10, test=10).train
    log.info("training a small model on the built-in sample")
    model = train(text.sources, text.targets, tokenized=True, threads=threads)
    return Model(model.phrase_model, "demo")


def _named(given: Any, argument: str) -> dict[str, Any]:
    """Return what was given by name: that of its directory, or its own."""
    if isinstance(given, Mapping):
        return dict(given)
    several = [given] if isinstance(given, str | Path | Model) else list(given)
    found: dict[str, Any] = {}
    for one in several:
        name = one.name if isinstance(one, Model) else Path(one).resolve().name
        if name in found:
            remedy = "give a mapping from names, or rename a directory"
            raise InputError(f"two {argument} are called {name!r}", argument=argument, remedy=remedy)
        found[name or "model"] = one
    return found


def _listen(host: str, port: int) -> socket:
    """Return a socket that listens at an address."""
    from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET

    listening = socket(AF_INET6 if ":" in host else AF_INET)
    listening.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        listening.close()
        message = f"cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}"
        raise InputError(message, argument="port", remedy="use another port, or 0 for any that is free") from None
    listening.set_inheritable(True)
    return listening


def _protocol(seconds: float) -> type[H11Protocol]:
    """Return a protocol that closes connections whose requests do not get beyond their headers within this time."""

    class PatientProtocol(H11Protocol):
        """Waits for the headers of each request, but not forever."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._patience = self.loop.call_later(seconds, self._impatient)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._patience.cancel()
            elif self._patience.cancelled():
                self._patience = self.loop.call_later(seconds, self._impatient)

        def connection_lost(self, exc: Exception | None) -> None:
            self._patience.cancel()
            super().connection_lost(exc)

        def _impatient(self) -> None:
            if not self.transport.is_closing():
                self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
                self.transport.close()

    return PatientProtocol
