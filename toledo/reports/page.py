"""One self-contained HTML page: headings, paragraphs, tables, bars, plots as inline SVG. No scripts, nothing fetched.

A page is as wide as its reader's screen: tables and pictures that are wider are scrolled, each in a box of its own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from toledo.files import atomic_writer

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
  background: #fff; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.2rem; line-height: 1.3; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .3rem; }
.small { font-size: .8rem; color: #555; margin: .2rem 0; overflow-wrap: anywhere; }
/* A shadow at an edge tells that there is more beyond it; white covers it where there is not. */
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
LONG = 24  # letters of a text that is not to be broken after every word
WIDTH, SMALLEST = re.compile(r'width="([0-9.]+)"'), 0.75  # of its natural size
PLOT = 5.2, 3.0  # inches: so large that letters can be read where the whole is as wide as a phone
NUMBER = re.compile(r"[-−+]?[0-9][0-9,]*(\.[0-9]+)?%?( \*)?")  # a star marks the best
CPU_SECONDS = "CPU\xa0s"  # the head of a column
Rows = Sequence[Sequence[object]]


def ending(reason: str) -> str:
    """Why a run ended, as a sentence."""
    return f"It stopped because: {reason}." if reason else "It has not ended yet."


@dataclass
class Page:
    """Collects parts in order and writes them as HTML."""

    title: str
    _parts: list[str] = field(default_factory=list)
    _headings: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """A heading, which the list of contents leads to if there is one."""
        self._headings.append(text)
        self._parts.append(f'<h2 id="part-{len(self._headings)}">{escape(text)}</h2>')

    def subheading(self, text: str) -> None:
        """A heading below a heading."""
        self._parts.append(f"<h3>{escape(text)}</h3>")

    def paragraph(self, text: str) -> None:
        """A paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def small(self, text: str) -> None:
        """A paragraph in small letters: signatures."""
        self._parts.append(f'<p class="small">{escape(text)}</p>')

    def table(self, header: Sequence[str], rows: Rows) -> None:
        """A table; numbers are set to the right, and so are columns of texts that are all numbers.

        What follows a line end in a cell is set in small letters beside the first line, or below it on a phone.
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
        """A bar with its number for each name, from 0; the best are in another colour."""
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
        """HTML or SVG as it is: whoever gives it has escaped what is not his own."""
        self._parts.append(text)

    def picture(self, svg: str, description: str) -> None:
        """A drawing of any width: one that is a little too wide is made smaller, and scrolled if that is not enough."""
        drawing = svg[svg.index("<svg") :]
        found = WIDTH.search(drawing)
        least = f' style="min-width: {SMALLEST * float(found[1]):.0f}px"' if found else ""
        self._wide(drawing.replace("<svg", f"<svg{least}", 1), description, "wide picture")

    def figure(self, figure: Figure) -> None:
        """A plot; the same plot always gives the same bytes."""
        stream = io.StringIO()
        with rc_context({"svg.hashsalt": str(len(self._parts))}):
            figure.savefig(stream, format="svg", metadata={"Date": None})
        text = stream.getvalue()
        self._parts.append(text[text.index("<svg") :])

    def write(self, path: str | Path, contents: bool = False) -> None:
        """Write the page atomically, with a list of contents if there is to be one."""
        body = "\n".join([f"<h1>{escape(self.title)}</h1>", *([self._contents()] if contents else []), *self._parts])
        with atomic_writer(path) as stream:
            stream.write(
                f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
                f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                f"<title>{escape(self.title)}</title>\n<style>{STYLE}</style></head>\n"
                f"<body>\n{body}\n</body>\n</html>\n"
            )

    def _contents(self) -> str:
        links = (
            f'<li><a href="#part-{number}">{escape(text)}</a></li>'
            for number, text in enumerate(self._headings, start=1)
        )
        return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'

    def _wide(self, text: str, description: str, kind: str = "wide") -> None:
        """What may be wider than the screen, in a box that keys can scroll, too."""
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
    """A number, or the text of one that somebody has rounded already."""
    return isinstance(value, int | float) or bool(NUMBER.fullmatch(str(value).partition("\n")[0]))
