"""Methods that take one text and give one result, or take several texts and give a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from toledo.api.inputs import OneOrMany

P = ParamSpec("P")
T = TypeVar("T")


class OneOrManyMethod(Protocol[P, T]):
    """A method of one text, which gives one result, and of several texts or a file, which give a list."""

    @overload
    def __call__(self, sources: str, *arguments: P.args, **named: P.kwargs) -> T: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, sources: Path | Iterable[str], *arguments: P.args, **named: P.kwargs) -> list[T]: ...


def one_or_many(method: Callable[Concatenate[Any, Any, P], list[T]]) -> OneOrManyMethod[P, T]:
    """Let a method of a list of texts return one result for one text."""

    @wraps(method)
    def call(self: Any, sources: OneOrMany, *arguments: P.args, **named: P.kwargs) -> Any:
        found = method(self, sources, *arguments, **named)
        return found[0] if isinstance(sources, str) else found

    return cast(OneOrManyMethod[P, T], call)
