"""The description of the API, made from the actions and the dataclasses of their requests and results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from toledo import __version__
from toledo.serve.actions import ACTIONS, CHOOSE, FOREST, TRANSLATE, Action
from toledo.serve.api import PREFIX
from toledo.serve.names import FOREST_RULES, LIST_RULES
from toledo.serve.streams import NDJSON, PICTURES
from toledo.serve.types import Choosing
from toledo.serve.work_types import JobStarted, Problem

VERSION = "3.1.0"
REFERENCE = "#/components/schemas/{name}"
ERRORS = {
    "400": "not JSON, or not UTF-8",
    "401": "no token, or a wrong one",
    "403": "from a page of another site",
    "404": "no such thing",
    "405": "no such method here",
    "408": "the body was not sent in time",
    "410": "no longer kept",
    "413": "over a limit",
    "415": "not application/json",
    "421": "not a name of this server",
    "422": "a wrong value or an unknown field; `where` points to it",
    "429": "the queue is full; `Retry-After` says when to try again",
    "500": "an error of the server",
    "503": "not ready, about to end, or short of memory",
    "504": "over the time-out; the work was stopped",
}
EXAMPLES: dict[str, Any] = {
    "/translate": {"segments": ["uno vako pazet ."], "rules": ["viterbi", "mbr"], "nbest": 3, "keep": True},
    "/forests/{id}/decide": {"rules": ["mbr"], "scale": 0.5, "weights": {"lm": 0.3}},
    "/choose": {"segments": [{"id": "s1", "hypotheses": ["Get drinks cold.", "Cold drinks.", "Get cold drinks."]}]},
    "/combine": {"systems": {"one": ["a small house"], "two": ["a little house"], "three": ["the small house"]}},
    "/documents": {"segments": ["uno vako pazet ."], "document_models": {"consistency": 5.0}, "steps": 1000},
    "/compare": {"systems": {"one": ["a cow"], "two": ["the cow"]}, "references": [["a cow"]]},
}


@cache
def openapi() -> dict[str, Any]:
    """Return the whole description."""
    types: dict[str, Any] = {"Problem": Problem, "JobStarted": JobStarted, "Choosing": Choosing}
    for action in ACTIONS:
        for one in (action.request, action.result):
            if one is not None:
                types[one.__name__] = one
    schemas, components = msgspec.json.schema_components(types.values(), ref_template=REFERENCE)
    for name, schema in zip(types, schemas, strict=True):
        components.setdefault(name, schema)
    _name_rules(components)
    paths: dict[str, Any] = {}
    for action in ACTIONS:
        paths.setdefault(PREFIX + action.path, {})[action.method.lower()] = _operation(action, components)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Toledo",
            "version": __version__,
            "description": "Machine translation by expectation and consensus. Unknown fields are errors; numbers are "
            "JSON numbers with at most six decimals.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": {**paths, **_events(), **_health()},
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _name_rules(components: dict[str, Any]) -> None:
    """Say which rules there are, wherever a request names some."""
    for schema in components.values():
        fields = schema.get("properties", {})
        if schema.get("additionalProperties") is False and "rules" in fields:
            fields["rules"] = {**fields["rules"], "anyOf": [_array(FOREST_RULES), {"type": "null"}]}
        if schema.get("additionalProperties") is False and "rule" in fields:
            fields["rule"] = {**fields["rule"], "enum": list(LIST_RULES)}


def _array(names: Sequence[str]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "enum": list(names)}}


def _operation(action: Action[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    summary, _, description = (action.run.__doc__ or "").partition("\n\n")
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=action.result.__name__)}}}
    answers: dict[str, Any] = {str(action.status): {"description": "the result", "content": content}}
    if action is FOREST:
        content |= {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in PICTURES.values()}
    if action is CHOOSE:
        content[NDJSON] = {"schema": {"type": "string"}}
    if action is TRANSLATE:
        job = {"application/json": {"schema": {"$ref": REFERENCE.format(name="JobStarted")}}}
        answers["202"] = {"description": "a job, if the query has `job`", "content": job}
    found: dict[str, Any] = {
        "operationId": action.run.__name__,
        "summary": summary,
        "responses": {**answers, **_errors()},
    }
    if description:
        found["description"] = description
    if parameters := [*_path_parameters(action), *_query_parameters(action, components)]:
        found["parameters"] = parameters
    if action.method == "POST" and action.request is not None:
        found["requestBody"] = {"required": True, "content": _bodies(action)}
    return found


def _bodies(action: Action[Any, Any]) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(name=action.request.__name__ if action.request else "")}
    found: dict[str, Any] = {"application/json": {"schema": schema, "example": EXAMPLES.get(action.path, {})}}
    if action is CHOOSE:
        found[NDJSON] = {"schema": {"type": "string"}, "example": '{"hypotheses": ["a b", "a c", "a b"]}\n'}
    return found


def _path_parameters(action: Action[Any, Any]) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in action.path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(action: Action[Any, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a request of GET, and what else may stand in a query."""
    if action is TRANSLATE:
        what = "whatever its value: translate as a job"
        return [{"name": "job", "in": "query", "description": what, "schema": {}, "allowEmptyValue": True}]
    if action.method != "GET" or action.request is None:
        return []
    fields = components[action.request.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]


def _errors() -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    return {status: {"description": text, "content": content} for status, text in ERRORS.items()}


def _events() -> dict[str, Any]:
    """Return the streams of events."""
    found = {}
    for kind, what in (("jobs", "progress, segment, step, done, problem"), ("runs", "round, done")):
        last = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer", "minimum": 0}}
        place = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        content = {"text/event-stream": {"schema": {"type": "string"}}}
        answers = {"200": {"description": f"events: {what}", "content": content}, **_errors()}
        operation = {"operationId": f"{kind}_events", "summary": f"Follow the events of one of the {kind}.",
                     "parameters": [place, last], "responses": answers}  # fmt: skip
        found[f"{PREFIX}/{kind}/{{id}}/events"] = {"get": operation}
    return found


def _health() -> dict[str, Any]:
    found = {}
    for path, what in (("live", "Say that the process is there."), ("ready", "Say whether requests can be answered.")):
        content = {"application/json": {"schema": {"type": "object"}}}
        answers = {"200": {"description": "yes", "content": content}, **_errors()}
        operation = {"operationId": f"health_{path}", "summary": what, "responses": answers}
        found[f"/health/{path}"] = {"get": operation}
    return found
