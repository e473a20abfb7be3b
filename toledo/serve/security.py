"""What may come in and what may go out: hosts, origins, tokens, sizes of bodies, and headers of answers.

known hosts     a page of another site must not reach a server on this machine by a name of its own (DNS rebinding)
known origins   nor send forms to it
tokens          required where the server listens on more than this machine
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toledo.serve.api import PREFIX, as_problem
from toledo.serve.call import Call
from toledo.serve.problems import ServeError
from toledo.serve.settings import ServerLimits

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
GUARDED = (PREFIX, "/view", "/RPC2", "/metrics")  # what needs a token; pages themselves have no data
COMPARE = f"{PREFIX}/compare", "/view/compare"
FARTHEST = 4  # times the size of the largest body
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Access:
    """Which hosts the server answers to, and the token that it asks for."""

    hosts: frozenset[str]
    token: str | None = None

    @classmethod
    def at(cls, host: str, port: int, names: Collection[str] = (), token: str | None = None) -> Access:
        """Return the access to a server at an address; `names` are other names that it is reached by."""
        known = {f"[{host}]" if ":" in host else host, *names, *LOOPBACK}
        return cls(frozenset(f"{one}{suffix}" for one in known for suffix in ("", f":{port}")), token)

    def check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Refuse a request from elsewhere, or without the token."""
        host = headers.get("host", "").lower()
        if host not in self.hosts:
            raise ServeError(421, "wrong-host", "The server is not known by this name", "Use the address it printed.")
        origin = headers.get("origin")
        if scope["method"] not in SAFE and origin is not None and origin.lower() not in self._origins(host):
            raise ServeError(403, "wrong-origin", "Pages of other sites may not send requests")
        if self.token is not None and scope["path"].startswith(GUARDED):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.token.encode()):
                detail = "Send `Authorization: Bearer TOKEN` with the token that the server printed."
                challenge = {"WWW-Authenticate": 'Bearer realm="toledo"'}
                raise ServeError(401, "no-token", "The token is missing or wrong", detail, headers=challenge)

    @staticmethod
    def _origins(host: str) -> tuple[str, str]:
        return f"http://{host}", f"https://{host}"  # a proxy may speak https for us


def is_loopback(host: str) -> bool:
    """Whether an address is that of this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


class Guard:
    """Checks each request before anything else sees it, reads its body within limits, and adds headers."""

    def __init__(self, app: ASGIApp, access: Access | None, limits: ServerLimits) -> None:
        self.app, self.access, self.limits = app, access, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        call = Call(id=f"r_{secrets.token_hex(5)}")
        scope.setdefault("state", {})["call"] = call
        sender = _with_headers(send, call.id)
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            if self.access is not None:
                self.access.check(scope, headers)
            body = await self._body(scope, headers, receive)
        except ServeError as error:
            response = as_problem(error.problem(call.id), Request(scope))
            response.headers.update({**error.headers, "connection": "close"})
            await response(scope, receive, sender)
            return
        await self.app(scope, _with_body(body, receive), sender)

    async def _body(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> bytes:
        if scope["method"] in SAFE:
            return b""
        large = scope["path"] in COMPARE
        most = self.limits.compare_bytes if large else self.limits.body_bytes
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) <= most:
            try:
                async with asyncio.timeout(self.limits.body_seconds):
                    if (body := await _read(receive, most)) is not None:
                        return body
            except TimeoutError:
                detail = f"It must be sent within {self.limits.body_seconds:g} s."
                raise ServeError(408, "slow", "The body did not come in time", detail) from None
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.body_seconds):
                await _discard(receive, FARTHEST * most)
        raise ServeError(413, "too-large", "The body is too large", f"At most {most / 1e6:g} MB.")


async def _read(receive: Receive, most: int) -> bytes | None:
    """Return a body, or None if it is too large."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ServeError(499, "client-gone", "The client has gone")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


async def _discard(receive: Receive, most: int) -> None:
    """Read some of a body that is too large: clients look for an answer only after they have sent it."""
    size, more = 0, True
    while more and size < most:
        message = await receive()
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return what hands out a body that has been read, and then waits for the end of the connection."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again


def _with_headers(send: Send, request: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message["headers"]}
            own = {**HEADERS, "x-request-id": request, "cache-control": "no-store"}
            added = [(name.encode(), value.encode()) for name, value in own.items() if name.encode() not in known]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return send_with_headers
