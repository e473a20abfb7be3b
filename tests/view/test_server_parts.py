"""Parts of the server's pages: what they show is what they were given, and hostile text stays text."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.view.agreement import Agreement
from toledo.view.controls import Slider, chip, choices, select, sliders
from toledo.view.forest import Drawn, PlacedDrawn, forest_window
from toledo.view.layout import Box
from toledo.view.markup import Markup
from toledo.view.shell import PAGES, Shell
from toledo.view.states import Alert, Meter, alert, duration, empty, nothing, progress
from toledo.view.svg import signed_bar
from toledo.view.tables import table
from toledo.view.translations import ListRow, ShownChoice, ShownWord, nbest_table, reasons, rule_rows, source_text

HOSTILE = '"><script>alert(1)</script>\u202e'

EDGE = PlacedDrawn(Drawn(0, 1, (0,), HOSTILE, HOSTILE, 0.5, True, True), Box(0, 9, 9), (5, 5), [[(0, 0), (1, 1)]])


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(markup: str, name: str) -> list[dict[str, str | None]]:
    parser = _Tags()
    parser.feed(markup)
    return [attributes for tag, attributes in parser.found if tag == name]


def plain(markup: str) -> str:
    return unescape(re.sub("<[^>]*>", "", markup))


def agreement(number: int, chosen: int = 0, higher: bool = True) -> Agreement:
    matrix = [[100.0 if i == j else 90.0 - abs(i - j) for j in range(number)] for i in range(number)]
    tree, last = [], 0
    for step in range(number - 1):
        tree.append((last, step + 1, 80.0 - step))
        last = number + step
    return Agreement([f"text {i} {HOSTILE}" for i in range(number)], matrix, range(number), tree, chosen, (0, 1),
                     higher_is_better=higher)  # fmt: skip


@pytest.mark.parametrize(
    "part",
    [
        choices("metric", {"chrf": HOSTILE}, "chrf", HOSTILE),
        select("sort", {HOSTILE: HOSTILE}, HOSTILE, HOSTILE),
        chip(HOSTILE, f"gram={HOSTILE}", HOSTILE),
        sliders([Slider(HOSTILE, HOSTILE, 0.1, 0, 1, 0.01)]),
        alert(Alert(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 3)),
        empty(HOSTILE, HOSTILE, command=HOSTILE),
        progress(Meter(HOSTILE, 1, 2, 3.0, 4.0, HOSTILE, HOSTILE), HOSTILE),
        source_text([HOSTILE], [HOSTILE]),
        rule_rows([ShownChoice([HOSTILE, HOSTILE], [ShownWord(HOSTILE, [0.4], (0, 1), True)], [(HOSTILE, HOSTILE)])]),
        nbest_table([ListRow([HOSTILE], [HOSTILE], 1.0, 0.5, -1.0, 1)], HOSTILE, "against", 1),
        reasons([(HOSTILE, 1.0)], 1.0),
        agreement(3).draw(wide=True),
        forest_window({0: (0, 0), 1: (9, 9)}, 1, [EDGE], (9, 9), HOSTILE),
        Markup(Shell("choose", HOSTILE, title=HOSTILE).html(HOSTILE)),
    ],
)  # fmt: skip
def test_hostile_text_stays_text(part: str) -> None:
    assert "<script>alert" not in part
    assert "\u202e" not in part
    assert not re.search(r"\son\w+=|\sstyle=", part)


def test_a_page_marks_where_the_reader_is_and_loads_only_its_own_files() -> None:
    for name in PAGES:
        text = Shell(name, "note", ask=name == "runs").html(*nothing("problem"))
        current = [one for one in tags(text, "a") if one.get("aria-current")]
        assert [one["href"] for one in current] == [f"/{name}"]
        assert [one["data-key"] for one in tags(text, "a") if "data-key" in one] == list("123456")
        assert all((one["src"] or "").startswith("/static/") for one in tags(text, "script"))
        assert (tags(text, "main")[0].get("data-ask") is not None) == (name == "runs")


def test_sliders_keep_all_decimals_of_their_value() -> None:
    slider = tags(Slider("weight.lm", "lm", 0.123456, -1.0, 1.0, 0.01).draw(), "input")[0]
    assert (slider["value"], slider["min"], slider["step"]) == ("0.123456", "-1", "0.01")


@given(st.floats(0, 1e6), st.one_of(st.none(), st.floats(1, 1e6)))
def test_a_meter_never_leaves_its_frame(done: float, total: float | None) -> None:
    width = float(tags(progress(Meter("x", done, total)), "rect")[1]["width"] or "")
    assert 0 <= width <= 100


def test_time_left_is_in_words() -> None:
    assert [duration(0.2), duration(15.4), duration(61), duration(600)] == ["1 s", "15 s", "1 min", "10 min"]


def test_reasons_are_sorted_by_size_and_show_their_sum() -> None:
    shown = reasons([("small", 0.1), ("none", 0.0), ("large", -2.0)], -1.9)
    assert re.findall("large|small|none", plain(shown)) == ["large", "small"]
    assert plain(shown).endswith("−1.90")


def test_bars_begin_in_the_middle_and_stay_inside() -> None:
    for share in (-3.0, -0.5, 0.0, 0.5, 3.0):
        bar = tags(signed_bar(share, 100), "rect")[0]
        left, width = float(bar["x"] or ""), float(bar["width"] or "")
        assert 0 <= left <= left + width <= 100
        assert (left + width if share < 0 else left) == pytest.approx(50)


def test_selected_rows_say_so_and_set_their_choice() -> None:
    rows = tags(table(["a"], [["x"], ["y"]], best=1, picks=["n=1", "n=2"]), "tr")[1:]
    assert [one["data-set"] for one in rows] == ["n=1", "n=2"]
    assert [one["aria-selected"] for one in rows] == ["false", "true"]


def test_words_are_dotted_below_one_half_and_lead_to_their_source() -> None:
    likely, doubtful = tags(ShownWord("a", [0.9], (1, 3)).draw() + ShownWord("b", [0.4, 0.2]).draw(), "span")
    assert (likely["class"], likely["data-source"]) == ("w p7", "1-3")
    assert doubtful["class"] == "w p3 low"
    assert doubtful["title"] == "p = 0.40, 2-gram 0.20"


@pytest.mark.parametrize("number", [2, 9, 30, 64])
def test_each_field_of_a_matrix_is_its_pair(number: int) -> None:
    one = agreement(number)
    for wide in (True, False):
        drawn = one.draw(wide)
        titles = re.findall(r"<title>(.*?)</title>", drawn)
        assert len([title for title in titles if " against " in title]) == number * (number - 1)
        boxes = [box for box in tags(drawn, "rect") if box.get("class") != "self"]
        assert all(float(box["x"] or 0) + float(box["width"] or 0) <= drawn.width for box in boxes)


def test_a_stray_text_does_not_flatten_the_scale() -> None:
    matrix = [[100.0, 90.0, 5.0], [88.0, 100.0, 6.0], [4.0, 6.0, 100.0]]
    even = [[100.0, 90.0, 85.0, 84.0], [88.0, 100.0, 86.0, 83.0], [85.0, 86.0, 100.0, 87.0], [2.0, 82.0, 81.0, 100.0]]
    found = Agreement("abcd", even, range(4), [], 0, (0, 1))
    assert found.ends()[0] >= 50
    assert "up to" in found.key("chrF")
    lower = Agreement("abc", matrix, range(3), [], 0, (0, 1), higher_is_better=False)
    assert lower.ends() == (4.0, 90.0)


def test_a_shade_is_darker_for_better_scores_of_either_direction() -> None:
    matrix = [[0.0, 10.0, 90.0], [20.0, 0.0, 80.0], [70.0, 60.0, 0.0]]
    for higher in (True, False):
        drawn = Agreement("abc", matrix, range(3), [], 0, (0, 1), higher_is_better=higher).draw(wide=True)
        groups = re.findall(r'<title>(\w) against (\w): .*?</title><rect class="p(\d)"', drawn)
        shades = {(one, other): int(shade) for one, other, shade in groups}
        assert (shades["a", "c"] > shades["a", "b"]) == higher
