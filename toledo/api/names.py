"""Things by name: list what is registered, get it, and register more."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from typing import Any, TypeVar

from toledo.results import Result, TableResult, table
from toledo.settings import Registry, describe, unknown_name

T = TypeVar("T")

REGISTRIES = {
    "metrics": "toledo.metrics.registry:METRICS",
    "utilities": "toledo.consensus.gains:GAINS",
    "rules": "toledo.consensus.registry:RULES",
    "objectives": "toledo.tuning.settings:TUNERS",
    "searches": "toledo.search.settings:SEARCHES",
    "document-models": "toledo.search.document.models.model:MODELS",
    "aligners": "toledo.phrases.settings:ALIGNERS",
    "tokenizers": "toledo.text.tokenizers:TOKENIZERS",
    "formats": "toledo.formats.forest_files:FORMATS",
}


@dataclass(frozen=True)
class NameSetting(Result):
    """A setting of something that is registered, with its default (None if it must be given) and help text."""

    name: str
    default: Any
    help: str


@dataclass(frozen=True)
class RegisteredName(Result):
    """A name with what it stands for and its settings."""

    name: str
    help: str
    settings: tuple[NameSetting, ...] = ()


@dataclass(frozen=True)
class NameTable(TableResult):
    """All names of a kind."""

    kind: str
    names: tuple[RegisteredName, ...]

    def __str__(self) -> str:
        lines = []
        for one in self.names:
            lines.append(f"{one.name}: {one.help}" if one.help else one.name)
            rows = [[f"  {item.name}", _shown(item.default), item.help] for item in one.settings]
            lines += table(rows, left=[0, 1, 2]) if rows else []
        return "\n".join(lines)

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each name and setting."""
        return [
            {"name": one.name, "setting": item.name, "default": item.default, "help": item.help}
            for one in self.names
            for item in one.settings or (NameSetting("", None, one.help),)
        ]


class Registration:
    """Decorators that register classes or functions: `@register.metric("word-f")`.

    A utility is a function (hypotheses, references, sources) -> scores; it is a metric, too.
    """

    def metric(self, name: str) -> Callable[[T], T]:
        """Register a metric: a class, or a function that scores texts."""
        return _registered(REGISTRIES["metrics"], name)

    def utility(self, name: str) -> Callable[[T], T]:
        """Register a function that scores texts, as `metric` does."""
        return self.metric(name)

    def rule(self, name: str) -> Callable[[T], T]:
        """Register a decision rule."""
        return _registered(REGISTRIES["rules"], name)

    def objective(self, name: str) -> Callable[[T], T]:
        """Register an objective of gradient tuning."""
        return _registered("toledo.objectives.registry:OBJECTIVES", name)

    def tuner(self, name: str) -> Callable[[T], T]:
        """Register a tuner, which `objective` names, too."""
        return _registered(REGISTRIES["objectives"], name)

    def search(self, name: str) -> Callable[[T], T]:
        """Register a search."""
        return _registered(REGISTRIES["searches"], name)

    def document_model(self, name: str) -> Callable[[T], T]:
        """Register a document model."""
        return _registered(REGISTRIES["document-models"], name)

    def aligner(self, name: str) -> Callable[[T], T]:
        """Register the settings of an aligner."""
        return _registered(REGISTRIES["aligners"], name)

    def tokenizer(self, name: str) -> Callable[[T], T]:
        """Register a tokenizer of raw text."""
        return _registered(REGISTRIES["tokenizers"], name)


register = Registration()


def names(kind: str) -> list[str]:
    """Return all names of a kind, such as metrics, rules, objectives, searches, aligners, tokenizers or formats."""
    registry = _registry(kind)
    return registry.names() if isinstance(registry, Registry) else list(registry)


def get(kind: str, name: str) -> Any:
    """Return the class or function that is registered under a name."""
    registry = _registry(kind)
    if isinstance(registry, Registry):
        return registry.get(name)
    if name not in registry:
        raise unknown_name("format", name, list(registry))
    return registry[name]


def list_names(kind: str | None = None) -> NameTable:
    """Return the names of a kind, such as "metrics", with their settings, defaults and help texts; or all kinds."""
    if kind is None:
        return NameTable("kinds", tuple(RegisteredName(one, f"{', '.join(names(one))}.") for one in REGISTRIES))
    key, registry = _kind(kind), _registry(kind)
    if not isinstance(registry, Registry):  # formats
        return NameTable(key, tuple(RegisteredName(name, form.description) for name, form in registry.items()))
    return NameTable(key, tuple(_described(registry, name) for name in registry.names()))


def _kind(kind: str) -> str:
    key = kind.lower().replace("_", "-")
    if key not in REGISTRIES:
        raise unknown_name("kind of names", kind, list(REGISTRIES))
    return key


def _registry(kind: str) -> Any:
    return _variable(REGISTRIES[_kind(kind)])


def _variable(path: str) -> Any:
    module, _, variable = path.partition(":")
    return getattr(import_module(module), variable)


def _registered(path: str, name: str) -> Callable[[T], T]:
    return lambda thing: _variable(path).register(name, thing)


def _described(registry: Registry[Any], name: str) -> RegisteredName:
    if (preset := registry.preset(name)) is not None:
        chosen = ",".join(f"{key}={_shown(value)}" for key, value in preset.settings.items())
        base = preset.name.rpartition(":")[2].lower()  # of an import path, the class
        return RegisteredName(name, f"The same as {base}{':' if chosen else ''}{chosen}.")
    target = registry.get(name)
    settings = describe(target) if isinstance(target, type) else {}
    return RegisteredName(
        name,
        (inspect.getdoc(target) or "").split("\n")[0],
        tuple(
            NameSetting(key, None if default is inspect.Parameter.empty else default, help_text)
            for key, (_, default, help_text) in settings.items()
            if not is_dataclass(default) and not hasattr(default, "_fields")
        ),
    )


def _shown(value: Any) -> str:
    if isinstance(value, frozenset | tuple):
        return str(sorted(value) if isinstance(value, frozenset) else list(value))
    return "–" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
