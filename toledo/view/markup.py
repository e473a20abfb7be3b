"""HTML and SVG as strings: the only place that escapes text.

`tag("p", "a < b", class_="note")` is `<p class="note">a &lt; b</p>`. Whatever is not `Markup` is escaped, and what a
reader could not see is shown as a mark: a page never hides or reorders what is in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

EMPTY_IN_HTML = frozenset(("br", "col", "hr", "img", "input", "link", "meta", "wbr"))
SHAPES = frozenset(("circle", "line", "path", "polyline", "rect", "use"))
# Control characters but tab and line end, bidirectional embeddings, overrides and isolates, and non-characters.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
CONTROL_PICTURES = 0x2400


class Markup(str):
    """HTML or SVG that is inserted as it is; made by `tag` and `join`, or from text that is known to be safe."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Iterable[Child] | None"


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    `children` are markup, text, numbers, and lists of these; None is left out. In names of attributes a final
    underscore is dropped and others become hyphens (`class_`, `aria_label`); attributes that are None or False are left
    out. `style` attributes and event handlers are refused, since the policy of our pages forbids them.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    content = join(*children)
    if name in EMPTY_IN_HTML:
        return Markup(f"<{name}{given}>")
    if name in SHAPES and not content:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{content}</{name}>")


def join(*children: Child, between: str = "") -> Markup:
    """Return children one after the other, as `tag` takes them."""
    return Markup(escape(between).join(_pieces(children)))


def visible(text: str) -> str:
    """Return text with marks for characters that cannot be seen: ␛ for escape, ⟨U+202E⟩ for an override."""
    return UNSEEN.sub(_mark, text)


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str):
            yield escape(visible(child))
        elif isinstance(child, int | float):
            yield _number(child)
        elif child is not None:
            yield from _pieces(child)


def _attribute(key: str, value: str | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if name == "style" or name.startswith("on"):
        raise ValueError(f"the policy of pages forbids the attribute {name}: use a class")
    if value is False:
        return ""
    text = "" if value is True else escape(visible(value)) if isinstance(value, str) else _number(value)
    return f' {name}="{text}"'


def _number(value: float) -> str:
    """Return a number with at most two decimals, as coordinates have them."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(CONTROL_PICTURES + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
