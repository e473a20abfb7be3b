"""Plots: what is drawn lies where it should, and the same numbers are in a table."""

import math
import re
import xml.etree.ElementTree as ElementTree
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.view.axes import Scale, thinned, tick_texts, ticks
from toledo.view.curves import Lines, Series, spark
from toledo.view.plots import Bar, Bars, Dot, Dots, Histogram, Plot, figure, histogram
from toledo.view.svg import grid, shortened, svg_file, text_width

VALUES = st.floats(-1e6, 1e6)
POINTS = st.lists(st.tuples(st.integers(0, 50), VALUES), min_size=1, max_size=20, unique_by=lambda point: point[0])
PLOTS: list[Plot] = [
    Lines([Series("<a>", [(0, 1.0), (1, 3.0)]), Series("", [(0, 2.0)])], "round", "BLEU", (1, "best"), whole=True),
    Lines([Series("one", [(0, 1.0)])], "step", "score", logarithmic=True),
    Lines([], "round", "BLEU"),
    Histogram(["−10", "equal", "10"], [3, 10, 5], "difference", ["less", "even", "more"], "a better", "b better"),
    Histogram([], [], "nothing"),
    Dots([Dot("a", 40.0, 39.0, 41.0, "12"), Dot("b", 40.5)], "BLEU", 40.0, "n"),
    Bars([Bar("lm", [0.5], "a note"), Bar("word", [-0.25])], "weight", sign=True),
    Bars([Bar("x", [1.0, 2.0])], "gain", ("one", "two"), title="A title"),
]  # fmt: skip


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("width", [330, 720])
def test_drawings_are_valid_and_nothing_lies_outside(plot: Plot, width: int) -> None:
    drawn = plot.draw(width)
    root = ElementTree.fromstring(drawn)
    assert drawn.width == width
    assert "nan" not in drawn
    assert not re.search(r"#[0-9a-f]{3}|rgb\(", drawn)  # colors are classes
    for element in root.iter():
        for name, most in (
            ("x", drawn.width),
            ("cx", drawn.width),
            ("x1", drawn.width),
            ("y", drawn.height),
            ("cy", drawn.height),
        ):
            assert -0.5 <= float(element.get(name, "0")) <= most + 0.5
    assert plot.draw(width) == drawn


@given(st.lists(POINTS, min_size=1, max_size=3), st.booleans())
def test_curves_lie_inside_their_frame(curves: list[list[tuple[float, float]]], logarithmic: bool) -> None:
    plot = Lines(
        [Series(str(place), sorted(one)) for place, one in enumerate(curves)], "x", "y", logarithmic=logarithmic
    )
    drawn = plot.draw(400)
    places = [pair.split(",") for line in re.findall(r'points="([^"]*)"', drawn) for pair in line.split()]
    assert all(0 <= float(x) <= 400 and 20 <= float(y) <= 225 for x, y in places)


def test_higher_values_are_drawn_higher_and_later_ones_to_the_right() -> None:
    (line,) = re.findall(
        r'<polyline points="([^"]*)"', Lines([Series("a", [(0, 1.0), (1, 3.0), (2, 2.0)])], "x", "y").draw(400)
    )
    (x0, y0), (x1, y1), (x2, y2) = ((float(x), float(y)) for x, y in (pair.split(",") for pair in line.split()))
    assert x0 < x1 < x2
    assert math.isclose(x1 - x0, x2 - x1, abs_tol=0.11)
    assert y1 < y2 < y0
    assert math.isclose((y0 - y1) / 2, y0 - y2, abs_tol=0.11)


def test_scores_do_not_begin_at_zero_but_amounts_do() -> None:
    dots = ElementTree.fromstring(Dots([Dot("a", 40.0), Dot("b", 41.0)], "BLEU").draw(400))
    first, second = (float(dot.get("cx", "")) for dot in dots.iter("circle"))
    assert second - first > 150
    bars = ElementTree.fromstring(Bars([Bar("a", [20.0]), Bar("b", [40.0])], "amount").draw(400))
    short, long = (float(bar.get("width", "")) for bar in bars.iter("rect"))
    assert math.isclose(2 * short, long, rel_tol=0.01)


def test_losses_and_gains_have_classes_of_their_own() -> None:
    drawn = Bars([Bar("a", [1.0]), Bar("b", [-1.0])], "gain").draw(400)
    assert re.findall('class="(bar[^"]*)"', drawn) == ["bar more", "bar less"]
    assert re.findall('class="(bar[^"]*)"', Bars([Bar("a", [1.0])], "amount").draw(400)) == ["bar"]


@pytest.mark.parametrize("plot", PLOTS)
def test_figures_have_both_widths_and_the_numbers(plot: Plot) -> None:
    found = figure(plot)
    ElementTree.fromstring(found)
    assert found.count("<svg") == 2
    assert "<summary>as a table</summary>" in found
    assert figure(plot, 360).count("<svg") == 1


def test_the_table_has_the_numbers_of_all_curves() -> None:
    header, rows = Lines([Series("a", [(0, 40.125), (1, 41.0)]), Series("b", [(1, 0.5)])], "round", "BLEU").rows()
    assert header == ["round", "a", "b"]
    assert rows == [["0", "40.12", ""], ["1", "41.00", "0.5000"]]
    long = Lines([Series("a", [(x, float(x)) for x in range(1000)])], "x", "y")
    assert "as a table: 100 of 1,000 rows" in figure(long)


@given(st.randoms(use_true_random=False), st.integers(300, 3000))
def test_thinned_curves_keep_the_extremes_of_each_pixel(random: Random, size: int) -> None:
    points = [(float(x), random.gauss(0.0, 1.0)) for x in range(size)]
    across = Scale(0.0, len(points) - 1.0, 0.0, 100.0)
    kept = thinned(points, across)
    assert len(kept) <= 2 * 101
    assert [x for x, _ in kept] == sorted(x for x, _ in kept)
    for pixel in (0, 50, 100):
        here = [y for x, y in points if round(across.place(x)) == pixel]
        assert {min(here), max(here)} == {y for x, y in kept if round(across.place(x)) == pixel}


@given(VALUES, st.floats(0.01, 1e6), st.integers(2, 10))
def test_ticks_are_round_few_and_inside(low: float, size: float, most: int) -> None:
    found = ticks(low, low + size, most)
    assert 1 <= len(found) <= 2 * most + 1
    assert all(low - size * 1e-6 <= one <= low + size * (1 + 1e-6) for one in found)
    assert len(set(tick_texts(found))) == len(found) or abs(low) > 1e4 * size


def test_ticks_of_rounds_are_whole() -> None:
    assert ticks(0, 3, 6, whole=True) == [0, 1, 2, 3]
    assert Scale(0, 100_000, 0, 1, logarithmic=True, unit=1.0).ticks(4) == [0.0, 10.0, 1000.0, 100_000.0]
    assert tick_texts([0.5, 1.0, 1.5]) == ["0.5", "1.0", "1.5"]


@given(st.lists(VALUES, max_size=200))
def test_histograms_count_everything_once(values: list[float]) -> None:
    found = histogram(values, "x")
    assert sum(found.counts) == len(values)
    assert len(found.labels) == len(found.counts) <= 22
    if values and len(found.counts) > 1:
        assert found.counts[0] > 0
        assert found.counts[-1] > 0


def test_numbers_that_are_none_are_left_out() -> None:
    assert sum(histogram([1.0, math.nan, math.inf], "x").counts) == 1
    assert spark([1.0, 2.0]).count("<circle") == 1
    assert "no values" in spark([])


def test_a_file_of_its_own_needs_no_page() -> None:
    one, two = PLOTS[0].draw(400), PLOTS[3].draw(300)
    text = svg_file(grid([[("first", one), ("second", two)], [("third", two)]], "all"))
    root = ElementTree.fromstring(text)
    assert root.get("width") == str(400 + 24 + 300 + 2 * 12)
    assert root.get("height") == str(int(one.height + two.height + 2 * 26 + 24 + 2 * 12))
    assert "var(" not in text
    assert "light-dark" not in text
    assert "fill: #2365a8" in text


def test_long_names_are_cut() -> None:
    assert shortened("short", 100) == "short"
    cut = shortened("a name that is much too long", 60)
    assert cut.endswith("…")
    assert text_width(cut) <= 60
    assert text_width("家") > text_width("a")
    assert text_width("\u202e") == text_width("⟨U+202E⟩")
    assert "\u202e" not in shortened("\u202e" * 10, 60)
