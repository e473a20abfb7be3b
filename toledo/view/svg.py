"""What drawings share: the frame of a picture, the width of letters, and pictures as files of their own."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate

from toledo.view.markup import Child, Markup, tag

LETTER, WIDE_LETTER = 0.6, 1.0  # of the size of letters, as wide fonts need it
SIZE = 12.0  # of letters in drawings
TOKEN = re.compile(r"--([\w-]+): ([^;]+);")
LIGHT = re.compile(r"light-dark\(([^,]+), [^)]+\)")
USE = re.compile(r"var\(--([\w-]+)\)")


class Drawing(Markup):
    """An SVG element that knows its size."""

    width: float
    height: float


def drawing(width: float, height: float, description: str, *parts: Child, class_: str = "drawing") -> Drawing:
    """Return an SVG element of that size in pixels, whose colours are classes of the style sheet."""
    width, height = math.ceil(width), math.ceil(height)
    found = Drawing(
        tag(
            "svg", *parts, class_=class_, width=width, height=height, viewBox=f"0 0 {width} {height}", role="img",
            aria_label=description,
        )
    )  # fmt: skip
    found.width, found.height = width, height
    return found


def label(text: Child, x: float, y: float, class_: str | None = None, title: str = "") -> Markup:
    """Return text at a place; classes `end`, `middle` and `strong` say how it is set."""
    return tag("text", text, tag("title", title) if title else None, x=x, y=y, class_=class_)


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate how wide a text is in a drawing."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (LETTER * (len(text) - wide) + WIDE_LETTER * wide)


def shortened(text: str, room: float, size: float = SIZE) -> str:
    """Return text that fits into some room, with … where it was cut."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def below(drawings: Sequence[Drawing], description: str, gap: float = 24.0) -> Drawing:
    """Return drawings one below the other as one."""
    tops = list(accumulate((one.height + gap for one in drawings), initial=0.0))
    parts = [tag("g", one, transform=f"translate(0,{top:.0f})") for one, top in zip(drawings, tops, strict=False)]
    return drawing(max(one.width for one in drawings), tops[-1] - gap, description, *parts)


def svg_file(picture: Drawing, *, background: bool = True) -> str:
    """Return a drawing as the content of an .svg file, with its style inside, in light colours that every viewer knows.

    With `background` it is readable on dark pages too.
    """
    opening, _, rest = picture.partition(">")
    paper = tag("rect", width="100%", height="100%", class_="paper") if background else ""
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{opening}>\n<style>{_plain_style()}</style>\n{paper}{rest}\n"


@cache
def _plain_style() -> str:
    """Return the style of drawings with light colours in place of tokens, which few viewers of SVG understand."""
    folder = files("toledo.view")
    page, drawings = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("workbench.css", "drawings.css"))
    tokens = {name: LIGHT.sub(r"\1", value) for name, value in TOKEN.findall(page)}
    return USE.sub(lambda found: tokens[found[1]], drawings)
