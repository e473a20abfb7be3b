"""Draw docs/figures/gains.svg for the README: gains of choosing and combining over the best single system.

    python docs/make_picture.py

Numbers are read from the tables of docs/papers/system-combination.md, so picture and page cannot disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from toledo.view.plots import Bar, Bars
from toledo.view.svg import svg_file

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "papers" / "system-combination.md"
PICTURE = DOCS / "figures" / "gains.svg"

LEGEND = ("choice by toledo choose", "combination by toledo combine")
BEST, CHOICE, COMBINED = "best on test, ", "MBR choice, ", "latExpBLEU + biased LM "
WIDTH = 400  # pixels; shown larger, so that letters are legible on a phone as well


@dataclass(frozen=True)
class Gains:
    """Gains for one language: number of systems, BLEU of the best one, and what each method adds."""

    language: str
    systems: int
    best: float
    choice: float
    combined: float


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(read_gains(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")


def read_gains(page: str) -> list[Gains]:
    """Read the gains from the tables of the page, taking the better of the two MBR choices."""
    gains = []
    for language, systems, table in re.findall(r"^(\w+), (\d+) systems:\n\n((?:\|.*\n)+)", page, re.MULTILINE):
        rows = {line.split("|")[1].strip() + " ": float(line.split("|")[4]) for line in table.splitlines()[2:]}
        best = max(value for name, value in rows.items() if name.startswith(BEST))
        choice = max(value for name, value in rows.items() if name.startswith(CHOICE))
        gains.append(Gains(language, int(systems), best, choice - best, rows[COMBINED] - best))
    return gains


def picture(gains: list[Gains]) -> str:
    """Return the SVG, with its own ground so that it is readable on dark pages."""
    bars = [Bar(one.language, [one.choice, one.combined], f"{one.systems} systems") for one in gains]
    title = "BLEU above the best single system, WMT22"
    return svg_file(Bars(bars, title, LEGEND, sign=True, title=title).draw(WIDTH))


if __name__ == "__main__":
    main()
