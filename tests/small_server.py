"""A server on a free port with a tiny model, and a client that sends what it is told."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from small_models import small_model

import toledo
from toledo.serve.server import Server
from toledo.serve.settings import ServerLimits

V1 = "/api/v1"
SENTENCE = "das haus ist klein"


@cache
def model() -> toledo.Model:
    return toledo.Model(small_model(), "small")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to a server, each on a connection of its own."""

    def __init__(self, server: Server) -> None:
        self.server, self.port = server, server.port

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request; a body that is no bytes is sent as JSON. In names of headers, _ stands for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("content-type", "application/json")
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, body, **headers)

    def result(self, path: str, body: Any) -> Any:
        """Return the result of a request that must succeed."""
        found = self.post(V1 + path, body)
        assert found.status == 200, found.body
        return found.json()

    def problem(self, path: str, body: Any, **headers: str) -> dict[str, Any]:
        """Return the problem of a request that must fail."""
        found = self.post(V1 + path, body, **headers)
        assert found.headers["content-type"] == "application/problem+json", found
        content = found.json()
        assert content["status"] == found.status
        return content

    def job(self, path: str, body: Any) -> Any:
        """Start a job, wait for its end, and return its state."""
        found = self.post(V1 + path, body)
        assert found.status == 202, found.body
        return self.ended(found.json()["job"])

    def ended(self, job: str) -> Any:
        while (state := self.get(f"{V1}/jobs/{job}").json())["state"] in ("waiting", "running"):
            time.sleep(0.01)
        return state


def small_server(**limits: Any) -> Server:
    access = {name: limits.pop(name) for name in ("token", "runs", "combinations", "threads") if name in limits}
    access.setdefault("threads", 2)
    return toledo.serve(model(), port=0, block=False, limits=ServerLimits(**limits), **access)
