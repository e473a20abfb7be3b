"""Settings that users choose, and registries of things that users name.

A settings class is a frozen dataclass. An annotation holds the range and the help text of a field, so that Python, the
command line and configuration files check and describe it in the same way:

    @dataclass(frozen=True)
    class Beam(Settings):
        pop_limit: Annotated[int, Meta(ge=1, description="Hypotheses expanded for each stack.")] = 400

A registry knows things by name and imports them on first use. What it makes can be given as a name, a name with
settings ("beam:pop_limit=200"), an import path ("package.module:Name"), an object, or a callable.
"""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar, get_type_hints

import msgspec
from msgspec import Meta

from toledo.errors import InputError, UnknownNameError

__all__ = ["Meta", "Preset", "Registry", "Settings", "converted", "describe", "parse_named", "unknown_name"]

T = TypeVar("T")
Named: TypeAlias = str | T | Callable[..., Any]  # what `Registry.make` accepts


class Settings:
    """Base of frozen dataclasses whose fields users choose; checks the types and ranges of their annotations."""

    def __post_init__(self) -> None:
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        for name, value in _checked(type(self), values).items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Preset:
    """A registered thing with some settings already chosen, such as `aggregate-mbr`."""

    name: str
    settings: Mapping[str, Any]


class Registry(Generic[T]):
    """Things of one kind by name.

    `entries` maps names to import paths ("package.module:Name"), classes, functions or presets. Packages add entries
    with entry points of the group `toledo.KINDs`, users with `register`. `adapt` turns a callable into a thing.
    """

    def __init__(
        self, kind: str, entries: Mapping[str, str | Preset], *, adapt: Callable[[Callable[..., Any]], T] | None = None
    ) -> None:
        self.kind = kind
        self.group = f"toledo.{_plural(kind.replace(' ', '_'))}"
        self._entries: dict[str, Any] = dict(entries)
        self._owners = dict.fromkeys(entries, "toledo")
        self._adapt = adapt
        self._complete = False  # entry points are read when a name is first looked up

    def names(self) -> list[str]:
        """Return all registered names, those of Toledo first."""
        self._read_entry_points()
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return self._key(name) is not None

    def get(self, name: str) -> Any:
        """Return the class or function that is registered under a name."""
        entry = self._entry(name)
        return self.get(entry.name) if isinstance(entry, Preset) else _loaded(entry)

    def preset(self, name: str) -> Preset | None:
        """Return what a name is short for, or None if it is not an abbreviation."""
        entry = self._entry(name)
        return entry if isinstance(entry, Preset) else None

    def parse(self, text: str) -> tuple[str, dict[str, Any]]:
        """Split "name:key=value,…" into name and settings; in "name:value" it is the one setting that must be given."""
        name, settings = parse_named(text)
        head, colon, value = name.partition(":")
        if colon and head in self and isinstance(target := self.get(head), type):
            for key, (_, default, _) in describe(target).items():
                if default is inspect.Parameter.empty:
                    return head, {key: value, **settings}
        return name, settings

    def make(self, named: Named[T], **overrides: Any) -> T:
        """Return the thing that `named` stands for; `overrides` are additional settings."""
        if not isinstance(named, str):
            return self._made(named, overrides, self.kind)
        name, settings = self.parse(named)
        if ":" in name:
            return self._made(_loaded(name), {**settings, **overrides}, name)
        entry = self._entry(name)
        if isinstance(entry, Preset):
            return self.make(entry.name, **{**entry.settings, **settings, **overrides})
        return self._made(_loaded(entry), {**settings, **overrides}, name)

    def register(self, name: str, thing: Any = None) -> Any:
        """Register a class or function under a new name; without `thing`, return a decorator that does so."""
        if thing is None:
            return lambda thing: self.register(name, thing)
        if (taken := self._key(name)) is not None:
            raise InputError(f"{self.kind} {name!r} is registered by {self._owners[taken]}", remedy="use another name")
        self._entries[name], self._owners[name] = thing, getattr(thing, "__module__", "a user")
        return thing

    def _made(self, target: Any, settings: dict[str, Any], name: str) -> T:
        if isinstance(target, type):
            made: T = target(**converted(target, settings, f"{self.kind} {name!r}"))
            return made
        if settings:
            raise InputError(f"{self.kind} {name!r} has no settings", remedy=f"use {name!r} alone")
        if self._adapt is not None and callable(target) and not hasattr(target, "name"):  # a plain function
            return self._adapt(target)
        return target  # type: ignore[no-any-return]

    def _entry(self, name: str) -> Any:
        if (key := self._key(name)) is not None:
            return self._entries[key]
        raise unknown_name(self.kind, name, self.names(), remedy=f"toledo list {self.group.removeprefix('toledo.')}")

    def _key(self, name: str) -> str | None:
        plain_name = _plain(name)
        self._read_entry_points()
        return next((key for key in self._entries if _plain(key) == plain_name), None)

    def _read_entry_points(self) -> None:
        if self._complete:
            return
        self._complete = True
        from importlib.metadata import entry_points  # takes long to import

        for point in entry_points(group=self.group):
            if point.name not in self._entries:
                self._entries[point.name] = point.value
                self._owners[point.name] = point.dist.name if point.dist else point.value


def unknown_name(kind: str, name: str, known: list[str], remedy: str = "") -> UnknownNameError:
    """Return the error for a name that is not registered, with the nearest one that is."""
    close = difflib.get_close_matches(_plain(name), known, n=1, cutoff=0.5)
    hint = f": did you mean {close[0]!r}?" if close else ""
    listed = f"choose from {', '.join(known)}" + (f" ({remedy})" if remedy else "")
    return UnknownNameError(f"no {kind} {name!r}{hint}", remedy=listed)


def refuse_unused(settings: Any, why: str, *names: str) -> None:
    """Refuse fields of a settings object that differ from their defaults, since they would change nothing."""
    default = type(settings)()
    if given := [f"`{name}`" for name in names if getattr(settings, name) != getattr(default, name)]:
        remedy = f"leave {' and '.join(given)} out"
        raise InputError(f"{', '.join(given)}: {why}", argument=given[0].strip("`"), remedy=remedy)


def parse_named(text: str) -> tuple[str, dict[str, Any]]:
    """Split "name:key=value,…" into name and settings; "package.module:Name" has no settings and stays whole.

    Values are TOML, or bare words: `true`, `0.5`, `[4, 2, 1]`, `[move, reorder]`, `"with, comma"`, `none`.
    """
    name, colon, rest = text.partition(":")
    if colon and "=" not in rest:
        return text, {}
    if colon and "=" in rest and ":" in (head := rest.partition("=")[0]):
        path, _, key = head.rpartition(":")
        name, rest = f"{name}:{path}", key + rest[len(head) :]
    settings: dict[str, Any] = {}
    for part in _split_settings(rest):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{part.strip()!r} in {text!r} is not a setting", remedy=f"write {name}:key=value")
        settings[key.strip().replace("-", "_")] = _value(value.strip())
    return name.strip(), settings


def converted(target: type, settings: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Check settings against the annotations of a class and return them with the right types."""
    known = describe(target)
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of {what}", name, list(known))
    return _checked(target, settings, what)


def describe(target: type) -> dict[str, tuple[Any, Any, str]]:
    """Return type, default and help text of each setting of a class."""
    found = {}
    hints = _hints(target)
    for name, parameter in inspect.signature(target).parameters.items():
        hint = hints.get(name, Any)
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Meta)]
        help_text = next((note.description for note in notes if note.description), "")
        found[name] = (hint, parameter.default, help_text)
    return found


def _checked(target: type, values: Mapping[str, Any], what: str = "") -> dict[str, Any]:
    hints, checked = _hints(target), {}
    for name, value in values.items():
        if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:  # a NumPy number
            value = value.item()
        checked[name] = value
        if not (hint := hints.get(name)) or not _is_plain(value):
            continue
        try:
            checked[name] = _converted(value, hint)
        except msgspec.ValidationError as error:
            of = f" of {what}" if what else ""
            raise InputError(f"{name}{of} is {value!r}: {_in_words(str(error))}", argument=name) from None
        except TypeError:  # a type that msgspec does not know: the class checks it
            continue
    return checked


def _converted(value: Any, hint: Any) -> Any:
    """Check a value; the word `none` is None where no text is expected."""
    try:
        return msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError:
        if value == "none":
            with suppress(msgspec.ValidationError):
                return msgspec.convert(None, hint, strict=True)
        raise


def _in_words(message: str) -> str:
    """Turn msgspec's "Expected `int` >= 1" into "expected int of at least 1", and "| null" into "or none"."""
    message = message.replace("`", "").replace("Expected", "expected").replace(" | null", " or none")
    for sign, words in (" >= ", "of at least"), (" <= ", "of at most"), (" > ", "above"), (" < ", "below"):
        message = message.replace(sign, f" {words} ")
    return message.partition(" - at ")[0]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | tuple | dict)


@cache
def _hints(target: type) -> Mapping[str, Any]:
    try:
        return get_type_hints(target, include_extras=True) or get_type_hints(
            getattr(target, "__init__", None), include_extras=True
        )
    except NameError:  # an annotation whose type is imported for type checkers only
        return {}


def _loaded(entry: Any) -> Any:
    """Import "package.module:Name"; anything else is already there."""
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        remedy = "check the spelling; for a module in the current directory, set PYTHONPATH=."
        raise UnknownNameError(f"cannot import {entry!r}: {error}", remedy=remedy) from error
    return found


def _split_settings(text: str) -> Iterator[str]:
    """Split at commas outside quotes and brackets."""
    depth, quoted, start = 0, "", 0
    for place, character in enumerate(text):
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "\"'":
            quoted = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and not depth:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def _value(text: str) -> Any:
    if text.lower() == "none":
        return "none" if text != "None" else None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if text.startswith("[") and text.endswith("]"):
            return [_value(part.strip()) for part in _split_settings(text[1:-1])]
        return text


def _plural(noun: str) -> str:
    if noun.endswith(("ch", "sh", "s", "x")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
