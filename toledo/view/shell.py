"""The frame of pages that a server gives: the bar with all pages, the title, and places that the server fills.

Style and scripts are files beside the page. It holds no text of the reader's: what it shows is asked for by its script,
which knows the token, and put in by the ids of parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toledo.view.controls import button
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.states import Alert, alert

PAGES = {
    "translate": "Translate", "choose": "Choose", "combine": "Combine", "documents": "Documents",
    "compare": "Compare", "runs": "Runs",
}  # fmt: skip
KEYS = {
    "?": "all keys", "/": "search", "j": "next", "k": "previous", "1 … 6": "pages", "t": "light or dark", "e": "export",
    "Esc": "close or stop", "Ctrl Enter": "go",
}  # fmt: skip
PROBLEMS = {
    "offline": Alert("The server does not answer", "Is it still running? What you gave is kept; try again."),
    "token": Alert("A token is needed", "Open the address that the server printed, with #token=… at its end."),
    "busy": Alert("The server is busy", "Too many requests are waiting. Try again in a moment."),
}
LOGO = "M2 5h5c4 0 3 5 6 5h5M2 15h5c4 0 3-5 6-5M2 10h4"


@dataclass(frozen=True)
class Shell:
    """A page of the server: its key in `PAGES` and a line below its title.

    `actions` are link and export; a page that is to `ask` has something to show before anything was given. `ready` says
    whether the server can answer yet.
    """

    page: str
    note: str = ""
    actions: bool = True
    title: str = ""
    ask: bool = False
    ready: bool = True

    def html(self, *parts: Child) -> str:
        """Return the whole page around its first parts."""
        title = self.title or PAGES[self.page]
        head = join(
            Markup('<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
            tag("title", f"{title} · Toledo"),
            Markup('\n<link rel="icon" href="data:,">\n'),
            *(tag("link", rel="stylesheet", href=f"/static/{name}.css") for name in ("workbench", "drawings", "pages")),
            tag("script", src="/static/theme.js"),
            tag("script", src="/static/main.js", type="module"),
        )
        body = tag(
            "body",
            tag("a", "To the content", href="#main", class_="skip"),
            bar(self.page, self.ready),
            tag("main", self._head(title), *parts, id="main", data_ask=self.ask),
            _keys(),
            [tag("template", alert(one), id=f"{name}-problem") for name, one in PROBLEMS.items()],
            data_page=self.page or "help",
        )
        return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n{body}\n</html>\n'

    def _head(self, title: str) -> Markup:
        actions = [
            button("Copy link", data_do="link"),
            button("Export…", data_do="export", data_key="e", title="Save what is shown (e)"),
        ]
        return tag(
            "div",
            tag("div", tag("h1", title), tag("p", self.note, class_="note", id="about")),
            tag("div", *actions, class_="row") if self.actions else None,
            tag("output", id="message", class_="note"),
            class_="head",
        )


def bar(current: str, ready: bool = True, pages: Mapping[str, str] = PAGES) -> Markup:
    """Return the bar with the name, all pages, and the theme; the current page is marked."""
    logo = tag("svg", tag("path", d=LOGO), viewBox="0 0 20 20", width=18, height=18, aria_hidden="true", class_="logo")
    links = [
        tag("a", name, href=f"/{page}", aria_current="page" if page == current else None, data_key=str(number))
        for number, (page, name) in enumerate(pages.items(), start=1)
    ]
    theme = button("Theme", "quiet", data_do="theme", data_key="t", title="Light or dark (t)")
    return tag(
        "header",
        tag(
            "div",
            tag("a", logo, "Toledo", href="/", class_="name"),
            tag("nav", links, aria_label="Pages"),
            tag("div", readiness(ready), theme, class_="tools"),
        ),
        class_="top",
    )


def readiness(ready: bool) -> Markup:
    """Return whether the server can answer; while it cannot, the page asks again."""
    if ready:
        return tag("span", "ready", id="ready", class_="ready")
    return tag("span", "getting ready", id="ready", class_="ready not", data_wait=True)


def _keys() -> Markup:
    """Return all keys, which ? opens."""
    rows = [(tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in KEYS.items()]
    close = button("Close", data_do="close")
    return tag("dialog", tag("h2", "Keys"), tag("dl", rows), close, id="keys", aria_label="Keys")
