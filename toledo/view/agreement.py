"""How much texts agree: a matrix in the order of its tree, with the branches that join texts beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toledo.view.markup import Markup, join, tag
from toledo.view.network import letter
from toledo.view.svg import Drawing, drawing, label, shortened
from toledo.view.tables import fixed
from toledo.view.text import SHADES

FIELD, TOP, BOTTOM = 44.0, 8.0, 26.0
BRANCHES, NAMES, LETTERS = 52.0, 118.0, 30.0
WIDE, NARROW = 368.0, 270.0  # pixels for the fields of a row
MOST_NUMBERS = 24  # texts whose fields have their numbers written in them, and can be pressed
LEAST_FIELD, SMALL_FIELD = 25.0, 9.0
SPREAD = 2.5


@dataclass(frozen=True)
class Agreement:
    """`matrix[i][j]` is the score of text i against text j; `tree` joins groups, group n + k is made by its step k.

    `order` are the texts from top to bottom. `chosen` and `pair` are marked; a field sets `choice` to `i-j`.
    """

    names: Sequence[str]
    matrix: Sequence[Sequence[float]]
    order: Sequence[int]
    tree: Sequence[tuple[int, int, float]]
    chosen: int
    pair: tuple[int, int]
    choice: str = "pair"
    higher_is_better: bool = True

    def draw(self, wide: bool) -> Drawing:
        """Return the matrix: with names on a wide screen, with letters alone on a phone."""
        number = len(self.order)
        least = LEAST_FIELD if number <= MOST_NUMBERS else SMALL_FIELD
        size = max(min(FIELD, (WIDE if wide else NARROW) / max(number, 1)), least)
        left = (NAMES if wide and number <= MOST_NUMBERS else 0.0) + LETTERS
        frame = _Frame(size, left, number)
        low, high = self.ends()
        fields = [self._field(row, column, frame, low, high) for row in range(number) for column in range(number)]
        fields.sort(key=lambda one: 'class="field on"' in one)  # frames lie above
        return drawing(
            left + number * size + BRANCHES + 8,
            TOP + number * size + BOTTOM,
            f"agreement of {number} texts",
            [self._labels(place, frame, wide) for place in range(number)],
            fields,
            self._branches(frame, low, high),
            class_="drawing agreement",
            role="group",
        )

    def ends(self) -> tuple[float, float]:
        """Return the ends of the scale: one stray text must not flatten it."""
        values = sorted(v for i, row in enumerate(self.matrix) for j, v in enumerate(row) if i != j) or [0.0, 100.0]
        if not self.higher_is_better:
            return values[0], values[-1]

        def at(share: float) -> float:
            return values[int(share * (len(values) - 1))]

        middle = at(0.5)
        low = max(values[0], middle - SPREAD * max(at(0.9) - middle, 1.0))
        return math.floor(low / 10) * 10.0, max(values[-1], low + 1.0)

    def key(self, metric: str) -> Markup:
        """Return what the shades mean."""
        low, high = self.ends()
        stray = any(v < low for i, row in enumerate(self.matrix) for j, v in enumerate(row) if i != j)
        ramp = tag("span", [tag("i", class_=f"p{step}") for step in range(0, SHADES, 2)], class_="ramp")
        return tag(
            "p",
            tag("span", f"{metric} {'up to ' if stray else ''}{fixed(low, 0)} ", ramp, f" {fixed(high, 0)}"),
            tag("span", "branches join texts that agree; select a field to see its pair", class_="optional"),
            class_="key",
        )

    def _labels(self, place: int, frame: _Frame, wide: bool) -> Markup:
        text = self.order[place]
        x, y = frame.left + (place + 0.5) * frame.size, frame.middle(place) + 4
        kind = " chosen" if text == self.chosen else ""
        name = shortened(self.names[text], NAMES - 8)
        crowded = frame.size < 14
        named = wide and frame.left > LETTERS and not crowded
        return join(
            label(name, frame.left - LETTERS, y, f"end{kind}", self.names[text]) if named else None,
            None if crowded else label(letter(place), frame.left - 10, y, f"end{kind}", self.names[text]),
            None if crowded else label(letter(place), x, TOP + frame.number * frame.size + 18, f"middle{kind}"),
        )

    def _field(self, row: int, column: int, frame: _Frame, low: float, high: float) -> Markup:
        i, j = self.order[row], self.order[column]
        x, y = frame.left + column * frame.size, TOP + row * frame.size
        box = {"x": x, "y": y, "width": frame.size - 1, "height": frame.size - 1, "rx": 4 if frame.size > 20 else 1}
        if i == j:
            return tag("rect", class_="self", **box)
        value = self.matrix[i][j]
        share = (value - low) / (high - low) if high > low else 0.5
        share = share if self.higher_is_better else 1 - share
        kind = f"p{min(max(round(share * (SHADES - 1)), 0), SHADES - 1)}"
        number = None
        if frame.number <= MOST_NUMBERS:
            number = label(fixed(value, 0), x + frame.size / 2, frame.middle(row) + 4, "middle cell")
        parts = [
            tag("title", f"{self.names[i]} against {self.names[j]}: {fixed(value, 1)}"),
            tag("rect", class_=kind, **box),
            number,
        ]
        if frame.number > MOST_NUMBERS:
            return tag("g", parts)
        return tag(
            "g",
            parts,
            class_="field on" if (i, j) == self.pair else "field",
            tabindex=0,
            role="button",
            data_set=f"{self.choice}={i}-{j}",
        )

    def _branches(self, frame: _Frame, low: float, high: float) -> list[Markup]:
        """Return lines that join groups of texts, the farther right the less they agree."""
        start = frame.left + frame.number * frame.size + 6
        places = {text: (start, frame.middle(place)) for place, text in enumerate(self.order)}
        span = (high - low) or 1.0
        lines = []
        for step, (one, other, value) in enumerate(self.tree):
            (x1, y1), (x2, y2) = places[one], places[other]
            away = (high - value) / span if self.higher_is_better else (value - low) / span
            x = max(start + BRANCHES * min(max(away, 0.04), 1.0), x1, x2)
            lines.append(tag("path", d=f"M{x1:.1f},{y1:.1f}H{x:.1f}V{y2:.1f}H{x2:.1f}", class_="branch"))
            places[len(self.order) + step] = (x, (y1 + y2) / 2)
        return lines


@dataclass(frozen=True)
class _Frame:
    size: float
    left: float
    number: int

    def middle(self, place: int) -> float:
        return TOP + (place + 0.5) * self.size
