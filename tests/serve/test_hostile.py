"""Five hundred hostile requests: each gets its status, nothing is let in or out, and the server goes on."""

import json
import random
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from small_server import SENTENCE, V1, Answer, Client, small_server

SCRIPTS = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; DROP TABLE models; --", "{{7*7}}", "${jndi:x}",
    "\u202eevil", "\ud7ff\u0000\u0007", "../../../../etc/passwd", "file:///etc/passwd", "os:system", "%s%n%x", "a\r\nb",
    "\N{ZERO WIDTH SPACE}" * 20, "|||", "</s> <s> <unk>", "&lt;&amp;&#x41;", "-0", "NaN", "𝕏" * 50, "\ufeff",
]  # fmt: skip
PATHS = [
    "/../../etc/passwd", "/static/../../../etc/passwd", "/static/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/static//etc/passwd",
    f"{V1}/../../etc/passwd", f"{V1}/forests/../../etc/passwd", f"{V1}/forests/%2e%2e%2fetc",
    f"{V1}/runs/..%2f..%2fetc",
    f"{V1}/jobs/%00", f"{V1}/jobs/{'a' * 3000}", "//evil.example/", "/.git/config", "/openapi.json/", "/%ff%fe",
]  # fmt: skip
WRONG = [
    b"", b"null", b"[]", b"1", b"{", b'{"segments": ["a"', b'{"segments": [1]}', b'{"segments": "a"}', b"\xff\xfe\x00",
    b'{"segments": ["\xff"]}', b"[" * 100_000, b'{"a":' * 50_000, b'{"segments": ["a"], "scale": 1e999}',
    b'{"segments": ["a"], "scale": NaN}', b'{"segments": ["a"], "scale": -1}', b'{"segments": ["a"], "nbest": -1}',
    b'{"segments": ["a"], "weights": {"no": 1}}', b'{"segments": ["a"], "rules": ["os:system"]}',
    b'{"segments": ["a"], "metric": "comet"}', b'{"segments": ["a"], "metric": "matrix:/etc/passwd"}',
    b'{"segments": ["a"], "model": "../../model"}', b'{"segments": ["a"], "__proto__": {}}',
    b'{"segments": ["a"], "segments": ["b"], "x": 1}', b"\xef\xbb\xbf{}", b"<xml/>", b"a=1&b=2",
]  # fmt: skip
OVER = [
    {"segments": ["a"] * 501}, {"segments": ["a " * 301]}, {"segments": ["a"], "nbest": 1001},
    {"segments": ["x" * 2_100_000]}, {"segments": ["a"], "nbest": 10**20},
]  # fmt: skip


@pytest.fixture(scope="module")
def alone() -> Iterator[Client]:
    with small_server(body_seconds=3.0) as server:
        yield Client(server)


def is_a_problem(found: Answer) -> bool:
    """Whether an answer is an error as all are: no page, no traceback."""
    return found.headers["content-type"] == "application/problem+json" and b"Traceback" not in found.body


@pytest.mark.parametrize("path", ["/translate", "/choose", "/combine", "/compare", "/documents"])
def test_wrong_bodies(alone: Client, path: str):
    for body in WRONG:
        found = alone.post(V1 + path, body)
        assert found.status in (400, 422), (body[:50], found.body)
        assert is_a_problem(found)


def test_bodies_over_a_limit(alone: Client):
    for asked in OVER:
        found = alone.post(f"{V1}/translate", asked)
        assert found.status == 413
        assert is_a_problem(found)


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/html"]
)
def test_other_media_types(alone: Client, media: str):
    for path in ("/translate", "/choose", "/combine"):
        assert alone.post(V1 + path, b'{"segments": ["a"]}', content_type=media).status == 415


def test_paths_lead_nowhere(alone: Client):
    for path in PATHS:
        for method in ("GET", "POST", "DELETE"):
            found = raw(
                alone, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            status = int(found.split()[1])
            assert status in (400, 404, 405, 410), (method, path, found[:100])
            assert b"root:" not in found


def test_other_methods(alone: Client):
    for method in ("PUT", "PATCH", "TRACE", "CONNECT", "PROPFIND"):
        assert alone.send(method, f"{V1}/translate").status == 405


def test_text_is_text(alone: Client):
    """What looks like code comes back as it is, in JSON only."""
    for text in SCRIPTS:
        found = alone.post(f"{V1}/translate", {"segments": [text], "rules": ["mbr"], "nbest": 3, "posteriors": 2})
        assert found.status == 200, found.body
        assert found.headers["content-type"] == "application/json"
        chosen = alone.post(f"{V1}/choose", {"segments": [{"id": text, "hypotheses": [text, SENTENCE]}]}).json()
        assert chosen["segments"][0]["hypotheses"][0] == text
        assert alone.post(f"{V1}/combine", {"systems": {text: [text], "b": [SENTENCE]}}).status == 200
        for field in ("model", "metric"):
            found = alone.post(f"{V1}/translate", {"segments": ["a"], field: text})
            assert (found.status, is_a_problem(found)) == (422, True)
        assert alone.get(f"{V1}/about", x_text="a").status == 200


def raw(client: Client, content: str | bytes) -> bytes:
    """Send bytes, and return what comes back."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as sender:
        sender.sendall(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        parts = []
        while part := sender.recv(65_536):
            parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize(
    "content",
    [
        b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_http(alone: Client, content: bytes):
    try:
        found = raw(alone, content)
    except ConnectionError:
        found = b""
    status = int(found.split()[1]) if found else 0
    assert status in (0, 400, 408, 413, 421, 431), found[:100]


def test_random_requests(alone: Client):
    """Values of every type in every field: never an error of the server."""
    random_state = random.Random(5)
    values: list[Any] = [None, True, -1, 0, 1.5, "", "a", [], ["a"], {}, {"a": 1}, [["a"]], [None], {"a": ["b"]}]
    fields = {
        "/translate": "segments model rules metric scale weights nbest posteriors tokenized keep",
        "/choose": "segments responses text metric rule scale logprobs uniform matrix clusters",
        "/combine": "systems combination references shares weights language tokenized",
        "/compare": "systems references sources metrics baseline tokenize lowercase segment_metric resamples seed",
        "/documents": "segments model document_models start steps seed references tokenized",
    }
    for number in range(200):
        path = random_state.choice(list(fields))
        names = random_state.sample(fields[path].split(), random_state.randint(1, 4))
        asked = {name: random_state.choice(values) for name in names}
        found = alone.post(V1 + path, asked)
        assert found.status in (200, 202, 413, 422), (number, asked, found.body)


def test_cut_off_requests(alone: Client):
    body = json.dumps({"segments": [SENTENCE] * 100, "rules": ["mbr"]}).encode()
    for size in range(0, len(body), 97):
        with socket.create_connection(("127.0.0.1", alone.port), timeout=30) as sender:
            head = f"POST {V1}/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            sender.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:size])


def test_after_all_this_the_server_works(alone: Client):
    assert alone.get("/health/ready").status == 200
    assert alone.post(f"{V1}/translate", {"segments": [SENTENCE]}).status == 200
    for line in alone.get("/metrics").body.decode().splitlines():
        if line.startswith("toledo_requests_total"):
            assert 'status="500"' not in line, line
