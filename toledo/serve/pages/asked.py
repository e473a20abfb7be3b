"""What a page asks and what it gets: choices of the address, texts, files, and parts of the page as HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, field

from toledo.serve.types import Answer, Ask
from toledo.serve.work_types import AboutResult
from toledo.view.markup import Child, join

LARGEST, POWERS = 1e9, 6.0


class NamedText(Ask, frozen=True, kw_only=True):
    """A file that was dropped."""

    name: Annotated[str, Meta(max_length=300)]
    text: str


class ViewRequest(Ask, frozen=True, kw_only=True):
    """The state of a page.

    `choices` are in its address; `texts` and `files` were given by the reader; `kept` are ids of what the server keeps
    for it. `quick` asks for what changes while a slider moves, `first` for a block of a long list, `save` for a file.
    """

    choices: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    files: list[NamedText] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    width: Annotated[int, Meta(ge=200, le=4000)] = 720
    quick: bool = False
    fresh: bool = False
    first: Annotated[int, Meta(ge=0)] | None = None
    save: str = ""

    def text(self, name: str, default: str = "") -> str:
        """Return a choice."""
        return self.choices.get(name, default)

    def one_of(self, name: str, allowed: Mapping[str, Any] | list[str], default: str) -> str:
        """Return a choice that is one of several."""
        found = self.choices.get(name, default)
        return found if found in allowed else default

    def number(self, name: str) -> float | None:
        """Return a choice that is a number, if it is one."""
        try:
            value = float(self.choices[name])
        except (KeyError, ValueError):
            return None
        return value if math.isfinite(value) and abs(value) <= LARGEST else None

    def power_of_ten(self, name: str) -> float | None:
        """Return ten to the power of a choice that is a number."""
        value = self.number(name)
        return None if value is None else 10.0 ** min(max(value, -POWERS), POWERS)

    def place(self, name: str, size: int, default: int = 0) -> int:
        """Return a choice that is a place among so many things."""
        value = self.number(name)
        return default if value is None else min(max(int(value), 0), max(size - 1, 0))

    def numbers(self, prefix: str) -> dict[str, float]:
        """Return all choices that begin with a prefix, without it, and are numbers."""
        found = {name.removeprefix(prefix): self.number(name) for name in self.choices if name.startswith(prefix)}
        return {name: value for name, value in found.items() if value is not None}

    def lines(self, name: str) -> list[str]:
        """Return the lines of a text, or of the only file, that are not empty."""
        text = self.texts.get(name, "") or (self.files[0].text if len(self.files) == 1 else "")
        return [line for line in lines_of(text) if line.strip()]


def lines_of(text: str) -> list[str]:
    """Return the lines of a file as all readers of Toledo see them: other separators of Unicode are part of a line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


class View(Answer, frozen=True, kw_only=True):
    """Parts of a page, or a file to save under `name`."""

    content: str
    name: str = ""
    media: str = "text/html; charset=utf-8"


def parts(*children: Child) -> View:
    """Return parts of a page."""
    return View(content=join(*children))


def tsv(name: str, rows: list[list[Any]]) -> View:
    """Return a table as a file; tabs and line ends inside of cells are blanks."""
    lines = ("\t".join(" ".join(str(cell).split()) for cell in row) for row in rows)
    return View(content="".join(f"{line}\n" for line in lines), name=name, media="text/tab-separated-values")


def known_model(about: AboutResult, name: str) -> str | None:
    """Return the name of a model that is served, or None for the first."""
    return name if name in {one.name for one in about.models} else None
