"""The application: routes of the API, of pages, of health and metrics, behind the checks of security."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route

from toledo.serve import api, moses, pages, streams
from toledo.serve.api_page import api_page
from toledo.serve.engine import Engine
from toledo.serve.metrics import MEDIA_TYPE
from toledo.serve.observing import Observer
from toledo.serve.openapi import openapi
from toledo.serve.problems import ServeError
from toledo.serve.security import Access, Guard

TITLES = {404: "There is no such page", 405: "This method is not for this address"}


def make_app(engine: Engine, access: Access | None = None) -> Starlette:
    """Return the application that answers with an engine; without `access`, hosts and origins are not checked."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.close()

    routes: list[BaseRoute] = [
        *streams.routes(),
        *api.routes(),
        *moses.routes(),
        Route("/health/live", _live),
        Route("/health/ready", _ready),
        Route("/metrics", _metrics),
        Route("/openapi.json", _openapi),
        Route("/api", _api_page),
        *pages.routes(),
    ]
    middleware = [
        Middleware(Observer, metrics=engine.metrics, routes=routes),
        Middleware(Guard, access=access, limits=engine.limits),
    ]
    handlers = {HTTPException: _not_found}
    app = Starlette(routes=routes, lifespan=lifespan, middleware=middleware, exception_handlers=handlers)
    app.router.redirect_slashes = False
    app.state.engine, app.state.access = engine, access
    return app


async def _live(request: Request) -> Response:
    return JSONResponse({"live": True})


async def _ready(request: Request) -> Response:
    engine: Engine = request.app.state.engine
    if not engine.ready:
        title = "The server is about to end" if engine.closing else "The server is not ready yet"
        return api.failed(ServeError(503, "not-ready", title, headers={"Retry-After": "1"}), request)
    return JSONResponse({"ready": True})


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi())


async def _api_page(request: Request) -> Response:
    page = api_page()
    return HTMLResponse(page.html, headers={"content-security-policy": f"{page.policy}; frame-ancestors 'none'"})


async def _metrics(request: Request) -> Response:
    return Response(request.app.state.engine.metrics_text(), media_type=MEDIA_TYPE)


async def _not_found(request: Request, error: Exception) -> Response:
    """Answer 404 and 405 in the form of all problems."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = {"Allow": ", ".join(_methods(request))} if status == 405 else {}
    title = TITLES.get(status, "This cannot be answered")
    return api.failed(ServeError(status, "not-found" if status == 404 else "method", title, headers=headers), request)


def _methods(request: Request) -> list[str]:
    """Return the methods that there are for an address, on whichever routes."""
    found = set[str]()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods or set()
    return sorted(found)
