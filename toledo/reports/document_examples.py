"""A page of translations before and after a search for BLEU, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toledo.view.markup import Child, Markup, tag
from toledo.view.page import Page, card
from toledo.view.tables import Cell, fixed, table
from toledo.view.text import difference, difference_key, segment, written_words


@dataclass(frozen=True)
class DecodingExample:
    """A segment before and after: texts, and chrF and TER with the unseen reference."""

    document: str
    source: str
    before: str
    after: str
    reference: str
    unseen: str
    chrf: tuple[float, float]
    ter: tuple[float, float]


def write_examples(
    path: str | Path, totals: Sequence[tuple[str, tuple[float, float]]], examples: Sequence[DecodingExample], title: str
) -> None:
    """Write the page."""
    page = Page(title)
    rows: list[list[Cell]] = [
        [name, fixed(before), fixed(after), fixed(after - before, sign=True)] for name, (before, after) in totals
    ]
    page.add(card("Scores", table(["score", "before", "after", "change"], rows, description="scores"), level=2))
    parts = tag("div", [_segment(number, one) for number, one in enumerate(examples, 1)], class_="segments")
    page.add(
        card("Translations", difference_key("before", "after"), parts, note="largest change of chrF first", level=2)
    )
    page.save(path)


def _segment(number: int, one: DecodingExample) -> Markup:
    """Return a segment: the source, both references, and both translations with their scores."""
    reference = written_words(one.unseen)
    before, after = difference(written_words(one.before), written_words(one.after), [reference])
    texts: list[tuple[Child, Child]] = [
        ("source", one.source), ("seen", one.reference), ("unseen", one.unseen),
        (_named("before", one, 0), before), (_named("after", one, 1), after),
    ]  # fmt: skip
    return segment(f"{number} {one.document}".strip(), texts, quiet=range(3))


def _named(name: str, one: DecodingExample, turn: int) -> Child:
    return tag("span", name, " ", tag("small", f"chrF {fixed(one.chrf[turn], 1)}, TER {fixed(one.ter[turn], 1)}"))
