"""Answers that come in parts: events of jobs and runs, choices line by line, pictures of forests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from toledo.serve import api
from toledo.serve.actions import CHOOSE, FOREST
from toledo.serve.call import Call
from toledo.serve.choosing import check_choosing, check_samples, choose_work, read_line
from toledo.serve.drawing import picture_of
from toledo.serve.engine import Engine
from toledo.serve.histories import run_events
from toledo.serve.problems import ServeError, error_of
from toledo.serve.types import Choosing, ForestRequest

NDJSON, EVENTS = "application/x-ndjson", "text/event-stream"
PICTURES = {"svg": "image/svg+xml", "dot": "text/vnd.graphviz; charset=utf-8"}


def routes() -> list[BaseRoute]:
    """Return the routes of answers that are not one JSON value."""
    prefix = api.PREFIX
    return [
        Route(f"{prefix}{CHOOSE.path}", _choose, methods=["POST"]),
        Route(f"{prefix}{FOREST.path}", _forest, methods=["GET"]),
        Route(f"{prefix}/jobs/{{id}}/events", _job_events, methods=["GET"]),
        Route(f"{prefix}/runs/{{id}}/events", _run_events, methods=["GET"]),
    ]


async def _forest(request: Request) -> Response:
    """Return a window of the drawing of a forest as JSON, or all of it as a file."""
    form = request.query_params.get("format", "json")
    if form not in PICTURES:
        return await api.endpoint(FOREST)(request)
    engine: Engine = request.app.state.engine
    try:
        asked = msgspec.convert(dict(request.query_params), ForestRequest, strict=False)
        picture = await asyncio.to_thread(picture_of, engine, request.path_params["id"], asked)
    except Exception as error:
        return api.failed(error_of(error), request)
    return Response(picture, media_type=PICTURES[form])


async def _choose(request: Request) -> Response:
    """Choose among the samples of a request, or of each of its lines."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != NDJSON:
        return await api.endpoint(CHOOSE)(request)
    try:
        asked = msgspec.convert(dict(request.query_params), Choosing, strict=False)
        check_choosing(asked)
        lines = [line for line in (await request.body()).decode("utf-8").split("\n") if line.strip()]
    except Exception as error:
        return api.failed(error_of(error), request)
    parts = _choices(request.app.state.engine, asked, lines, request.state.call)
    return StreamingResponse(parts, media_type=NDJSON)


async def _choices(engine: Engine, asked: Choosing, lines: list[str], call: Call) -> AsyncIterator[bytes]:
    """Yield a line for each line, with a choice or with what is wrong."""
    work = choose_work(asked)
    try:
        for line in lines:
            try:
                segment = read_line(line)
                check_samples(engine, [segment])
                ((found, _),) = await asyncio.wait_for(engine.queue.run(call, work, [segment]), engine.limits.seconds)
                answer = msgspec.json.encode(found)
            except TimeoutError:
                call.cancel("timeout")
                problem = ServeError(504, "timeout", "The work took too long and was stopped").problem(call.id)
                yield msgspec.json.encode({"problem": problem}) + b"\n"
                return
            except Exception as error:
                said = error if isinstance(error, ServeError) or not isinstance(error, ValueError) else _wrong(error)
                answer = msgspec.json.encode({"problem": error_of(said).problem(call.id)})
            yield answer + b"\n"
    finally:
        call.cancel("client gone")


def _wrong(error: ValueError) -> ServeError:
    return ServeError(422, "wrong-value", str(error) or "The line cannot be read")


async def _job_events(request: Request) -> Response:
    engine: Engine = request.app.state.engine
    client, key = _client(request), request.path_params["id"]
    try:
        after = _last_event(request, 0)
        engine.jobs.get(key)
        engine.jobs.check_streams(client)
    except ServeError as error:
        return api.failed(error, request)
    return StreamingResponse(engine.jobs.events(key, after, client), media_type=EVENTS)


async def _run_events(request: Request) -> Response:
    engine: Engine = request.app.state.engine
    client, key = _client(request), request.path_params["id"]
    try:
        after = _last_event(request, -1)
        engine.jobs.check_streams(client)
        parts = run_events(engine, key, after, client)
        first = await anext(parts)
    except ServeError as error:
        return api.failed(error, request)
    except StopAsyncIteration:
        return Response(media_type=EVENTS)
    return StreamingResponse(_all(first, parts), media_type=EVENTS)


async def _all(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in parts:
        yield part


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _last_event(request: Request, default: int) -> int:
    """Return the number of the last event that the client has seen."""
    given = request.headers.get("last-event-id", "")
    if given and not given.isdigit():
        raise ServeError(422, "wrong-value", "Last-Event-ID is not a number")
    return int(given) if given else default
