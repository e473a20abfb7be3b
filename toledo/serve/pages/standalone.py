"""Pages to keep: what is shown now, as one file that needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from toledo.serve.pages.asked import View
from toledo.view.markup import Markup
from toledo.view.page import Page

CONTROLS = "\n.button, .choices, select, textarea, input, .chip { display: none !important; }\n"


def standalone(title: str, note: str, parts: Sequence[Markup]) -> View:
    """Return the parts of a page as a file, with its style inside and without controls."""
    style = files("toledo.view").joinpath("pages.css").read_text(encoding="utf-8") + CONTROLS
    page = Page(title, note, style=style)
    page.add(*(part for part in parts if " hidden" not in part.partition(">")[0]))
    return View(content=page.html, name=f"{title.lower()}.html")
