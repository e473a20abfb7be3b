"""Tables and numbers: columns of numbers are aligned right, with a real minus."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TypeAlias

from toledo.view.markup import Child, Markup, tag

NUMBER = re.compile(r"[−+-]?[0-9][0-9,]*(\.[0-9]+)?( ?%)?")
LONG = 24  # characters of a text that should not break after every word
MINUS = "−"

Cell: TypeAlias = "str | int | float | None"  # text is escaped; Markup is text that is not
Rows: TypeAlias = Sequence[Sequence[Cell]]


def fixed(value: float, digits: int = 2, sign: bool = False) -> str:
    """Return a number with that many decimals, thousands apart, and a real minus; `sign` writes + as well."""
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    return (text.lstrip("+-") if not any(letter in text for letter in "123456789") else text).replace("-", MINUS)


def shown(value: Cell) -> str:
    """Return the text of a cell: numbers with four significant figures, thousands apart."""
    if isinstance(value, str):
        return value
    return "" if value is None else (f"{value:,.4g}" if isinstance(value, float) else f"{value:,}").replace("-", MINUS)


def table(
    header: Sequence[Child],
    rows: Rows,
    *,
    description: str = "table",
    optional: Collection[int] = (),
    best: int = -1,
    picks: Sequence[str] = (),
) -> Markup:
    """Return a table that scrolls if it is wider than the screen.

    Cells are text, numbers or markup. Columns named in `optional` are left out on a phone; row `best` stands out.
    `picks` are the choices that rows make when they are selected, `name=value`; then `best` is the selected one.
    """
    numeric = [
        bool(rows) and all(_is_number(row[place]) or row[place] in ("", None) for row in rows)
        for place in range(len(header))
    ]
    kinds = [_kind(number, place in optional) for place, number in enumerate(numeric)]
    head = tag("tr", [tag("th", name, class_=kind, scope="col") for name, kind in zip(header, kinds, strict=True)])
    body = [
        (
            tag(
                "tr",
                [_cell(*pair) for pair in zip(row, kinds, strict=True)],
                class_=" ".join(["pick"] * bool(picks) + ["best"] * (place == best)) or None,
                **(_pick(picks[place], place == best) if picks else {}),
            ),
            "\n",
        )
        for place, row in enumerate(rows)
    ]
    return wide(tag("table", tag("thead", head), "\n", tag("tbody", "\n", body)), description)


def wide(part: Child, description: str, class_: str = "scroll") -> Markup:
    """Return a box for what may be wider than the screen, which can be scrolled, by keys too."""
    return tag("div", part, class_=class_, role="region", tabindex=0, aria_label=description)


def facts(pairs: Sequence[tuple[str, Child]]) -> Markup:
    """Return the few figures that matter most, large, each below its name."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_="facts")


def _pick(choice: str, selected: bool) -> dict[str, str | int]:
    return {"data_set": choice, "tabindex": 0, "aria_selected": "true" if selected else "false"}


def _cell(value: Cell, kind: str | None) -> Markup:
    text = value if isinstance(value, Markup) else shown(value)
    long = kind is None and not isinstance(text, Markup) and len(text) > LONG
    return tag("td", text, class_="long" if long else kind, dir="auto" if long else None)


def _kind(number: bool, optional: bool) -> str | None:
    return " ".join(name for name, on in (("number", number), ("optional", optional)) if on) or None


def _is_number(value: Cell) -> bool:
    """Return whether a cell is a number, or the text of a rounded one."""
    if isinstance(value, Markup):
        return False
    return isinstance(value, int | float) or bool(NUMBER.fullmatch(value or "x"))
