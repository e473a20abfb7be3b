"""Markup: everything that is not markup is escaped, and nothing in a text is hidden."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.view.markup import Markup, join, tag, visible


class Reader(HTMLParser):
    """Collects tags, attributes and text as a browser would find them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(st.characters(exclude_characters="\r")), st.text(st.characters(exclude_characters="\r")))
def test_a_browser_reads_back_any_text_and_any_attribute(text: str, title: str) -> None:
    reader = Reader()
    reader.feed(tag("p", text, title=title))
    reader.close()
    assert reader.tags == ["p"]
    assert reader.text == visible(text)
    assert reader.attributes == [("title", visible(title))]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;", "'"])
def test_hostile_text_stays_text(text: str) -> None:
    reader = Reader()
    reader.feed(tag("p", text, class_=text))
    assert reader.tags == ["p"]
    assert reader.text == text


def test_what_cannot_be_seen_is_marked() -> None:
    assert visible("a\u202eb\u2066c\x1b[0m\x7f\x00") == "a⟨U+202E⟩b⟨U+2066⟩c␛[0m␡␀"
    assert visible("tab\tand\nline, שלום \u200f and e\u0301") == "tab\tand\nline, שלום \u200f and e\u0301"
    visible("\ud800").encode()  # half a character can be written


def test_children_and_attributes() -> None:
    inner = tag("b", "x & y")
    assert tag("p", inner, None, [1, (2.5, "<")], id="a-1") == '<p id="a-1"><b>x &amp; y</b>12.5&lt;</p>'
    assert tag("br") == "<br>"
    assert (
        tag("rect", x=1.0, y=2.456, width=3, stroke_width=1.5) == '<rect x="1" y="2.46" width="3" stroke-width="1.5"/>'
    )
    assert tag("input", disabled=True, checked=False, aria_label=None) == '<input disabled="">'
    assert join("a", Markup("<i></i>"), between=" & ") == "a &amp; <i></i>"


@pytest.mark.parametrize("name", ["style", "onclick"])
def test_attributes_that_the_policy_forbids_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        tag("p", **{name: "x"})
