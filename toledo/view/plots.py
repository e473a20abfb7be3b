"""Plots as SVG: histograms, dots with intervals, bars; curves are in `toledo.view.curves`.

A plot is a record; `figure(plot)` draws it for a wide screen and for a phone, with a table of the same numbers, and
`plot.draw(width)` gives the SVG alone. Colors are classes, so that one drawing serves light and dark pages. Bars are
for amounts and begin at zero; scores are dots, on an axis that shows their differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toledo.view.axes import Frame, Scale, tick_texts, ticks, value_range, with_room
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.svg import Drawing, drawing, label, shortened, text_width
from toledo.view.tables import Rows, fixed, table
from toledo.view.text import ChoiceLink, SegmentLink, linked

WIDE, HALF, THIRD, NARROW = 720, 600, 390, 330  # pixels: alone, in one of two or three columns, and on a phone
MOST_ROWS = 100  # of the table behind a plot
ROW = 28.0  # height of a dot with its name
Kind = Literal["", "less", "even", "more", "base"]


class Plot(Protocol):
    """What `figure` draws."""

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        ...

    def rows(self) -> tuple[list[str], Rows]:
        """Return the numbers of the plot: the header of a table and its rows."""
        ...


def figure(plot: Plot, width: int = WIDE) -> Markup:
    """Return a plot for a screen and for a phone, and the same numbers behind "as a table".

    `width` is the room on a wide screen: that of a plot alone, or `HALF` or `THIRD` in one of two or three columns.
    """
    drawn = [tag("div", plot.draw(width), class_="plot")]
    if width > NARROW * 1.2:
        drawn = [tag("div", plot.draw(width), class_="plot wide"), tag("div", plot.draw(NARROW), class_="plot narrow")]
    header, rows = plot.rows()
    some = rows[:: math.ceil(len(rows) / MOST_ROWS)] if rows else rows
    title = "as a table" if len(some) == len(rows) else f"as a table: {len(some)} of {len(rows):,} rows"
    numbers = tag("details", tag("summary", title), table(header, some, description="numbers of the plot"))
    return tag("figure", drawn, numbers)


@dataclass(frozen=True)
class Histogram:
    """Counts as columns, each above its label; `kinds` color differences: less, even, more.

    `left` and `right` stand above the two sides, such as which of two systems is better there. `names` say in full what
    labels abbreviate. `links` lead from columns to segments.
    """

    labels: Sequence[str]
    counts: Sequence[int]
    x: str
    kinds: Sequence[Kind] = ()
    left: str = ""
    right: str = ""
    height: int = 220
    names: Sequence[str] = ()
    links: Sequence[SegmentLink | ChoiceLink | None] = ()

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        bottom, top = self.height - 40.0, 40.0 if self.left or self.right else 24.0
        most, step = max(self.counts, default=0) or 1, (width - 10) / max(len(self.counts), 1)
        columns = []
        for place, count in enumerate(self.counts):
            size, x = (bottom - top) * count / most, 5 + place * step
            kind = self.kinds[place] if self.kinds else ""
            title = tag("title", f"{(self.names or self.labels)[place]}: {count:,}")
            column = tag(
                "rect", title, x=x + 1, y=bottom - size, width=step - 2, height=size, class_=f"bar {kind}".strip()
            )
            fits = count and text_width(f"{count:,}") <= step + 4
            above = label(f"{count:,}", x + step / 2, bottom - size - 5, "middle") if fits else None
            link = self.links[place] if self.links else None
            room = _target(x, top - 18, step, bottom - top + 36) if link else None
            columns.append(linked((room, column, above), link))
        every = math.ceil((max(map(text_width, self.labels), default=0.0) + 8) / step)
        names = [
            label(name, 5 + (place + 0.5) * step, bottom + 16, "middle")
            for place, name in enumerate(self.labels)
            if place % every == 0
        ]
        return drawing(
            width,
            self.height,
            f"histogram of {self.x}",
            label(self.left, 5, 14) if self.left else None,
            label(self.right, width - 5, 14, "end") if self.right else None,
            columns,
            tag("line", x1=0, x2=width, y1=bottom, y2=bottom, class_="axis"),
            names,
            label(self.x, width / 2, self.height - 6, "middle"),
            role="group" if self.links else "img",
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each column."""
        return [self.x, "count"], list(zip(self.names or self.labels, self.counts, strict=True))


def histogram(values: Iterable[float], x: str, most: int = 20) -> Histogram:
    """Return a histogram of finite numbers in at most about that many equal bins with round limits."""
    known = sorted(value for value in values if math.isfinite(value))
    if not known:
        return Histogram([], [], x)
    places = ticks(known[0], known[-1], most)
    step = places[1] - places[0] if len(places) > 1 else 1.0
    first = math.floor(known[0] / step + 1e-9)
    counts = [0] * (math.floor(known[-1] / step + 1e-9) - first + 1)
    for value in known:
        counts[math.floor(value / step + 1e-9) - first] += 1
    return Histogram(tick_texts([(first + place) * step for place in range(len(counts))]), counts, x)


@dataclass(frozen=True)
class Dot:
    """A value with its interval; `note` stands beside the name, such as how many segments it is from.

    `link` leads to these segments.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: Kind = ""
    link: SegmentLink | ChoiceLink | None = None


@dataclass(frozen=True)
class Dots:
    """Values with intervals, one below the other; `baseline` is a hairline, zero for differences."""

    dots: Sequence[Dot]
    x: str
    baseline: float | None = None
    note: str = ""  # title of the notes
    digits: int = 1

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        ends = [end for one in self.dots for end in (one.value, one.low, one.high) if end is not None]
        low, high = with_room(*value_range([*ends, *([] if self.baseline is None else [self.baseline])]), 0.06)
        texts = [fixed(one.value, self.digits, sign=self.baseline == 0.0) for one in self.dots]
        names = min(max((text_width(one.name) for one in self.dots), default=0.0) + 12, width * 0.42)
        notes = max((text_width(one.note) for one in [*self.dots, Dot(self.note, 0.0, note=self.note)]), default=0.0)
        right = max(map(text_width, texts), default=0.0) + 10
        across = Scale(low, high, names + notes + 16, width - right - 6)
        bottom = 24.0 + ROW * len(self.dots)
        frame = Frame(across.start, 20.0, across.end, bottom)
        return drawing(
            width,
            bottom + 34,
            f"{self.x} with intervals",
            label(self.note, names + notes, 12, "end") if self.note else None,
            frame.lower_axis(across, across.ticks(6 if width > 500 else 4), self.x),
            None if self.baseline is None else _upright(across.place(self.baseline), frame),
            [
                (
                    label(one.note, names + notes, y + 4, "end"),
                    tag("line", x1=across.start, x2=across.end, y1=y, y2=y, class_="axis"),
                    linked(
                        (
                            _target(0.0, y - ROW / 2, width, ROW) if one.link else None,
                            label(shortened(one.name, names - 8), 0, y + 4, "strong", one.name),
                            interval(one, across, y),
                        ),
                        one.link,
                    ),
                    label(text, width, y + 4, "end strong"),
                )
                for one, text, y in zip(
                    self.dots, texts, (24.0 + ROW * (n + 0.5) for n in range(len(texts))), strict=True
                )
            ],
            role="group" if any(one.link for one in self.dots) else "img",
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each dot."""
        noted = any(one.note for one in self.dots)
        return ["", *([self.note] if noted else []), self.x, "from", "to"], [
            [
                one.name,
                *([one.note] if noted else []),
                *(_optional(end, self.digits) for end in (one.value, one.low, one.high)),
            ]
            for one in self.dots
        ]


def _target(x: float, y: float, width: float, height: float) -> Markup:
    """Return an invisible box, so that a small mark is easy to press."""
    return tag("rect", x=x, y=y, width=width, height=height, class_="target")


def interval(dot: Dot, across: Scale, y: float) -> Markup:
    """Return a dot and the line of its interval."""
    x = across.place(dot.value)
    line = None
    if dot.low is not None and dot.high is not None:
        line = tag("line", x1=across.place(dot.low), x2=across.place(dot.high), y1=y, y2=y, class_="whisker")
    return join(line, tag("circle", cx=x, cy=y, r=4.5, class_=f"dot {dot.kind}".strip()))


@dataclass(frozen=True)
class Bar:
    """Amounts of one thing, one for each of the named series of its plot."""

    name: str
    values: Sequence[float]
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """Amounts as bars from zero; where there is one series, amounts below zero have the color of losses."""

    bars: Sequence[Bar]
    x: str
    series: Sequence[str] = ("",)
    digits: int = 2
    sign: bool = False
    title: str = ""

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        values = [value for one in self.bars for value in one.values]
        low, high = min([0.0, *values]), max([0.0, *values])
        texts = [[fixed(value, self.digits, self.sign) for value in one.values] for one in self.bars]
        room = max((text_width(text) for own in texts for text in own), default=0.0) + 8
        names = min(
            max((max(text_width(one.name), text_width(one.note)) for one in self.bars), default=0.0) + 14, width * 0.45
        )
        across = Scale(low, high, names + (room if low < 0 else 0), width - room)
        legend = self._legend(width) if len(self.series) > 1 else []
        top = 22.0 * ((1 if self.title else 0) + len(legend)) + 6
        thick, gap = (16.0, 10.0) if len(self.series) > 1 else (14.0, 10.0)
        tall = max(thick * len(self.series), 30.0 if any(one.note for one in self.bars) else 0.0) + gap
        rows = [
            self._row(one, own, across, names, top + tall * place, thick)
            for place, (one, own) in enumerate(zip(self.bars, texts, strict=True))
        ]
        bottom = top + tall * len(self.bars)
        return drawing(
            width,
            bottom + 6,
            self.x,
            label(self.title, 0, 14, "strong title") if self.title else None,
            [
                _legend_item(x, 22.0 * (row + (1 if self.title else 0)), place, self.series[place])
                for row, items in enumerate(legend)
                for place, x in items
            ],
            rows,
            tag("line", x1=across.place(0.0), x2=across.place(0.0), y1=top - 2, y2=bottom - gap + 2, class_="zero"),
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each bar."""
        head = [name or self.x for name in self.series]
        return ["", *head], [
            [one.name, *(fixed(value, self.digits, self.sign) for value in one.values)] for one in self.bars
        ]

    def _row(self, one: Bar, texts: Sequence[str], across: Scale, names: float, top: float, thick: float) -> Markup:
        middle = top + thick * len(texts) / 2
        zero = across.place(0.0)
        parts: list[Child] = [
            label(shortened(one.name, names - 10), 0, middle - 4 if one.note else middle + 4, "strong", one.name)
        ]
        if one.note:
            parts.append(label(shortened(one.note, names - 10), 0, middle + 11))
        for place, (value, text) in enumerate(zip(one.values, texts, strict=True)):
            end, y = across.place(value), top + thick * place
            kind = f"s{place}" if len(texts) > 1 else "less" if value < 0 else "more" if across.low < 0 else ""
            parts.append(
                tag(
                    "rect", x=min(zero, end), y=y, width=abs(end - zero), height=thick - 2, class_=f"bar {kind}".strip()
                )
            )
            parts.append(
                label(text, end - 5 if value < 0 else end + 5, y + thick / 2 + 3.5, "end" if value < 0 else None)
            )
        return join(*parts)

    def _legend(self, width: int) -> list[list[tuple[int, float]]]:
        """Return the numbers of series with their places, in as many rows as they need."""
        rows: list[list[tuple[int, float]]] = [[]]
        x = 0.0
        for place, name in enumerate(self.series):
            if rows[-1] and x + text_width(name) + 17 > width:
                rows.append([])
                x = 0.0
            rows[-1].append((place, x))
            x += text_width(name) + 36
        return rows


def _legend_item(x: float, y: float, place: int, name: str) -> Markup:
    return join(tag("rect", x=x, y=y + 4, width=11, height=11, class_=f"bar s{place}"), label(name, x + 17, y + 14))


def _upright(x: float, frame: Frame) -> Markup:
    return tag("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="zero")


def _optional(value: float | None, digits: int) -> str:
    return "" if value is None else fixed(value, digits)
