"""What holds for each page that the package writes: well formed, self-contained, made for small screens, too."""

import re
from html.parser import HTMLParser
from pathlib import Path

EMPTY = {"meta", "link", "br", "img", "hr", "input"}


class _Checker(HTMLParser):
    """Keeps the open tags, and all addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def check_page(path: Path) -> str:
    """The text of a page, if it is one that can be read anywhere."""
    text = path.read_text(encoding="utf-8")
    checker = _Checker()
    checker.feed(text)
    checker.close()
    assert not checker.open
    assert text.startswith("<!doctype html>")
    assert '<meta name="viewport" content="width=device-width' in text
    assert not {"script", "iframe", "link", "object"} & checker.tags
    assert all(address.startswith(("#", "data:")) for address in checker.addresses)
    assert not re.search(r"@import|url\((?!#)", text)
    assert len(re.findall("<table>", text)) == len(re.findall('<div class="wide"[^>]*><table>', text))
    return text
