"""Errors of the server: each has a status, a kind, and the place in the request that it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from toledo.errors import InputError, ToledoError
from toledo.serve.work_types import Problem

PATH = re.compile(r"^(?P<what>.*) - at `(?P<path>(?:key in )?\$.*)`$", re.DOTALL)
FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(.*)`$")
STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]")


class ServeError(Exception):
    """A request that is refused, or work that cannot be finished."""

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        detail: str = "",
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(title)
        self.status, self.kind, self.title, self.detail, self.where = status, kind, title, detail, where
        self.headers = dict(headers or {})

    def problem(self, request: str = "") -> Problem:
        """Return what the client sees."""
        return Problem(
            type=f"toledo:{self.kind}", title=self.title, status=self.status, detail=self.detail, where=self.where,
            request=request,
        )  # fmt: skip


def too_large(kind: str, title: str, detail: str, where: str | None = None) -> NoReturn:
    """Refuse what is over a limit."""
    raise ServeError(413, kind, title, detail, where)


def error_of(error: Exception) -> ServeError:
    """Return an error of the library, or of reading JSON, as one of the server."""
    if isinstance(error, ServeError):
        return error
    if isinstance(error, msgspec.ValidationError):
        what, where = place_of(str(error))
        return ServeError(422, "wrong-value", what, "The request does not have the form that openapi.json says.", where)
    if isinstance(error, msgspec.DecodeError | UnicodeDecodeError):
        return ServeError(400, "not-json", "The body is not JSON in UTF-8", str(error))
    if isinstance(error, RecursionError):
        return ServeError(400, "too-deep", "The body is nested too deeply")
    if isinstance(error, InputError):
        where = None if error.argument is None else f"/{error.argument}"
        return ServeError(422, "wrong-value", error.message, error.remedy or "", where)
    if isinstance(error, ToledoError):
        return ServeError(422, "cannot", error.message, error.remedy or "")
    if isinstance(error, MemoryError):
        return ServeError(503, "memory", "There is not enough memory", "Send less at a time.")
    return ServeError(500, "internal", "Something went wrong in the server", "Its log has the details.")


def place_of(message: str) -> tuple[str, str | None]:
    """Return what is wrong and a JSON pointer from a message such as "Expected `float` - at `$.scale`"."""
    found = PATH.match(message)
    what, path = (message, "") if found is None else (found["what"], found["path"])
    steps = [name or number for name, number in STEP.findall(path)]
    if field := FIELD.search(what):
        steps.append(field[1])
    return what, "".join(f"/{step}" for step in steps) or None
