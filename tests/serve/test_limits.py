"""Limits: sizes, time, places in the queue, memory; work that nobody wants any more is stopped."""

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from small_server import SENTENCE, V1, Client, small_server

from toledo.errors import RunError
from toledo.serve.engine import Engine
from toledo.serve.server import Server

LONG = {"segments": [" ".join(["das haus ist klein"] * 8)] * 400, "rules": ["mbr", "consensus"], "nbest": 50}


@pytest.fixture(scope="module")
def strict() -> Iterator[Client]:
    """Return a client of a server with one thread, one place in the queue, and little time."""
    limits = {
        "words": 5,
        "segments": 3,
        "hypotheses": 4,
        "all_hypotheses": 6,
        "nbest": 10,
        "body": 0.01,
        "compare_body": 0.02,
    }
    with small_server(**limits, body_seconds=2.0, threads=1) as server:
        yield Client(server)


@pytest.mark.parametrize(
    ("path", "asked", "where"),
    [
        ("/translate", {"segments": ["a"] * 4}, "/segments"),
        ("/translate", {"segments": ["a", "a b c d e f"]}, "/segments/1"),
        ("/translate", {"segments": ["a"], "nbest": 11}, "/nbest"),
        ("/choose", {"segments": [{"hypotheses": ["a"]}] * 4}, "/segments"),
        ("/choose", {"segments": [{"hypotheses": ["a"]}, {"hypotheses": ["a"] * 5}]}, "/segments/1/hypotheses"),
        ("/choose", {"segments": [{"hypotheses": ["a"] * 4}] * 2}, "/segments"),
    ],
)
def test_what_is_over_a_limit_is_named(strict: Client, path: str, asked: dict, where: str):
    problem = strict.problem(path, asked)
    assert (problem["status"], problem["where"]) == (413, where)
    assert "most" in problem["detail"]


def test_bodies_have_a_size(strict: Client):
    large = json.dumps({"segments": ["a " * 6000]}).encode()
    assert strict.post(f"{V1}/translate", large).status == 413
    assert strict.post(f"{V1}/compare", large).status == 422
    assert strict.post(f"{V1}/compare", large * 2).status == 413
    assert strict.post("/RPC2", large).status == 413


def test_bodies_of_unknown_size_are_counted(strict: Client):
    head = b"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", strict.port), timeout=30) as sender:
        sender.sendall(head + 10 * (b"400\r\n" + b"x" * 1024 + b"\r\n"))
        assert sender.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_slow_body_is_given_up(strict: Client):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=30) as sender:
        sender.sendall(b"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        answer = sender.recv(2000)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"application/problem+json" in answer


def test_a_connection_without_a_request_is_closed(strict: Client):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=30) as sender:
        sender.sendall(b"POST /api/v1/trans")
        assert sender.recv(1000).startswith(b"HTTP/1.1 408")
        assert sender.recv(1000) == b""


def test_a_later_request_may_not_be_slower(strict: Client):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=30) as sender:
        sender.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b'{"live":true}'):
            answer += sender.recv(1000)
        sender.sendall(b"GET /health/live HTT")
        assert sender.recv(1000).startswith(b"HTTP/1.1 408")


def engine_of(client: Client) -> Engine:
    return client.server.engine


def until(condition: object, *, seconds: float = 30.0) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.005)
    assert condition()  # type: ignore[operator]


def begin(client: Client, asked: dict) -> socket.socket:
    """Send a request, and return its connection without waiting for the answer."""
    body = json.dumps(asked).encode()
    head = f"POST {V1}/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sender = socket.create_connection(("127.0.0.1", client.port), timeout=60)
    sender.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return sender


def test_a_full_queue_says_when_to_come_back():
    with small_server(threads=1, waiting=1) as server:
        client = Client(server)
        first = begin(client, LONG)
        until(lambda: engine_of(client).queue.running)
        blocked = [begin(client, {**LONG, "weights": {"lm": 0.1 + n / 10}}) for n in range(1)]
        until(lambda: engine_of(client).queue.waiting == 1)
        found = client.post(f"{V1}/translate", {"segments": [SENTENCE], "weights": {"lm": 0.9}})
        assert found.status == 429
        assert int(found.headers["retry-after"]) >= 1
        for one in (first, *blocked):
            one.close()
        until(lambda: not engine_of(client).queue.waiting and not engine_of(client).queue.running)
        assert client.post(f"{V1}/translate", {"segments": [SENTENCE]}).status == 200


def test_work_over_its_time_is_stopped():
    with small_server(threads=1, seconds=1.5) as server:
        client = Client(server)
        problem = client.problem("/translate", LONG)
        assert problem["status"] == 504
        until(lambda: not engine_of(client).queue.running)
        assert client.post(f"{V1}/translate", {"segments": [SENTENCE]}).status == 200
        assert engine_of(client).metrics.cancelled == 1


def test_work_is_stopped_when_its_client_has_gone(client: Client):
    before = engine_of(client).metrics.cancelled
    sender = begin(client, LONG)
    until(lambda: engine_of(client).queue.running)
    sender.close()
    until(lambda: engine_of(client).metrics.cancelled == before + 1)
    until(lambda: not engine_of(client).queue.running and not engine_of(client).queue.waiting)


def test_above_the_ceiling_of_memory_nothing_is_begun():
    with small_server(memory=1e9) as server:
        client = Client(server)
        assert client.post(f"{V1}/translate", {"segments": [SENTENCE]}).status == 200
        server.engine.memory.most_bytes = 1e6
        for path, asked in (
            ("/translate", {"segments": ["a"]}),
            ("/choose", {"segments": [{"hypotheses": ["a", "b"]}]}),
        ):
            problem = client.problem(path, asked)
            assert (problem["status"], problem["type"]) == (503, "toledo:memory")


def test_a_ceiling_that_nothing_fits_under_is_refused():
    with pytest.raises(RunError, match="does not become ready: The server does not have enough memory"):
        small_server(memory=1.0)


def test_kept_forests_expire_and_make_room():
    with small_server(keep=0.3, keep_seconds=900.0) as server:
        client, now = Client(server), [0.0]
        server.engine.forests._clock = lambda: now[0]
        asked = {"segments": [SENTENCE], "keep": True}
        first = client.result("/translate", asked)["segments"][0]["forest"]["id"]
        assert client.post(f"{V1}/forests/{first}/decide", {}).status == 200
        for _ in range(40):
            client.result("/translate", asked)
        assert engine_of(client).forests.size <= 150_000
        assert client.post(f"{V1}/forests/{first}/decide", {}).status == 410
        last = client.result("/translate", asked)["segments"][0]["forest"]["id"]
        now[0] = 901.0
        assert client.post(f"{V1}/forests/{last}/decide", {}).status == 410
        assert client.get(f"{V1}/forests/{last}").status == 410
        assert engine_of(client).forests.size == 0


def test_event_streams_of_a_client_are_counted():
    with small_server(streams=1) as server:
        client = Client(server)
        asked = {"segments": [SENTENCE], "steps": 10_000_000}
        job = client.post(f"{V1}/documents", asked).json()["job"]
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        connection.request("GET", f"{V1}/jobs/{job}/events")
        assert connection.getresponse().read(4)
        assert client.get(f"{V1}/jobs/{job}/events").status == 429
        connection.close()
        client.send("DELETE", f"{V1}/jobs/{job}")


def test_what_runs_may_end_when_the_server_does():
    server = small_server(threads=1, closing=30.0)
    client, answers = Client(server), list[int]()
    asked = {"segments": LONG["segments"][:12], "rules": ["mbr"]}
    thread = threading.Thread(target=lambda: answers.append(client.post(f"{V1}/translate", asked).status))
    thread.start()
    until(lambda: engine_of(client).queue.running)
    server.close()
    thread.join()
    assert answers == [200]
    with pytest.raises(ConnectionError):
        client.get("/health/live")


def answers(client: Client) -> bool:
    """Whether the server listens already."""
    with suppress(ConnectionError):
        return client.get("/health/live").status == 200
    return False


def test_a_server_that_is_not_ready_says_so(monkeypatch: pytest.MonkeyPatch):
    async def never(engine: Engine) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("toledo.serve.warming.warm_up", never)
    monkeypatch.setattr(Server, "start", lambda self: [self._begin(), self][-1])
    with small_server() as server:
        client = Client(server)
        until(lambda: answers(client))
        assert client.get("/health/ready").status == 503
        assert client.post(f"{V1}/translate", {"segments": [SENTENCE]}).status == 503
        assert client.post("/RPC2", b"<methodCall/>").status == 503


def test_a_server_that_cannot_become_ready_ends(monkeypatch: pytest.MonkeyPatch):
    async def fail(engine: Engine) -> None:
        raise RuntimeError("kernels cannot be compiled")

    monkeypatch.setattr("toledo.serve.warming.warm_up", fail)
    with pytest.raises(RunError, match="does not become ready: kernels cannot be compiled"):
        small_server()
