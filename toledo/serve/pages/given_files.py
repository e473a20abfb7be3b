"""Files that were dropped on a page: what each of them is, which its name lets one guess and the reader can change."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toledo.serve.pages.asked import ViewRequest, lines_of
from toledo.view.controls import button, select
from toledo.view.markup import Markup, tag
from toledo.view.tables import Cell, table

GUESSES = {
    "reference": re.compile(r"(^|[^a-z])(ref|refs|reference|gold|trg|tgt|target)([^a-z]|$)", re.IGNORECASE),
    "source": re.compile(r"(^|[^a-z])(src|source)([^a-z]|$)", re.IGNORECASE),
}


def guess(name: str) -> str:
    """Return what a file is, as its name lets one guess."""
    return next((role for role, pattern in GUESSES.items() if pattern.search(name)), "system")


def roles_of(asked: ViewRequest, roles: Mapping[str, str]) -> dict[str, str]:
    """Return what each file is."""
    first = next(iter(roles))
    return {
        one.name: asked.one_of(f"role.{one.name}", {**roles}, found if (found := guess(one.name)) in roles else first)
        for one in asked.files
    }


def file_table(asked: ViewRequest, roles: Mapping[str, str]) -> Markup:
    """Return the files with what each of them is, and a way to add some."""
    chosen = roles_of(asked, roles)
    rows: list[list[Cell]] = [
        [one.name, len(lines_of(one.text)), _role(one.name, roles, chosen[one.name])] for one in asked.files
    ]
    field = tag("input", type="file", multiple=True, aria_label="Add files")
    add = tag("label", "Add files", field, class_="button main" if not rows else "button")
    clear = button("Clear", "quiet", data_do="clear") if rows else None
    note = tag("span", "plain text, a segment on each line; or drop files anywhere", class_="note")
    found = table(["file", "lines", "what it is"], rows, description="files") if rows else None
    return tag("div", found, tag("div", add, clear, note, class_="row"), class_="stack")


def _role(name: str, roles: Mapping[str, str], chosen: str) -> Markup:
    return select(f"role.{name}", roles, chosen, "", data_fresh=True, aria_label=f"what {name} is")
