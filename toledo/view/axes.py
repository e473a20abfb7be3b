"""Axes of plots: from values to pixels, round numbers beside them, and no more points than pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from toledo.view.markup import Markup, join, tag
from toledo.view.svg import label, text_width
from toledo.view.tables import fixed

TICKS = 5


@dataclass(frozen=True)
class Scale:
    """From values to pixels; `logarithmic` is even in the logarithm above `unit` and linear below it."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    unit: float = 1.0

    def place(self, value: float) -> float:
        """Return where a value lies."""
        low, high, at = (self._bent(one) for one in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = TICKS, whole: bool = False) -> list[float]:
        """Return round values on the scale."""
        if not self.logarithmic:
            return ticks(self.low, self.high, most, whole)
        first = 10.0 ** math.floor(math.log10(self.unit))
        decades = [first * 10.0**power for power in range(16) if first * 10.0**power <= self.high]
        step = math.ceil((len(decades) + 1) / most)
        return [0.0, *decades[(len(decades) - 1) % step :: step]]

    def _bent(self, value: float) -> float:
        return math.asinh(value / self.unit) if self.logarithmic else value


def ticks(low: float, high: float, most: int = TICKS, whole: bool = False) -> list[float]:
    """Return at most about that many values between two others, 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if first > last and not whole:
        return ticks(low, high, 2 * most)
    return [number * step for number in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return values with as many decimals as tell them apart."""
    for digits in range(7):
        texts = [fixed(value, digits) for value in values]
        if all(math.isclose(value, round(value, digits), rel_tol=1e-6, abs_tol=1e-9) for value in values):
            return texts
    return [f"{value:.2g}" for value in values]


@dataclass(frozen=True)
class Frame:
    """The area of a plot."""

    left: float
    top: float
    right: float
    bottom: float

    def levels(self, up: Scale, values: Sequence[float]) -> Markup:
        """Return hairlines with their values at the left."""
        return join(
            (
                tag("line", x1=self.left, x2=self.right, y1=up.place(value), y2=up.place(value), class_="axis"),
                label(text, self.left - 6, up.place(value) + 4, "end"),
            )
            for value, text in zip(values, tick_texts(values), strict=True)
        )

    def lower_axis(self, across: Scale, values: Sequence[float], title: str) -> Markup:
        """Return the lower axis with its values and its title."""
        y = self.bottom
        return join(
            tag("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="axis"),
            _tick_labels(across, values, y + 16),
            label(title, (self.left + self.right) / 2, y + 32, "middle"),
        )


def _tick_labels(across: Scale, values: Sequence[float], y: float) -> Iterator[Markup]:
    """Yield the values of an axis, without those that would touch the one before."""
    end = -math.inf
    for value, text in zip(values, tick_texts(values), strict=True):
        x, half = across.place(value), text_width(text) / 2
        if x - half > end + 6:
            yield label(text, x, y, "middle")
            end = x + half


def value_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the largest finite value."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    return min(known), max(known)


def with_room(low: float, high: float, share: float = 0.08) -> tuple[float, float]:
    """Return a little more than a range, and some range where all values are equal."""
    size = max(abs(low), abs(high))
    room = share * (high - low if high - low > 1e-9 * size else size or 1.0)
    return low - room, high + room


def thinned(points: Sequence[tuple[float, float]], across: Scale) -> list[tuple[float, float]]:
    """Return the smallest and the largest value at each pixel, if there are more points than pixels."""
    if len(points) <= 2 * abs(across.end - across.start):
        return list(points)
    kept: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        kept.setdefault(round(across.place(point[0])), []).append(point)
    extremes = ({min(own, key=itemgetter(1)), max(own, key=itemgetter(1))} for own in kept.values())
    return [point for own in extremes for point in sorted(own)]
