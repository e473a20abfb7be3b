"""One self-contained HTML page: its style is inside, a policy forbids everything else, and it needs no network.

A page is a title, then headings and parts in order. Parts are markup from `toledo.view`: cards, tables, plots, texts.
Light and dark, a phone and a wide screen, and paper are in the style sheet. The same parts always give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from toledo.files import atomic_writer
from toledo.view.markup import Child, Markup, join, tag

Theme = Literal["", "light", "dark"]  # "" leaves it to the reader's system


@dataclass(repr=False)
class Page:
    """A page to which parts are added in order; notebooks show it.

    `note` is a line below the title. `script` is the text of one inline script, for pages that can be searched or
    sorted; the page has to be readable without it. `theme` is for pictures of pages; readers have their own. `style` is
    added to that of all pages.
    """

    title: str
    note: str = ""
    script: str = ""
    theme: Theme = ""
    style: str = ""
    headings: list[str] = field(default_factory=list, init=False)
    _parts: list[Markup] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {len(self.headings)} headings)"

    def heading(self, text: str, note: Child = None) -> None:
        """Add a heading above cards, with a line below it; a list of contents links to all headings."""
        self.headings.append(text)
        below = tag("p", note, class_="note") if note else None
        self._parts.append(tag("div", tag("h2", text, id=f"part-{len(self.headings)}"), below, class_="part"))

    def add(self, *parts: Child) -> None:
        """Add parts, one below the other."""
        self._parts += [join(part) for part in parts if part is not None]

    @property
    def html(self) -> str:
        """Return the whole page; a page with several headings begins with a list of contents."""
        head = tag("header", tag("h1", self.title), tag("p", self.note, class_="note") if self.note else None)
        contents = _contents(self.headings) if len(self.headings) > 1 else None
        body = tag("main", "\n", [(part, "\n") for part in (head, contents, *self._parts) if part is not None])
        script = Markup(f"\n<script>{self.script}</script>") if self.script else None
        theme = f' data-theme="{self.theme}"' if self.theme else ""
        return (
            f'<!doctype html>\n<html lang="en"{theme}>\n<head>\n<meta charset="utf-8">\n'
            f"{tag('meta', http_equiv='Content-Security-Policy', content=self.policy)}\n"
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"{tag('title', self.title)}\n<style>{self._style}</style>\n</head>\n"
            f"{tag('body', body, script)}\n</html>\n"
        )

    @property
    def _style(self) -> str:
        return style_sheet() + self.style

    @property
    def policy(self) -> str:
        """Return the policy of the page, for servers that send it as a header, too."""
        return _policy(self.script, self._style)

    def save(self, path: str | Path) -> None:
        """Write the page atomically."""
        with atomic_writer(path) as stream:
            stream.write(self.html)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame, so that its style stays its own."""
        return tag("iframe", srcdoc=self.html, width="100%", height=600)


def card(
    heading: str, *parts: Child, note: Child = None, level: int = 3, fold: bool = False, **attributes: str | bool | None
) -> Markup:
    """Return a card: a heading, a note beside it, and parts below.

    `level` is 2 on a page without headings of its own. A card that is to `fold` is closed at first, unless it is given
    `open`.
    """
    body = tag("div", *parts, class_="body")
    beside = tag("span", note, class_="note") if note else None
    if fold:
        return tag("details", tag("summary", heading, " ", beside), body, class_="card", **attributes)
    return tag("section", tag("header", tag(f"h{level}", heading), beside), body, class_="card", **attributes)


def columns(*parts: Markup) -> Markup:
    """Return two or three cards or other parts side by side, one below the other on narrow screens."""
    return tag("div", *parts, class_=f"columns-{min(len(parts), 3)}")


def paragraph(*text: Child, class_: str | None = None) -> Markup:
    """Return a paragraph; `class_="note"` makes it small and gray."""
    return tag("p", *text, class_=class_)


@cache
def style_sheet() -> str:
    """Return the style of pages and of the drawings on them."""
    folder = files("toledo.view")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("workbench.css", "drawings.css"))


def _policy(script: str, style: str) -> str:
    """Return a policy under which a browser applies our style and script, known by their digests, and nothing else."""
    scripts = f"script-src {_digest(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_digest(style)}; {scripts}img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _contents(headings: list[str]) -> Markup:
    links = [tag("li", tag("a", text, href=f"#part-{number}")) for number, text in enumerate(headings, start=1)]
    return tag("nav", tag("ul", links), aria_label="Contents", class_="contents")
