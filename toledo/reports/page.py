"""One self-contained HTML page: headings, paragraphs, tables, plots as inline SVG. No scripts, nothing fetched."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from toledo.files import atomic_writer

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; } td.number { text-align: right; }
svg { max-width: 100%; height: auto; } code { background: #f3f3f3; padding: .1rem .3rem; }
"""


@dataclass
class Page:
    """Collects parts in order and writes them as HTML."""

    title: str
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """A heading."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """A paragraph of plain text."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; numbers are set to the right."""
        head = "".join(f"<th>{escape(name)}</th>" for name in header)
        body = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
        self._parts.append(f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>")

    def markup(self, text: str) -> None:
        """HTML or SVG as it is: whoever gives it has escaped what is not his own."""
        self._parts.append(text)

    def figure(self, figure: Figure) -> None:
        """A plot."""
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        text = stream.getvalue()
        self._parts.append(text[text.index("<svg") :])

    def write(self, path: str | Path) -> None:
        """Write the page atomically."""
        content = "\n".join(self._parts)
        with atomic_writer(path) as stream:
            stream.write(
                f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(self.title)}</title>\n'
                f"<style>{STYLE}</style></head>\n<body>\n<h1>{escape(self.title)}</h1>\n{content}\n</body>\n</html>\n"
            )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:,.4g}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
