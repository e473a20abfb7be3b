"""Plots as SVG: lines, histograms, dots with intervals, bars.

A plot is a record; `figure(plot)` draws it for a wide screen and for a phone, with a table of the same numbers, and
`plot.draw(width)` gives the SVG alone. Colours are classes, so that one drawing serves light and dark pages. Bars are
for amounts and begin at zero; scores are dots, on an axis that shows their differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

from toledo.view.markup import Child, Markup, join, tag
from toledo.view.svg import SIZE, Drawing, drawing, label, shortened, text_width
from toledo.view.tables import Rows, fixed, shown, table

WIDE, NARROW = 720, 330  # pixels: on a screen and on a phone
SERIES = 6  # classes s0 to s5
MOST_MARKS = 40  # points of a series; more are a line without marks
MOST_ROWS = 100  # of the table behind a plot
TICKS = 5
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

    `width` is the room on a wide screen: 720 for a plot of its own, about 360 in a column.
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
class Series:
    """A named curve; one without a name is drawn thin and grey, as background."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Lines:
    """Curves over a common axis, each with its name at its end."""

    series: Sequence[Series]
    x: str
    y: str
    marked: tuple[float, str] | None = None  # a place on the x axis, such as the best round
    whole: bool = False  # x are whole numbers
    logarithmic: bool = False  # x
    height: int = 260
    named: bool = True  # whether names stand at the ends of curves

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        points = [point for one in self.series for point in one.points if math.isfinite(point[1])]
        xs, ys = [x for x, _ in points] or [0.0], [y for _, y in points] or [0.0]
        low, high = _with_room(min(ys), max(ys))
        up = Scale(low, high, self.height - 40.0, 26.0)
        levels = up.ticks()
        named = [one for one in self.series if one.name and one.points]
        right = (
            min(max((text_width(one.name) for one in named), default=0.0) + 18, width * 0.32) if self.named else 10.0
        )
        left = 14 + max(map(text_width, tick_texts(levels)))
        unit = min((x for x in xs if x > 0), default=1.0)
        across = Scale(min(xs), max(xs), left + 6, width - right - 6, self.logarithmic, unit)
        frame = _Frame(left, 26.0, width - right, self.height - 40.0)
        return drawing(
            width,
            self.height,
            f"{self.y} by {self.x}: {', '.join(one.name for one in named)}",
            label(self.y, 0, 12),
            frame.levels(up, levels),
            frame.bottom(across, across.ticks(6 if width > 500 else 4, self.whole), self.x),
            self._mark(across, frame),
            [_thin_curve(one, across, up) for one in self.series if not one.name],
            [_curve(one, place, across, up) for place, one in enumerate(named)],
            _names(named, across, up, width) if self.named else None,
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each x and a column for each named curve."""
        named = [(one.name, dict(one.points)) for one in self.series if one.name]
        xs = sorted({x for _, points in named for x in points})
        return [self.x, *(name for name, _ in named)], [
            [shown(x), *(fixed(points[x], _digits(points.values())) if x in points else "" for _, points in named)]
            for x in xs
        ]

    def _mark(self, across: Scale, frame: _Frame) -> Child:
        if self.marked is None:
            return None
        x = across.place(self.marked[0])
        late = x > (frame.left + frame.right) / 2
        return (
            tag("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom_line, class_="zero dashed"),
            label(self.marked[1], x - 5 if late else x + 5, frame.top + 2, "end" if late else None),
        )


@dataclass(frozen=True)
class Histogram:
    """Counts as columns, each above its label; `kinds` colour differences: less, even, more.

    `left` and `right` stand above the two sides, such as which of two systems is better there.
    """

    labels: Sequence[str]
    counts: Sequence[int]
    x: str
    kinds: Sequence[Kind] = ()
    left: str = ""
    right: str = ""
    height: int = 220

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        bottom, top = self.height - 40.0, 40.0 if self.left or self.right else 24.0
        most, step = max(self.counts, default=0) or 1, (width - 10) / max(len(self.counts), 1)
        columns = []
        for place, count in enumerate(self.counts):
            size, x = (bottom - top) * count / most, 5 + place * step
            kind = self.kinds[place] if self.kinds else ""
            title = tag("title", f"{self.labels[place]}: {count:,}")
            column = tag(
                "rect", title, x=x + 1, y=bottom - size, width=step - 2, height=size, class_=f"bar {kind}".strip()
            )
            fits = count and text_width(f"{count:,}") <= step + 4
            columns.append((column, label(f"{count:,}", x + step / 2, bottom - size - 5, "middle") if fits else None))
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
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each column."""
        return [self.x, "count"], list(zip(self.labels, self.counts, strict=True))


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
    """A value with its interval; `note` stands beside the name, such as how many segments it is from."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: Kind = ""


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
        low, high = _with_room(*_range([*ends, *([] if self.baseline is None else [self.baseline])]), 0.06)
        texts = [fixed(one.value, self.digits, sign=self.baseline == 0.0) for one in self.dots]
        names = min(max((text_width(one.name) for one in self.dots), default=0.0) + 12, width * 0.42)
        notes = max((text_width(one.note) for one in [*self.dots, Dot(self.note, 0.0, note=self.note)]), default=0.0)
        right = max(map(text_width, texts), default=0.0) + 10
        across = Scale(low, high, names + notes + 16, width - right - 6)
        bottom = 24.0 + ROW * len(self.dots)
        frame = _Frame(across.start, 20.0, across.end, bottom)
        return drawing(
            width,
            bottom + 34,
            f"{self.x} with intervals",
            label(self.note, names + notes, 12, "end") if self.note else None,
            frame.bottom(across, across.ticks(6 if width > 500 else 4), self.x),
            None if self.baseline is None else _upright(across.place(self.baseline), frame),
            [
                (
                    label(shortened(one.name, names - 8), 0, y + 4, "strong", one.name),
                    label(one.note, names + notes, y + 4, "end"),
                    tag("line", x1=across.start, x2=across.end, y1=y, y2=y, class_="axis"),
                    interval(one, across, y),
                    label(text, width, y + 4, "end strong"),
                )
                for one, text, y in zip(
                    self.dots, texts, (24.0 + ROW * (n + 0.5) for n in range(len(texts))), strict=True
                )
            ],
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
    """Amounts as bars from zero; where there is one series, amounts below zero have the colour of losses."""

    bars: Sequence[Bar]
    x: str
    series: Sequence[str] = ("",)
    digits: int = 2
    sign: bool = False
    title: str = ""

    def draw(self, width: int) -> Drawing:
        """Return the plot as SVG of some width."""
        values = [value for one in self.bars for value in one.values]
        low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
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


ROW = 28.0  # of dots


@dataclass(frozen=True)
class _Frame:
    """The area of a plot."""

    left: float
    top: float
    right: float
    bottom_line: float

    def levels(self, up: Scale, values: Sequence[float]) -> Markup:
        """Return hairlines with their values at the left."""
        return join(
            (
                tag("line", x1=self.left, x2=self.right, y1=up.place(value), y2=up.place(value), class_="axis"),
                label(text, self.left - 6, up.place(value) + 4, "end"),
            )
            for value, text in zip(values, tick_texts(values), strict=True)
        )

    def bottom(self, across: Scale, values: Sequence[float], title: str) -> Markup:
        """Return the lower axis with its values and its title."""
        y = self.bottom_line
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


def thinned(points: Sequence[tuple[float, float]], across: Scale) -> list[tuple[float, float]]:
    """Return the smallest and the largest value at each pixel, if there are more points than pixels."""
    if len(points) <= 2 * abs(across.end - across.start):
        return list(points)
    kept: dict[int, list[tuple[float, float]]] = {}
    for point in points:
        kept.setdefault(round(across.place(point[0])), []).append(point)
    extremes = ({min(own, key=_value), max(own, key=_value)} for own in kept.values())
    return [point for own in extremes for point in sorted(own)]


def spark(values: Sequence[float], width: int = 96, height: int = 20) -> Markup:
    """Return a small curve for a cell of a table, with a dot at its end."""
    low, high = _with_room(*_range(values))
    across, up = Scale(0.0, max(len(values) - 1, 1), 4.0, width - 5.0), Scale(low, high, height - 4.0, 4.0)
    places = [(across.place(x), up.place(y)) for x, y in thinned(list(enumerate(values)), across)]
    end = tag("circle", cx=places[-1][0], cy=places[-1][1], r=2.5, class_="dot") if places else None
    text = f"from {shown(float(values[0]))} to {shown(float(values[-1]))}" if values else "no values"
    return drawing(width, height, text, tag("polyline", points=_path(places), class_="series s0"), end, class_="spark")


def _curve(one: Series, place: int, across: Scale, up: Scale) -> Markup:
    kind = f"s{place % SERIES}"
    known = [point for point in one.points if math.isfinite(point[1])]
    places = [(across.place(x), up.place(y)) for x, y in thinned(known, across)]
    marks = [_shape(place, *point, kind) for point in places] if len(places) <= MOST_MARKS else None
    return tag("g", tag("title", one.name), tag("polyline", points=_path(places), class_=f"series {kind}"), marks)


def _thin_curve(one: Series, across: Scale, up: Scale) -> Markup:
    places = [(across.place(x), up.place(y)) for x, y in thinned(one.points, across)]
    return tag("polyline", points=_path(places), class_="series thin")


def _shape(place: int, x: float, y: float, kind: str) -> Markup:
    """Return the mark of a series: circle, square, diamond, triangle up, triangle down, cross."""
    corners = {
        1: ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        2: ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        3: ((0, -5), (5, 4), (-5, 4)),
        4: ((0, 5), (5, -4), (-5, -4)),
        5: ((-5, -1.5), (-1.5, -1.5), (-1.5, -5), (1.5, -5), (1.5, -1.5), (5, -1.5),
            (5, 1.5), (1.5, 1.5), (1.5, 5), (-1.5, 5), (-1.5, 1.5), (-5, 1.5)),
    }.get(place % SERIES)  # fmt: skip
    if corners is None:
        return tag("circle", cx=x, cy=y, r=4, class_=f"mark {kind}")
    steps = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return tag("path", d=f"M{steps}Z", class_=f"mark {kind}")


def _names(named: Sequence[Series], across: Scale, up: Scale, right: float) -> Markup:
    """Return the names of curves beside their ends, moved apart where they would lie on each other."""
    ends = sorted((up.place(one.points[-1][1]), place) for place, one in enumerate(named))
    tops = [y for y, _ in ends]
    for _ in range(len(tops)):
        for one, two in pairwise(range(len(tops))):
            if (close := SIZE + 3 - (tops[two] - tops[one])) > 0:
                tops[one], tops[two] = tops[one] - close / 2, tops[two] + close / 2
    labels = []
    for top, (_, place) in zip(tops, ends, strict=True):
        x, name = across.place(named[place].points[-1][0]) + 10, named[place].name
        labels.append(label(shortened(name, right - x), x, top + 4, "name", name))
    return join(labels)


def _upright(x: float, frame: _Frame) -> Markup:
    return tag("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom_line, class_="zero")


def _path(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _range(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)] or [0.0]
    return min(known), max(known)


def _with_room(low: float, high: float, share: float = 0.08) -> tuple[float, float]:
    """Return a little more than a range, and some range where all values are equal."""
    size = max(abs(low), abs(high))
    room = share * (high - low if high - low > 1e-9 * size else size or 1.0)
    return low - room, high + room


def _value(point: tuple[float, float]) -> float:
    return point[1]


def _digits(values: Iterable[float]) -> int:
    """Return how many decimals show about four figures of the largest value."""
    largest = max(map(abs, values), default=0.0)
    return min(max(3 - math.floor(math.log10(largest)), 0), 6) if largest else 2


def _optional(value: float | None, digits: int) -> str:
    return "" if value is None else fixed(value, digits)
