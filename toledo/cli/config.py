"""Options from a TOML file with a table for each command, and back."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import tomli_w
from cyclopts.config import Dict

from toledo.cli.options import Common, option_name
from toledo.errors import InputError
from toledo.files import read_toml

NOT_SAVED = {one.name for one in fields(Common)}


def reader(tokens: Sequence[str]) -> list[Any]:
    """Return what supplies the options of `--config FILE`; options on the command line take precedence."""
    path = _path(tokens)
    if path is None:
        return []
    content = read_toml(path, "write lines such as seed = 1")
    return [Dict(_with_hyphens(content), source=str(path), use_commands_as_keys=True)]


def to_toml(command: Sequence[str], bound: inspect.BoundArguments) -> str:
    """Return the options of a run as a table, named by the words of the command, that --config reads."""
    values: dict[str, Any] = {}
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if is_dataclass(value) and not isinstance(value, type):
            own = {one.name: option_name(one.name, one.default).removeprefix("--") for one in fields(value)}
            values |= {option: getattr(value, name) for name, option in own.items() if name not in NOT_SAVED}
        else:
            values[name] = value
    table: Any = {name: _plain(value) for name, value in values.items() if value is not None}
    for word in reversed(command):
        table = {word: table}
    return tomli_w.dumps(_with_hyphens(table))


def _path(tokens: Sequence[str]) -> Path | None:
    for place, word in enumerate(tokens):
        if word == "--config":
            if place + 1 == len(tokens):
                raise InputError("--config needs a file", remedy="write --config FILE")
            return Path(tokens[place + 1])
        if word.startswith("--config="):
            return Path(word.partition("=")[2])
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _with_hyphens(table: Any) -> Any:
    if not isinstance(table, dict):
        return table
    return {name.replace("_", "-"): _with_hyphens(value) for name, value in table.items()}
