"""Curves over a common axis, each with its name at its end, and small ones for cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toledo.view.axes import Frame, Scale, thinned, tick_texts, value_range, with_room
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.svg import SIZE, Drawing, drawing, label, shortened, text_width
from toledo.view.tables import Rows, fixed, shown

SERIES = 6  # classes s0 to s5
MOST_MARKS = 40  # points of a series; more are a line without marks


@dataclass(frozen=True)
class Series:
    """A named curve; one without a name is drawn thin and gray, as background.

    `band` has what lies around some points, as from several runs: x, lower and upper end. A curve that is not `ended`
    is dashed.
    """

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    ended: bool = True


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
        points = [point for one in self.series for point in _all_points(one) if math.isfinite(point[1])]
        xs, ys = [x for x, _ in points] or [0.0], [y for _, y in points] or [0.0]
        low, high = with_room(min(ys), max(ys))
        up = Scale(low, high, self.height - 40.0, 26.0)
        levels = up.ticks()
        named = [one for one in self.series if one.name and one.points]
        right = (
            min(max((text_width(one.name) for one in named), default=0.0) + 28, width * 0.34) if self.named else 24.0
        )
        left = 14 + max(map(text_width, tick_texts(levels)))
        unit = min((x for x in xs if x > 0), default=1.0)
        across = Scale(min(xs), max(xs), left + 6, width - right - 6, self.logarithmic, unit)
        frame = Frame(left, 26.0, width - right, self.height - 40.0)
        return drawing(
            width,
            self.height,
            f"{self.y} by {self.x}: {', '.join(one.name for one in named)}",
            label(self.y, 0, 12),
            frame.levels(up, levels),
            frame.lower_axis(across, across.ticks(6 if width > 500 else 4, self.whole), self.x),
            self._mark(across, frame),
            [_thin_curve(one, across, up) for one in self.series if not one.name],
            [_band(one, place, across, up) for place, one in enumerate(named) if one.band],
            [_curve(one, place, across, up) for place, one in enumerate(named)],
            _names(named, across, up, width) if self.named else None,
        )

    def rows(self) -> tuple[list[str], Rows]:
        """Return a row for each x and a column for each named curve."""
        named = [(one.name, dict(one.points)) for one in self.series if one.name]
        xs = sorted({x for _, points in named for x in points})
        columns = [(points, _digits(points.values())) for _, points in named]
        return [self.x, *(name for name, _ in named)], [
            [shown(x), *(fixed(points[x], digits) if x in points else "" for points, digits in columns)] for x in xs
        ]

    def _mark(self, across: Scale, frame: Frame) -> Child:
        if self.marked is None:
            return None
        x = across.place(self.marked[0])
        late = x > (frame.left + frame.right) / 2
        return (
            tag("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="zero dashed"),
            label(self.marked[1], x - 5 if late else x + 5, frame.top + 2, "end" if late else None),
        )


def spark(values: Sequence[float], width: int = 96, height: int = 20) -> Markup:
    """Return a small curve for a cell of a table, with a dot at its end."""
    low, high = with_room(*value_range(values))
    across, up = Scale(0.0, max(len(values) - 1, 1), 4.0, width - 5.0), Scale(low, high, height - 4.0, 4.0)
    places = [(across.place(x), up.place(y)) for x, y in thinned(list(enumerate(values)), across)]
    end = tag("circle", cx=places[-1][0], cy=places[-1][1], r=2.5, class_="dot") if places else None
    text = f"from {shown(float(values[0]))} to {shown(float(values[-1]))}" if values else "no values"
    return drawing(width, height, text, tag("polyline", points=_path(places), class_="series s0"), end, class_="spark")


def _curve(one: Series, place: int, across: Scale, up: Scale) -> Markup:
    kind = f"s{place % SERIES}"
    known = [point for point in one.points if math.isfinite(point[1])]
    places = [(across.place(x), up.place(y)) for x, y in thinned(known, across)]
    marks = [_shape(place, *point, kind) for point in places] if len(one.points) <= MOST_MARKS else None
    line = f"series {kind}{'' if one.ended else ' running'}"
    return tag("g", tag("title", one.name), tag("polyline", points=_path(places), class_=line), marks)


def _all_points(one: Series) -> Iterator[tuple[float, float]]:
    yield from one.points
    for x, low, high in one.band:
        yield from ((x, low), (x, high))


def _band(one: Series, place: int, across: Scale, up: Scale) -> Markup:
    upper = [(across.place(x), up.place(high)) for x, _, high in one.band]
    lower = [(across.place(x), up.place(low)) for x, low, _ in one.band]
    return tag("polygon", points=_path([*upper, *reversed(lower)]), class_=f"band s{place % SERIES}")


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
        for upper, lower in pairwise(range(len(tops))):
            if (close := SIZE + 3 - (tops[lower] - tops[upper])) > 0:
                tops[upper], tops[lower] = tops[upper] - close / 2, tops[lower] + close / 2
    labels: list[Markup] = []
    for top, (_, place) in zip(tops, ends, strict=True):
        one, x = named[place], across.place(named[place].points[-1][0]) + 10
        if len(one.points) > MOST_MARKS:  # a curve without marks shows its own beside its name
            labels.append(_shape(place, x + 2, top, f"s{place % SERIES}"))
            x += 11
        labels.append(label(shortened(one.name, right - x), x, top + 4, "name", one.name))
    return join(labels)


def _path(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _digits(values: Iterable[float]) -> int:
    """Return how many decimals show about four figures of the largest value."""
    largest = max(map(abs, values), default=0.0)
    return min(max(3 - math.floor(math.log10(largest)), 0), 6) if largest else 2
