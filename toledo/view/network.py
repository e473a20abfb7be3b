"""Confusion networks: columns of words, their votes, the letters of the systems that vote for them, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_letters

from toledo.view.markup import Markup, join, tag
from toledo.view.svg import Drawing, drawing, label, text_width
from toledo.view.text import shade

NOTHING = "–"
LETTERS = ascii_letters[26:] + ascii_letters[:26]
LINE, BOX, GAP, MARGIN = 46.0, 26.0, 10.0, 4.0
WORD, SMALL = 13.0, 10.0  # sizes of letters
WIDE, NARROW = 1280.0, 330.0
FEW = 8  # systems whose letters can all be shown
MOST_WORDS = 6  # of a column


@dataclass(frozen=True)
class ShownArc:
    """A word (or none) in a column: its votes, its systems, and whether it is on the path of the result.

    `others` are the words that it stands for, if it stands for several.
    """

    word: str
    votes: float
    systems: tuple[int, ...]
    chosen: bool
    others: tuple[str, ...] = ()


Columns = Sequence[Sequence[ShownArc]]


def letter(system: int) -> str:
    """Return the letter that stands for a system: A to Z, a to z, then numbers."""
    return LETTERS[system] if system < len(LETTERS) else str(system + 1)


def letters(systems: Sequence[int]) -> str:
    """Return the letters of some systems in a row; numbers, which there are beyond 52, stand apart."""
    return "".join(letter(one) if one < len(LETTERS) else f" {letter(one)}" for one in systems)


def voters(systems: Sequence[int], number: int) -> str:
    """Return who votes, of a number of systems: their letters, or in fewer words if there are many."""
    missing = [one for one in range(number) if one not in set(systems)]
    if number <= FEW or len(systems) <= FEW // 2:
        return letters(systems)
    if len(missing) <= FEW // 2:
        return f"all but {letters(missing)}" if missing else "all"
    return f"{len(systems)} of {number}"


def short_column(column: Sequence[ShownArc]) -> list[ShownArc]:
    """Return a column with the words of fewest votes, but for that of the result, put together."""
    if len(column) <= MOST_WORDS:
        return list(column)
    kept = [one for place, one in enumerate(column) if place < MOST_WORDS - 1 or one.chosen]
    rest = [one for place, one in enumerate(column) if place >= MOST_WORDS - 1 and not one.chosen]
    systems = sorted({system for one in rest for system in one.systems})
    words = tuple(one.word for one in rest)
    return [*kept, ShownArc(f"+{len(rest)}", sum(one.votes for one in rest), tuple(systems), False, words)]


def network(columns: Columns, systems: Sequence[str], wide: float = WIDE) -> Markup:
    """Return a network for a screen with that much room and for a phone, in rows that are as wide as either."""
    short = [short_column(column) for column in columns]
    return join(
        tag("div", [network_drawing(row, systems) for row in _rows(short, room, len(systems))], class_=f"plot {kind}")
        for kind, room in (("wide", wide), ("narrow", NARROW))
    )


def network_drawing(columns: Columns, systems: Sequence[str]) -> Drawing:
    """Return the drawing of a network: the more votes a box has, the stronger its shade; the result is framed."""
    widths = [_column_width(column, len(systems)) for column in columns]
    lefts = list(accumulate((width + GAP for width in widths), initial=MARGIN))
    height = 2 * MARGIN + LINE * max(map(len, columns), default=1)
    boxes, way = [], []
    for left, width, column in zip(lefts, widths, columns, strict=False):
        for row, one in enumerate(column):
            top = MARGIN + LINE * row
            boxes.append(_box(one, left, top, width, systems))
            if one.chosen:
                way += [f"{left:.0f},{top + BOX / 2:.0f}", f"{left + width:.0f},{top + BOX / 2:.0f}"]
    line = tag("polyline", points=" ".join(way), class_="way") if way else None
    size = lefts[-1] - GAP + MARGIN
    return drawing(size, height, f"confusion network of {len(columns)} columns", line, boxes, class_="network")


def _rows(columns: Columns, room: float, systems: int) -> Iterator[Columns]:
    """Yield a network in pieces that fit into some room."""
    row: list[Sequence[ShownArc]] = []
    left = room - 2 * MARGIN
    for column in columns:
        width = _column_width(column, systems) + GAP
        if row and width - GAP > left:
            yield row
            row, left = [], room - 2 * MARGIN
        row.append(column)
        left -= width
    yield row


def _column_width(column: Sequence[ShownArc], systems: int) -> float:
    """Return room for the words, and below each for the letters of its systems and a number."""
    return max(
        (max(text_width(one.word, WORD) + 14, text_width(voters(one.systems, systems), SMALL) + 34) for one in column),
        default=0.0,
    )


def _box(one: ShownArc, left: float, top: float, width: float, systems: Sequence[str]) -> Markup:
    names = ", ".join(systems[number] for number in one.systems)
    return tag(
        "g",
        tag("title", f"{', '.join(one.others) or one.word}: {one.votes:.3f} ({names})"),
        tag(
            "rect",
            x=left,
            y=top,
            width=width,
            height=BOX,
            rx=5,
            class_=f"box {shade(one.votes)}{' chosen' if one.chosen else ''}",
        ),
        label(one.word, left + width / 2, top + 17, "nothing" if one.word == NOTHING else "word"),
        label(voters(one.systems, len(systems)), left + 1, top + BOX + 11, "voters"),
        label(f"{one.votes:.2f}", left + width - 1, top + BOX + 11, "votes"),
    )
