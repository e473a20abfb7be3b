"""Controls of pages that ask a server: buttons, choices, sliders and chips.

A control says in `data` attributes what it means; the script of the page reads them. `name` is a choice that becomes
part of the request and of the address, `data-set="name=value"` sets one, `data-do` names an action of the page itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toledo.view.markup import Child, Markup, join, tag
from toledo.view.tables import fixed


def button(text: Child, kind: str = "", **attributes: str | float | bool | None) -> Markup:
    """Return a button; `kind` is main, quiet or square."""
    return tag("button", text, type="button", class_=f"button {kind}".strip(), **attributes)


def choices(name: str, values: Mapping[str, str], chosen: str, description: str) -> Markup:
    """Return a row of buttons of which one is pressed; `values` are shown by their names."""
    buttons = [
        tag("button", shown, type="button", data_set=f"{name}={value}", id=f"{name}-{value}",
            aria_pressed="true" if value == chosen else "false")
        for value, shown in values.items()
    ]  # fmt: skip
    return tag("span", buttons, class_="choices", role="group", aria_label=description)


def select(
    name: str, values: Mapping[str, str], chosen: str, description: str, **attributes: str | bool | None
) -> Markup:
    """Return a list of which one is selected, behind its description."""
    options = [tag("option", shown, value=value, selected=value == chosen) for value, shown in values.items()]
    chooser = tag("select", options, name=name, id=f"select-{name}", **attributes)
    return tag("label", description, " ", chooser, class_="row note")


def chip(text: str, set_: str, description: str) -> Markup:
    """Return a filter that can be taken away."""
    return tag("button", text, " ×", type="button", class_="chip", data_set=set_, aria_label=description)


def step_buttons(place: int, number: int, also: str = "") -> Markup | None:
    """Return which segment of several is shown, with buttons to the previous and the next one, which take `also` away.

    There are none if there is one segment.
    """
    if number < 2:
        return None
    return tag(
        "span",
        f"segment {place + 1:,} of {number:,}",
        button("‹", "square", data_set=f"segment={place}&{also}", data_key="k", disabled=place == 0,
               aria_label="Previous segment (k)"),
        button("›", "square", data_set=f"segment={place + 2}&{also}", data_key="j", disabled=place + 1 == number,
               aria_label="Next segment (j)"),
        class_="row",
    )  # fmt: skip


@dataclass(frozen=True)
class Slider:
    """A number that can be changed: `logarithmic` ones send the power of ten; `shown` is what stands behind it."""

    name: str
    label: str
    value: float
    low: float
    high: float
    step: float
    shown: str = ""

    def draw(self, long: bool = False) -> Markup:
        """Return name, slider and number; a long one has its name and number above it."""
        number = tag("output", self.shown or fixed(self.value), id=f"value-{self.name}")
        slider = tag(
            "input", type="range", name=self.name, id=f"slider-{self.name}", min=_exact(self.low),
            max=_exact(self.high), step=_exact(self.step), value=_exact(self.value), aria_label=self.label,
        )  # fmt: skip
        if long:
            return tag("div", tag("div", tag("span", self.label), number, class_="row spread"), slider)
        return join(tag("span", self.label, title=self.label), slider, number)


def sliders(each: Sequence[Slider]) -> Markup:
    """Return sliders below each other."""
    return tag("div", [one.draw() for one in each], class_="weights")


def _exact(value: float) -> str:
    """Return a number as a slider takes it: with no more decimals than it needs, but all of them."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
