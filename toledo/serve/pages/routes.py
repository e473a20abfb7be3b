"""Routes of pages, of their parts, and of static files; errors become parts of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from toledo.serve.actions import Action
from toledo.serve.api import endpoint, failed
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages import choose, combine, compare, documents, runs, translate
from toledo.serve.pages.asked import View, ViewRequest
from toledo.serve.pages.examples import EXAMPLES, example_of
from toledo.serve.problems import ServeError
from toledo.serve.work_types import Problem
from toledo.view.markup import Markup
from toledo.view.shell import readiness
from toledo.view.states import Alert, alert

STYLES = ("workbench.css", "drawings.css", "pages.css")
SCRIPTS = ("core.js", "link.js", "list.js", "main.js", "morph.js", "picture.js", "stream.js", "theme.js")
MEDIA = {"css": "text/css", "js": "text/javascript"}
LOUD = (401, 403, 421, 429, 500, 503)  # errors that are no part of the page's work, and keep their status

Parts = Callable[[Engine, ViewRequest, Call, dict[str, str]], Awaitable[View]]


@dataclass(frozen=True)
class PageParts:
    """A page: its empty frame, and its parts for a state."""

    frame: Callable[[Engine], str]
    parts: Parts


PAGES: Mapping[str, PageParts] = {
    "translate": PageParts(translate.frame, translate.parts_of),
    "choose": PageParts(choose.frame, choose.parts_of),
    "combine": PageParts(combine.frame, combine.parts_of),
    "documents": PageParts(documents.frame, documents.parts_of),
    "compare": PageParts(compare.frame, compare.parts_of),
    "runs": PageParts(runs.frame, runs.parts_of),
}


def routes() -> list[BaseRoute]:
    """Return the routes of pages, fragments and static files."""
    found: list[BaseRoute] = [
        Route("/", _first),
        Route("/static/{name}", _static),
        Route("/view/ready", _ready, methods=["POST"]),
        Route("/view/example/{page}", _example),
    ]
    for name, page in PAGES.items():
        found += [Route(f"/{name}", _frame(page)), Route(f"/view/{name}", _view(name, page), methods=["POST"])]
    return found


async def _first(request: Request) -> Response:
    """Lead to the first page that has something to show."""
    engine = request.app.state.engine
    return RedirectResponse("/translate" if engine.models or engine.demo else "/choose", 307)


async def _ready(request: Request) -> Response:
    return Response(readiness(request.app.state.engine.ready), media_type="text/html; charset=utf-8")


async def _example(request: Request) -> Response:
    """Return what a page can be tried with, from the built-in sample."""
    engine, page = request.app.state.engine, request.path_params["page"]
    if not engine.demo or page not in EXAMPLES:
        return Response(status_code=404)
    return JSONResponse(await asyncio.to_thread(example_of, engine, page))


def _frame(page: PageParts) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        return Response(page.frame(request.app.state.engine), media_type="text/html; charset=utf-8")

    return handle


def _view(name: str, page: PageParts) -> Callable[[Request], Awaitable[Response]]:
    action: Action[Any, Any] = Action("POST", f"/view/{name}", page.parts, ViewRequest, View)
    draw = endpoint(action, _as_html, _as_alert)

    async def handle(request: Request) -> Response:
        """Answer with status 200 where the page shows what is wrong: a browser's console is for what it cannot show."""
        response = await draw(request)
        if response.status_code >= 400 and response.status_code not in LOUD:
            response.headers["Toledo-Status"] = str(response.status_code)
            response.status_code = 200
        return response

    return handle


def _as_html(view: Any, request: Request) -> Response:
    headers = {"Toledo-Name": view.name} if view.name else {}
    return Response(view.content, media_type=view.media, headers=headers)


def _as_alert(found: Problem, request: Request) -> Response:
    where = f"In {found.where}" if found.where else ""
    headers = {"Toledo-Kept": "gone"} if found.status == 410 else {}
    shown = alert(Alert(found.title, found.detail, where))
    return Response(shown, media_type="text/html; charset=utf-8", headers=headers)


async def _static(request: Request) -> Response:
    """Return one of our files: names are known, nothing else is looked for."""
    name = request.path_params["name"]
    if name not in STYLES + SCRIPTS:
        return failed(ServeError(404, "no-such-file", "There is no such file"), request)
    return Response(_file(name), media_type=f"{MEDIA[name.rpartition('.')[2]]}; charset=utf-8")


@cache
def _file(name: str) -> Markup:
    folder = files("toledo.view") if name in STYLES else files("toledo.serve").joinpath("static")
    return Markup(folder.joinpath(name).read_text(encoding="utf-8"))
