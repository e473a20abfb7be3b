"""The API as JSON: requests are read and checked, actions run with a time-out, results and errors are written."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toledo.serve.actions import ACTIONS, TRANSLATE, TRANSLATE_JOB, Action
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.problems import ServeError, error_of
from toledo.serve.work_types import Problem

log = logging.getLogger(__name__)

PREFIX = "/api/v1"
JSON, PROBLEM = "application/json", "application/problem+json"
T = TypeVar("T")
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
WriteResult: TypeAlias = Callable[[Any, Request], Response]
WriteProblem: TypeAlias = Callable[[Problem, Request], Response]


def as_json(result: Any, request: Request) -> Response:
    """Write a result as JSON."""
    return Response(msgspec.json.encode(result), media_type=JSON)


def as_problem(problem: Problem, request: Request) -> Response:
    """Write an error as JSON."""
    return Response(msgspec.json.encode(problem), problem.status, media_type=PROBLEM)


def endpoint(
    action: Action[Any, Any], write: WriteResult = as_json, write_problem: WriteProblem = as_problem
) -> Handler:
    """Return the handler of an action; pages draw its result, and its errors, with functions of their own."""

    async def handle(request: Request) -> Response:
        call = request.state.call
        try:
            if not request.app.state.engine.ready:
                raise ServeError(503, "not-ready", "The server is not ready yet", headers={"Retry-After": "1"})
            asked = await read_request(action, request)
            result = await run_action(action, asked, request, call)
            response = write(result, request)
            response.status_code = action.status if response.status_code == 200 else response.status_code
        except ClientDisconnect:
            return failed(ServeError(499, "client-gone", "The client has gone"), request, write_problem)
        except Exception as error:
            if not isinstance(found := error_of(error), ServeError) or found.status == 500:
                log.exception("request %s failed", call.id)
            return failed(found, request, write_problem)
        return response

    return handle


def failed(error: ServeError, request: Request, write_problem: WriteProblem = as_problem) -> Response:
    """Return the answer to a request that cannot be fulfilled."""
    response = write_problem(error.problem(request.state.call.id), request)
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


async def read_request(action: Action[Any, Any], request: Request) -> Any:
    """Read what is asked from the body, or from the query."""
    if action.request is None:
        return None
    if action.method == "GET":
        return msgspec.convert(dict(request.query_params), action.request, strict=False)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != JSON:
        raise ServeError(415, "not-json", f"The body is {media or 'of no type'}", f"Send it as {JSON}.")
    return msgspec.json.decode(await request.body(), type=action.request)


async def run_action(action: Action[Any, Any], asked: Any, request: Request, call: Call) -> Any:
    """Run an action until it is done, its time is over, or the client has gone."""
    engine: Engine = request.app.state.engine
    task = asyncio.ensure_future(action.run(engine, asked, call, dict(request.path_params)))
    return await until_done(engine, request, call, task)


async def until_done(engine: Engine, request: Request, call: Call, task: asyncio.Future[T]) -> T:
    """Return the result of work, unless its time is over or the client has gone: then the work is stopped."""
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        both: set[asyncio.Future[Any]] = {task, gone}
        await asyncio.wait(both, timeout=engine.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            call.cancel("client gone" if gone.done() else "timeout")
            engine.metrics.cancelled += 1
            task.cancel()
            call.check()
        return await task
    finally:
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _translate(request: Request) -> Response:
    """Translate at once, or as a job with the query `job`."""
    action = TRANSLATE_JOB if "job" in request.query_params else TRANSLATE
    return await endpoint(action)(request)


def routes() -> list[BaseRoute]:
    """Return the routes of all actions."""
    special: dict[str, Handler] = {TRANSLATE.path: _translate}
    return [Route(PREFIX + one.path, special.get(one.path) or endpoint(one), methods=[one.method]) for one in ACTIONS]
