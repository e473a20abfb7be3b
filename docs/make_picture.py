"""Draw docs/figures/gains.svg for the README: gains of choosing and combining over the best single system.

    python docs/make_picture.py

Numbers are read from the tables of docs/papers/system-combination.md, so picture and page cannot disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import floor
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "papers" / "system-combination.md"
PICTURE = DOCS / "figures" / "gains.svg"

LEGEND = ("choice by toledo choose", "combination by toledo combine")
BEST, CHOICE, COMBINED = "best on test, ", "MBR choice, ", "latExpBLEU + biased LM "
WIDTH, ROW, TOP, ZERO, POINT = 640, 76, 124, 310, 110  # pixels; a point of BLEU is POINT wide
STYLE = (
    "text{font:22px system-ui,sans-serif;fill:#1f2933}.small{font-size:19px;fill:#52606d}"
    ".title{font-size:23px;font-weight:600}.choice{fill:#9aa5b1}.combined{fill:#1565c0}"
)


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
    """Return the SVG, with its own background so that it is readable on dark pages."""
    height = TOP + ROW * len(gains) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>BLEU above the best single system, for four languages of WMT22 into English</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f7f9fb"/>',
        '<text class="title" x="20" y="36">BLEU above the best single system, WMT22</text>',
        '<rect class="choice" x="20" y="54" width="18" height="18"/>',
        f'<text class="small" x="48" y="70">{LEGEND[0]}</text>',
        '<rect class="combined" x="20" y="84" width="18" height="18"/>',
        f'<text class="small" x="48" y="100">{LEGEND[1]}</text>',
    ]
    for place, one in enumerate(gains):
        top = TOP + ROW * place
        lines += [
            f'<text x="20" y="{top + 24}">{one.language}</text>',
            f'<text class="small" x="20" y="{top + 49}">{one.systems} systems</text>',
            *bar("choice", one.choice, top + 4),
            *bar("combined", one.combined, top + 32),
        ]
    lines += [f'<path d="M{ZERO} {TOP}V{height - 16}" stroke="#52606d"/>', "</svg>", ""]
    return "\n".join(lines)


def bar(kind: str, gain: float, top: int) -> list[str]:
    """Return a bar from zero to the gain, with its value at the end."""
    size = round(abs(gain) * POINT)
    left, end = (ZERO, ZERO + size) if gain >= 0 else (ZERO - size, ZERO)
    rounded = floor(round(100 * gain) / 10 + 0.5) / 10  # half up: 1.35 becomes 1.4
    number = f"{rounded:+.1f}".replace("-", "−")
    return [
        f'<rect class="{kind}" x="{left}" y="{top}" width="{size}" height="26"/>',
        f'<text class="small" x="{end + 8}" y="{top + 20}">{number}</text>',
    ]


if __name__ == "__main__":
    main()
