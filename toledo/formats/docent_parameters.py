"""Parameters of an element of a Docent configuration: `<p name="max-steps">100</p>`, each asked for by name."""

from __future__ import annotations

import math
from pathlib import Path

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.markup import Element


class Parameters:
    """The parameters of one element; those that nobody asked for can be told at the end."""

    def __init__(self, element: Element, file: str | Path) -> None:
        self._element, self._file = element, file
        self._asked: set[str] = set()
        self.values: dict[str, str] = {}
        for one in element.all("p"):
            name = one.attributes.get("name", "")
            if not name or name in self.values:
                raise self.error(f"<p> {'without a name' if not name else f'{name} twice'}", "name each one, once")
            self.values[name] = one.text

    def text(self, name: str, default: str | None = None) -> str:
        """A parameter as it is."""
        self._asked.add(name)
        found = self.values.get(name, default)
        if found is None:
            raise self.error(f"no parameter {name}", f'write <p name="{name}">…</p>')
        return found

    def number(self, name: str) -> float:
        """A parameter that is a number."""
        return self.finite(self.text(name), name)

    def whole(self, name: str, default: int | None = None) -> int:
        """A parameter that is a whole number from 0 up."""
        text = self.text(name, None if default is None else str(default))
        if not (text.isascii() and text.isdigit()):
            raise self.error(f"{name} is {text!r}", "write a whole number")
        return int(text)

    def attribute(self, name: str) -> str:
        """An attribute of the element, which must be there."""
        if not self._element.attributes.get(name):
            raise self.error(f"<{self._element.name}> without {name}", f'write <{self._element.name} {name}="…">')
        return self._element.attributes[name]

    def finite(self, text: str, what: str) -> float:
        """A finite number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{what} is {text!r}", "write a finite number")
        return value

    def unused(self, what: str) -> list[str]:
        """A note on each parameter that nobody asked for."""
        return [f"{what}: {name} is not used" for name in self.values if name not in self._asked]

    def error(self, message: str, remedy: str) -> InputError:
        """An error at the element."""
        return InputError(message, file=display_name(self._file), line=self._element.line, remedy=remedy)
