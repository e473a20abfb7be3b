"""What holds for each page that the package writes: well formed, self-contained, made for small screens, too."""

import base64
import hashlib
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
        self.attributes: set[str] = set()
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value or "" for name, value in attrs if name == "id"]
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
    assert not {"iframe", "link", "object"} & checker.tags
    assert not {name for name in checker.attributes if name == "style" or name.startswith("on")}
    assert all(address.startswith(("#", "data:")) for address in checker.addresses)
    missing = {address[1:] for address in checker.addresses if address.startswith("#")} - set(checker.ids)
    assert not missing, f"links lead nowhere: {missing}"
    assert not re.search(r"@import|url\((?!#)", text)
    assert len(re.findall("<table>", text)) == len(re.findall('<div class="scroll"[^>]*><table>', text))
    _check_policy(text)
    return text


def _check_policy(text: str) -> None:
    """The policy must name the digests of the style and the script inside, and allow nothing else."""
    found = re.search('<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    assert found
    policy = found[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        inside = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inside]
        assert re.findall(rf"{name} 'sha256-([^']+)'", policy) == digests
