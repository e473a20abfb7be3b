"""The description of the API as a page: each address with its fields, a line for curl, and what it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from toledo.serve.openapi import ERRORS, openapi
from toledo.view.markup import Markup, tag
from toledo.view.page import Page, card
from toledo.view.tables import Cell, table

REFERENCE = re.compile(r"#/components/schemas/(\w+)")
HOST = "localhost:8080"
LIMITS = {"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
MOST_VALUES = 12  # of a list of names


@cache
def api_page() -> Page:
    """Return the page."""
    description = openapi()
    schemas: Mapping[str, Any] = description["components"]["schemas"]
    page = Page("API", description["info"]["description"])
    page.heading("Addresses")
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            page.add(card(f"{method.upper()} {path}", *_operation(path, method, operation, schemas), fold=True))
    page.heading("Errors", "application/problem+json: type, title, status, detail, where, request.")
    page.add(card("Statuses", table(["status", "when"], [[int(status), text] for status, text in ERRORS.items()])))
    page.heading("Types")
    for name, schema in schemas.items():
        about = schema.get("description", "")
        page.add(card(name, tag("p", about), _fields(schema), fold=True))
    return page


def _operation(path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Markup]:
    yield tag("p", operation["summary"], " ", operation.get("description", ""))
    bodies = operation.get("requestBody", {}).get("content", {})
    for media, body in bodies.items():
        yield tag("pre", _curl(path, media, body.get("example")))
        if found := REFERENCE.search(json.dumps(body["schema"])):
            yield _fields(schemas[found[1]])
    if method == "get":
        yield tag("pre", f"curl {HOST}{path}")
    if parameters := operation.get("parameters"):
        rows: list[list[Cell]] = [[one["name"], one["in"], _kind(one["schema"])] for one in parameters]
        yield table(["parameter", "in", "type"], rows)
    for status, answer in operation["responses"].items():
        if status not in ERRORS:
            kinds = [f"{media}: {_kind(one['schema'])}" for media, one in answer.get("content", {}).items()]
            yield tag("p", f"{status}: {answer['description']}; ", "; ".join(kinds))


def _curl(path: str, media: str, example: Any) -> str:
    body = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
    return f"curl {HOST}{path} -H 'Content-Type: {media}' \\\n  -d '{body.rstrip()}'"


def _fields(schema: Mapping[str, Any]) -> Markup:
    """Return the fields of an object with their types and defaults."""
    required = set(schema.get("required", ()))
    rows: list[list[Cell]] = [
        [name, _kind(field), "required" if name in required else json.dumps(field.get("default"), ensure_ascii=False)]
        for name, field in schema.get("properties", {}).items()
    ]
    return table(["field", "type", "default"], rows) if rows else tag("p", _kind(schema))


def _kind(schema: Mapping[str, Any]) -> str:
    """Return a type in words."""
    if found := REFERENCE.search(str(schema.get("$ref", ""))):
        return found[1]
    if "enum" in schema:
        values = [json.dumps(one) for one in schema["enum"][:MOST_VALUES]]
        return " or ".join([*values, *(["…"] if len(schema["enum"]) > MOST_VALUES else [])])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        if items := schema.get("prefixItems"):
            return f"({', '.join(map(_kind, items))})"
        return f"list of {_kind(schema.get('items') or {})}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    limits = [f"{sign} {schema[key]:g}" for key, sign in LIMITS.items() if key in schema]
    return " ".join([str(schema.get("type", "anything")), *limits])
