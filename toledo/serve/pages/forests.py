"""The picture of a forest: its likeliest part, to be moved and enlarged."""

from __future__ import annotations

from toledo.serve import actions
from toledo.serve.call import Call
from toledo.serve.engine import Engine
from toledo.serve.pages.asked import ViewRequest
from toledo.serve.types import ForestRequest, ForestWindow, KeptForest
from toledo.view.controls import button, select
from toledo.view.forest import Drawn, PlacedDrawn, forest_window
from toledo.view.layout import Box
from toledo.view.markup import Markup, tag
from toledo.view.page import card

POSTERIORS = {"0.01": "0.01", "0.02": "0.02", "0.05": "0.05", "0.1": "0.1", "0.2": "0.2"}
WINDOW = 100_000.0  # pixels: all of the drawing


async def forest_card(engine: Engine, asked: ViewRequest, call: Call, kept: KeptForest | None) -> Markup:
    """Return the picture of a kept forest."""
    if kept is None:
        return tag("section", id="forest", hidden=True)
    least = asked.one_of("posterior", POSTERIORS, "0.02")
    window = ForestRequest(posterior=float(least), width=WINDOW, height=WINDOW,
                           scale=asked.power_of_ten("scale"))  # fmt: skip
    found = await actions.forest_window(engine, window, call, {"id": kept.id})
    controls = tag(
        "span",
        select("posterior", POSTERIORS, least, "posterior at least"),
        button("+", "square", data_do="closer", aria_label="Closer (+)"),
        button("−", "square", data_do="farther", aria_label="Farther (−)"),
        button("Fit", data_do="fit"),
        class_="row",
    )
    size = f"{found.drawn:,} of {found.edges:,} edges, with {found.share:.0%} of the probability "
    box = tag(
        "div", draw_window(found, f"{kept.id}:{least}"), class_="picture", tabindex=0, role="group", data_picture="",
        data_own="data-picture", aria_label="The likeliest part of the forest: arrows move, + and − zoom, 0 resets",
    )  # fmt: skip
    return card("Forest", box, note=[size, controls], level=2, id="forest")


def draw_window(found: ForestWindow, name: str) -> Markup:
    """Draw a window of a forest."""
    places = {one.number: (one.x, one.y) for one in found.placed_nodes}
    edges = [
        PlacedDrawn(
            Drawn(one.number, one.head, tuple(one.tails), one.label, one.text, one.posterior, one.best, True),
            Box(0, one.width, one.height), (one.x, one.y), one.lines,
        )
        for one in found.placed_edges
    ]  # fmt: skip
    return forest_window(places, found.goal, edges, (found.width, found.height), name)
