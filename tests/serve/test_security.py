"""Who may ask: hosts, origins, tokens; and what every answer says to browsers."""

from urllib.parse import quote

import pytest
from small_server import SENTENCE, V1, Client, small_server

import toledo
from toledo.errors import InputError
from toledo.serve.security import POLICY, Access, is_loopback, new_token

TOKEN = "a token that nobody knows"
ASKED = {"segments": [SENTENCE]}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", "", "127.0.0.1:1"])
def test_other_hosts_are_refused(client: Client, host: str):
    for path in ("/", f"{V1}/about", "/health/live", "/RPC2"):
        assert client.get(path, host=host).status == 421


def test_known_hosts_are_not(client: Client):
    for host in ("127.0.0.1", f"127.0.0.1:{client.port}", f"localhost:{client.port}", f"LOCALHOST:{client.port}"):
        assert client.get("/health/live", host=host).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil", "file://"])
def test_other_origins_cannot_post(client: Client, origin: str):
    assert client.post(f"{V1}/translate", ASKED, origin=origin).status == 403
    assert client.send("DELETE", f"{V1}/jobs/j_1", origin=origin).status == 403
    assert client.post("/RPC2", b"<methodCall/>", origin=origin).status == 403


def test_our_own_origin_can(client: Client):
    assert client.post(f"{V1}/translate", ASKED, origin=f"http://127.0.0.1:{client.port}").status == 200
    other_port = f"http://127.0.0.1:{client.port + 1}"
    assert client.post(f"{V1}/translate", ASKED, origin=other_port).status == 403


def test_there_is_no_permission_for_other_sites(client: Client):
    for method in ("OPTIONS", "GET"):
        found = client.send(method, f"{V1}/about", origin="https://evil.example")
        assert not [name for name in found.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [f"{V1}/about", "/openapi.json", "/health/live", "/metrics", "/nothing"])
def test_every_answer_has_the_headers(client: Client, path: str):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["x-request-id"].startswith("r_")
    assert "server" not in headers


def test_a_token_guards_data_and_work():
    with small_server(token=TOKEN) as server:
        client, bearer = Client(server), f"Bearer {TOKEN}"
        for path in (f"{V1}/about", "/metrics"):
            assert client.get(path).status == 401
            assert client.get(path).headers["www-authenticate"].startswith("Bearer")
            assert client.get(path, authorization=f"Bearer {TOKEN}x").status == 401
            assert client.get(path, authorization=f"Basic {TOKEN}").status == 401
            assert client.get(path, authorization=bearer).status == 200
        for path in (f"{V1}/translate", "/RPC2", "/view/translate"):
            assert client.post(path, ASKED).status == 401
        assert client.post(f"{V1}/translate", ASKED, authorization=bearer).status == 200
        assert client.get("/health/ready").status == 200
        assert server.url.endswith(f"/#token={quote(TOKEN)}")
        assert TOKEN not in repr(server)


def test_beyond_this_machine_a_token_is_made():
    with toledo.serve((), host="0.0.0.0", port=0, block=False, threads=1, hosts=["mt.example.org"]) as server:
        client = Client(server)
        assert client.get(f"{V1}/about").status == 401
        assert client.get(f"{V1}/about", authorization=f"Bearer {server.access.token}").status == 200
        assert client.get("/health/live", host="mt.example.org").status == 200
        assert client.get("/health/live", host="other.example.org").status == 421
    assert new_token() != new_token()


def test_short_tokens_are_refused():
    with pytest.raises(InputError, match="a token of 5 characters"):
        toledo.serve((), token="short", port=0, block=False)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_what_is_only_this_machine(host: str, loopback: bool):
    assert is_loopback(host) == loopback
    assert {host, f"[{host}]"} & Access.at(host, 80).hosts
