"""Draw docs/figures/gains.svg for the README: gains of choosing and combining over the best single system.

    python docs/make_picture.py

Numbers are those of the stored runs of experiments/combination.py.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from toledo.view.plots import Bar, Bars
from toledo.view.svg import svg_file

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "experiments"))
PICTURE = DOCS / "figures" / "gains.svg"

LANGUAGES = {"de-en": "German", "cs-en": "Czech", "ru-en": "Russian", "ja-en": "Japanese"}
LEGEND = ("choice by toledo choose", "combination by toledo combine")
SYSTEM, CHOICE, COMBINED = "system ", "MBR choice, ", "latExpBLEU + biased LM"
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
    """Write the picture, if there are runs for it."""
    if gains := stored_gains():
        PICTURE.write_text(picture(gains), encoding="utf-8")


def stored_gains() -> list[Gains]:
    """The gains on each test, with the choice by MBR that is better on the tuning half."""
    from stored import Stored

    gains, runs = [], Stored(DOCS.parent / "experiments" / "combination.py").all()
    for pair, language in LANGUAGES.items():
        scores = {run["key"]["condition"]: run["scores"] for run in runs if run["key"].get("pair") == pair}
        systems = [one["test"] for name, one in scores.items() if name.startswith(SYSTEM)]
        choices = [one for name, one in scores.items() if name.startswith(CHOICE)]
        if systems and choices and COMBINED in scores:
            choice, best = max(choices, key=lambda one: one["tune"]), max(systems)
            combined = scores[COMBINED]["test"] - best
            gains.append(Gains(language, len(systems), best, choice["test"] - best, combined))
    return gains


def picture(gains: list[Gains]) -> str:
    """Return the SVG, with its own ground so that it is readable on dark pages."""
    bars = [Bar(one.language, [one.choice, one.combined], f"{one.systems} systems") for one in gains]
    title = "BLEU above the best single system, WMT22"
    return svg_file(Bars(bars, title, LEGEND, sign=True, title=title).draw(WIDTH))


if __name__ == "__main__":
    main()
