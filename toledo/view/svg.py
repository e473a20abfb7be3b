"""What drawings share: the frame of a picture, the width of letters, and pictures as files of their own."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from toledo.view.markup import Child, Markup, tag, visible

LETTER, WIDE_LETTER = 0.6, 1.0  # of the size of letters, as wide fonts need it
SIZE = 12.0  # of letters in drawings
TITLE, MARGIN = 26, 12  # height of a title, and margin of a file
TOKEN = re.compile(r"--([\w-]+): ([^;]+);")
LIGHT = re.compile(r"light-dark\(([^,]+), [^)]+\)")
USE = re.compile(r"var\(--([\w-]+)\)")


class Drawing(Markup):
    """An SVG element that knows its size."""

    width: float
    height: float


def drawing(
    width: float, height: float, description: str, *parts: Child, class_: str = "drawing", role: str = "img"
) -> Drawing:
    """Return an SVG element of that size in pixels, whose colors are classes of the style sheet.

    One with links in it is a `group`, not an image, so that the links can be reached without a mouse.
    """
    width, height = math.ceil(width), math.ceil(height)
    found = Drawing(
        tag(
            "svg", *parts, class_=class_, width=width, height=height, viewBox=f"0 0 {width} {height}", role=role,
            aria_label=description,
        )
    )  # fmt: skip
    found.width, found.height = width, height
    return found


def label(text: Child, x: float, y: float, class_: str | None = None, title: str = "") -> Markup:
    """Return text at a place; classes `end`, `middle` and `strong` say how it is set."""
    return tag("text", text, tag("title", title) if title else None, x=x, y=y, class_=class_)


def signed_bar(share: float, width: int = 100, height: int = 12) -> Markup:
    """Return a small bar from zero in the middle, to the left for losses and to the right for gains, at most half."""
    middle = width / 2
    size = (middle - 2) * min(abs(share), 1.0)
    kind, x = ("less", middle - size) if share < 0 else ("more", middle)
    return tag(
        "svg", tag("rect", x=x, y=1, width=size, height=height - 2, class_=kind),
        tag("line", x1=middle, x2=middle, y1=0, y2=height, class_="zero"), width=width, height=height,
        viewBox=f"0 0 {width} {height}", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate how wide a text is in a drawing, with marks for what cannot be seen."""
    text = visible(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (LETTER * (len(text) - wide) + WIDE_LETTER * wide)


def shortened(text: str, room: float, size: float = SIZE) -> str:
    """Return text that fits into some room, with … where it was cut."""
    text = visible(text)
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def grid(rows: Sequence[Sequence[tuple[str, Drawing]]], description: str, gap: float = 24.0) -> Drawing:
    """Return drawings in rows as one drawing, each below its title."""
    parts, top, width = [], 0.0, 0.0
    for row in rows:
        left = 0.0
        for title, one in row:
            parts.append(label(title, left, top + 14, "strong title"))
            parts.append(tag("g", one, transform=f"translate({left:.0f},{top + TITLE:.0f})"))
            left += one.width + gap
        width, top = max(width, left - gap), top + TITLE + max(one.height for _, one in row) + gap
    return drawing(width, top - gap, description, *parts)


def svg_file(picture: Drawing) -> str:
    """Return a drawing as the content of an .svg file.

    Its style is inside, in light colors that every viewer knows, and it has a ground, so that it is readable on dark
    pages too.
    """
    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    paper = tag("rect", width=width, height=height, rx=8, class_="paper")
    inside = tag("g", picture, transform=f"translate({MARGIN},{MARGIN})")
    style = Markup(f"\n<style>{_plain_style()}</style>\n")
    found = tag(
        "svg", style, paper, "\n", inside, "\n", xmlns="http://www.w3.org/2000/svg", width=width, height=height,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
    )  # fmt: skip
    return f"{found}\n"


@cache
def _plain_style() -> str:
    """Return the style of drawings with light colors in place of tokens, which few viewers of SVG understand."""
    folder = files("toledo.view")
    page, drawings = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("workbench.css", "drawings.css"))
    tokens = {name: LIGHT.sub(r"\1", value) for name, value in TOKEN.findall(page)}
    return USE.sub(lambda found: tokens[found[1]], drawings)
