"""What an interrupted run may go on with: the same options and files; where they differ, which of them.

A configuration has plain values (options), tables of such (settings), and marks: lists of names with digests, for files
and whatever else is too long to be kept. Marks are the same if their digests are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from toledo.errors import InputError

Marks = list[list[str]]

KIND = "kind"


def digest(content: object) -> str:
    """A short name for some content."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def mark(name: object, content: object) -> Marks:
    """One name, say of a file, with a digest of what it stands for."""
    return [[str(name), digest(content)]]


def plain(settings: object) -> Any:
    """Settings as a table of their fields, and their kind: by the name that options have for it, if there is one."""
    if is_dataclass(settings):
        own = {field.name: plain(getattr(settings, field.name)) for field in fields(settings)}
        return {KIND: str(getattr(settings, "name", type(settings).__name__)), **own}
    if settings is None or (isinstance(settings, bool | int | float | str) and not isinstance(settings, Enum)):
        return settings
    return str(settings)


def require_same(old: Mapping[str, Any], new: Mapping[str, Any], place: Path, remedy: str) -> None:
    """Refuse to go on with other options or files than those of before, and name the first that differs."""
    if told := _difference(dict(old), json.loads(json.dumps(dict(new)))):
        raise InputError(f"cannot go on: {told}", file=place, remedy=remedy)


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The first difference of two tables in words; nothing where there is none."""
    for name in {**old, **new}:
        before, now = old.get(name), new.get(name)
        title = name if name.startswith("--") else name.replace("_", " ")
        if isinstance(before, dict) and isinstance(now, dict):
            if before.get(KIND) != now.get(KIND):
                return f"{title} was {before.get(KIND)} and is now {now.get(KIND)}"
            if inner := _difference(before, now):
                return f"{title}: {inner}"
        elif _digests(before) != _digests(now):
            if _same_names(before, now):
                return f"{title} changed: {_changed(before, now)}".removesuffix(": ")
            return f"{title} was {_shown(before)} and is now {_shown(now)}"
    return ""


def _is_marks(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and [type(part) for part in one] == [str, str] for one in value
    )


def _digests(value: Any) -> Any:
    return [one for _, one in value] if _is_marks(value) else value


def _names(marks: Marks) -> list[str]:
    return [name for name, _ in marks]


def _same_names(before: Any, now: Any) -> bool:
    return _is_marks(before) and _is_marks(now) and _names(before) == _names(now)


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    return ", ".join(_names(value)) if _is_marks(value) else str(value)


def _changed(before: Any, now: Any) -> str:
    return ", ".join(name for (name, one), (_, other) in zip(now, before, strict=True) if one != other)
