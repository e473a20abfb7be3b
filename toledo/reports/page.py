"""One self-contained HTML page: headings, paragraphs, tables, bars, plots as inline SVG; no scripts, no network.

A page is as wide as the screen; wider tables and pictures can be scrolled.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from toledo.files import atomic_writer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.2rem; line-height: 1.3; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .3rem; }
.small { font-size: .8rem; color: #555; margin: .2rem 0; overflow-wrap: anywhere; }
/* A shadow marks an edge beyond which there is more; white covers it elsewhere. */
.wide { overflow-x: auto; max-width: 100%; margin: 1rem 0; background:
  linear-gradient(to right, #fff 40%, #fff0) 0 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to left, #fff 40%, #fff0) 100% 0 / 2.5rem 100% no-repeat local,
  linear-gradient(to right, #0004, #0000) 0 0 / .8rem 100% no-repeat scroll,
  linear-gradient(to left, #0004, #0000) 100% 0 / .8rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; vertical-align: bottom; } .number { text-align: right; }
td.number { white-space: nowrap; } td.long { min-width: 12rem; }
td:first-child:not(.number) { min-width: 6.5rem; }
.beside { display: inline-block; min-width: 3.6rem; padding-left: .5rem; text-align: left; font-size: .8rem;
  font-weight: normal; color: #555; }
svg { max-width: 100%; height: auto; } .wide > svg { display: block; mix-blend-mode: multiply; }
code { background: #f3f3f3; padding: .1rem .3rem; }
/* A picture that is wider than the text may use the margins of the page. */
.picture { position: relative; left: 50%; transform: translateX(-50%); width: max-content; min-width: 100%;
  max-width: calc(100vw - 3rem); }
.bars { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr; gap: .35rem .8rem; margin: 1rem 0; }
.bars .track { display: flex; align-items: center; gap: .5rem; min-width: 0; }
.bars .bar { background: #2f6db5; height: 1.1rem; border-radius: 2px; flex: none; }
.bars .best { background: #b5462f; }
.bars .amount { font-variant-numeric: tabular-nums; white-space: nowrap; }
nav ul { margin: .3rem 0; padding-left: 1.2rem; columns: 16rem; column-gap: 2.5rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } h1 { font-size: 1.4rem; } th, td { padding: .3rem .2rem; }
  table { font-size: .9rem; } td:first-child:not(.number) { min-width: 5rem; }
  .beside { display: block; min-width: 0; padding: 0; text-align: right; }
  .wide > svg { max-width: none; }
  .bars { grid-template-columns: 1fr; gap: 0; } .bars .track { margin-bottom: .5rem; }
}
"""
BAR_ROOM = 82  # per cent of the width, so that the number fits beside the longest bar
LONG = 24  # characters of a text that should not break after every word
WIDTH, SMALLEST = re.compile(r'width="([0-9.]+)"'), 0.75  # of the natural size of a picture
PLOT = 5.2, 3.0  # inches, so that letters are legible on a phone
NUMBER = re.compile(r"[-−+]?[0-9][0-9,]*(\.[0-9]+)?%?( \*)?")  # a star marks the best
HEADING = re.compile(r"<h2[^>]*>(.*)</h2>")
CPU_SECONDS = "CPU\xa0s"  # header of a column
RED, BLUE, GRAY = "#b5462f", "#2f6db5", "#888888"
COLORS = (RED, BLUE, "#3d8b4f", "#8a5ab0", "#b58a2f", "#666666")
Rows = Sequence[Sequence[object]]


def ending(reason: str) -> str:
    """Return why a run ended, as a sentence."""
    return f"It stopped because: {reason}." if reason else "It has not ended yet."


@dataclass(repr=False)
class Page:
    """A page to which parts are added in order; notebooks show it."""

    title: str
    headings: list[str] = field(default_factory=list, init=False)
    _parts: list[str] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {len(self.headings)} headings)"

    @property
    def html(self) -> str:
        """Return the whole page; a page with several headings begins with a list of contents."""
        contents = [self._contents()] if len(self.headings) > 1 else []
        body = "\n".join([f"<h1>{escape(self.title)}</h1>", *contents, *self._parts])
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style></head>\n"
            f"<body>\n{body}\n</body>\n</html>\n"
        )

    def save(self, path: str | Path) -> None:
        """Write the page atomically."""
        with atomic_writer(path) as stream:
            stream.write(self.html)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame, so that its style stays its own."""
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="600"></iframe>'

    def heading(self, text: str) -> None:
        """Add a heading, to which the list of contents links."""
        self.headings.append(text)
        self._parts.append(f'<h2 id="part-{len(self.headings)}">{escape(text)}</h2>')

    def subheading(self, text: str) -> None:
        """Add a heading below a heading."""
        self._parts.append(f"<h3>{escape(text)}</h3>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def small(self, text: str) -> None:
        """Add a paragraph in small letters, such as a signature."""
        self._parts.append(f'<p class="small">{escape(text)}</p>')

    def include(self, other: Page) -> None:
        """Add all parts of another page; its headings become subheadings."""
        self._parts += [HEADING.sub(r"<h3>\1</h3>", part) for part in other._parts]

    def table(self, header: Sequence[str], rows: Rows) -> None:
        """Add a table; columns of numbers are aligned right.

        Text after a line end in a cell is set in small letters beside the first line, or below it on a phone.
        """
        right = [
            bool(rows) and all(_is_number(row[place]) or row[place] == "" for row in rows)
            for place in range(len(header))
        ]
        head = "".join(_cell("th", name, number) for name, number in zip(header, right, strict=True))
        lines = ("".join(_cell("td", value, number) for value, number in zip(row, right, strict=True)) for row in rows)
        body = "\n".join(f"<tr>{line}</tr>" for line in lines)
        self._wide(f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>", "table")

    def bars(self, values: Sequence[tuple[str, float]], higher_is_better: bool = True) -> None:
        """Add a bar with its number for each name, from 0; the best have another color."""
        largest = max((value for _, value in values), default=0.0) or 1.0
        best = (max if higher_is_better else min)((round(value, 2) for _, value in values), default=0.0)
        rows = "\n".join(
            f'<div>{escape(name)}</div><div class="track">'
            f'<div class="bar{" best" if round(value, 2) == best else ""}" '
            f'style="width: {BAR_ROOM * max(value, 0.0) / largest:.1f}%"></div>'
            f'<div class="amount">{value:.2f}</div></div>'
            for name, value in values
        )
        self._parts.append(f'<div class="bars">\n{rows}\n</div>')

    def markup(self, text: str) -> None:
        """Add HTML or SVG as it is; the caller has escaped what needs it."""
        self._parts.append(text)

    def picture(self, svg: str, description: str) -> None:
        """Add a drawing of any width; one that is too wide shrinks a little, then scrolls."""
        drawing = svg[svg.index("<svg") :]
        found = WIDTH.search(drawing)
        least = f' style="min-width: {SMALLEST * float(found[1]):.0f}px"' if found else ""
        self._wide(drawing.replace("<svg", f"<svg{least}", 1), description, "wide picture")

    @contextmanager
    def plot(self, height: float = PLOT[1]) -> Iterator[Axes]:
        """Add a plot that is drawn in the block."""
        from matplotlib.figure import Figure  # takes long to import

        figure = Figure(figsize=(PLOT[0], height), layout="constrained")
        yield figure.subplots()
        self.figure(figure)

    def figure(self, figure: Figure) -> None:
        """Add a plot; the same plot always gives the same bytes."""
        from matplotlib import rc_context  # takes long to import

        stream = io.StringIO()
        with rc_context({"svg.hashsalt": str(len(self._parts))}):
            figure.savefig(stream, format="svg", metadata={"Date": None})
        text = stream.getvalue()
        self._parts.append(text[text.index("<svg") :])

    def _contents(self) -> str:
        links = (
            f'<li><a href="#part-{number}">{escape(text)}</a></li>'
            for number, text in enumerate(self.headings, start=1)
        )
        return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'

    def _wide(self, text: str, description: str, kind: str = "wide") -> None:
        """Add what may be wider than the screen, in a box that can be scrolled by keys too."""
        self._parts.append(
            f'<div class="{kind}" role="region" tabindex="0" aria-label="{escape(description)}">{text}</div>'
        )


def _cell(tag: str, value: object, right: bool) -> str:
    text = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    kind = "number" if right or isinstance(value, int | float) else "long" if len(text) > LONG else ""
    named = f' class="{kind}"' if kind else ""
    first, *others = map(escape, text.split("\n"))
    beside = "".join(f'<span class="beside">{other}</span>' for other in others)
    return f"<{tag}{named}>{first}{beside}</{tag}>"


def _is_number(value: object) -> bool:
    """Return whether a value is a number, or the text of a rounded one."""
    return isinstance(value, int | float) or bool(NUMBER.fullmatch(str(value).partition("\n")[0]))
