"""The application: routes of the API, of pages, of health and metrics, behind the checks of security."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from toledo.serve import api, pages
from toledo.serve.call import Call
from toledo.serve.engine import Engine


def make_app(engine: Engine) -> Starlette:
    """Return the application that answers with an engine."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.close()

    routes: list[BaseRoute] = [
        *api.routes(),
        Route("/health/live", _live),
        Route("/health/ready", _ready),
        *pages.routes(),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Calls)])
    app.state.engine = engine
    return app


class Calls:
    """Gives each request a call with an id."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scope.setdefault("state", {})["call"] = Call()
        await self.app(scope, receive, send)


async def _live(request: Request) -> Response:
    return JSONResponse({"live": True})


async def _ready(request: Request) -> Response:
    ready = request.app.state.engine.ready
    return JSONResponse({"ready": ready}, 200 if ready else 503)
