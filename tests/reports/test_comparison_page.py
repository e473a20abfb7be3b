"""The page of a comparison: safe, complete without its script, and every mark leads to segments."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

import toledo
from toledo.reports.comparison import comparison_page
from toledo.reports.segments import MOST_SEGMENTS

REFERENCES = ["the cat sat on the mat .", "three men walk up a hill .", "hello <b>world</b>", ""] * 3
ONE = ["the cat sat on a mat .", "three men are walking uphill .", "hello <script>alert(1)</script>", ""] * 3
TWO = ["the cat sat on the mat .", "three men walk up a hill .", "hi \u202eworld", "x"] * 3
THREE = ["a dog", "three men walk", '"><img onerror=1 src=x>', ""] * 3


class Elements(HTMLParser):
    """Tags with their attributes, and the text of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.raw[self.open[-1]] = data

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def page_of(systems, references, **options):
    comparison = toledo.compare(systems, references, tokenize="none", resamples=20, **options)
    return Elements(toledo.report(comparison, title="A page").html)


@pytest.fixture(scope="module")
def page():
    return page_of({"one": ONE, "two": TWO, "<three>": THREE}, REFERENCES, sources=[f"s{i}" for i in range(12)])


def test_all_elements_are_closed_and_nothing_of_the_texts_is_run(page):
    assert page.open == []
    assert len(page.named("script")) == 1
    assert not page.named("img")
    assert not [
        attributes for _, attributes in page.found if "style" in attributes or any(k[:2] == "on" for k in attributes)
    ]


def test_the_policy_allows_our_script_and_style_only(page):
    policy = next(one["content"] for one in page.named("meta") if one.get("http-equiv") == "Content-Security-Policy")
    for name, text in page.raw.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert set(page.raw) == {"script", "style"}
    assert "default-src 'none'" in policy


def test_every_link_leads_to_a_segment_or_a_heading(page):
    ids = {attributes["id"] for _, attributes in page.found if "id" in attributes}
    links = page.named("a")
    assert links
    assert all(one["href"].startswith("#") and one["href"][1:] in ids for one in links)


def test_the_script_finds_segments_for_every_mark(page):
    segments = {one["id"]: one["data-marks"].split() for one in page.named("article")}
    shown = [one for one in page.named("a") if "data-show" in one]
    assert {one["data-show"][0] for one in shown} == {"d", "g", "n"}
    for one in shown:
        assert one["data-show"] in segments[one["href"][1:]]
        assert one["data-name"]
    assert all(len(one["data-gains"].split()) == 2 for one in page.named("article"))


def test_bars_count_the_segments_that_they_lead_to(page):
    comparison = toledo.compare({"one": ONE, "two": TWO}, REFERENCES, resamples=20)
    (pair,) = comparison.analyze().pairs
    found = Elements(toledo.report(comparison).html)
    marks = [mark for one in found.named("article") for mark in one["data-marks"].split()]
    assert [marks.count(f"d0:{place}") for place in range(11)] == [bar.segments for bar in pair.histogram]
    for place, ngram in enumerate((*pair.won, *pair.lost)):
        assert marks.count(f"g0:{place}") == len(ngram.segments)


def test_the_largest_differences_come_first_and_long_lists_are_cut():
    size = MOST_SEGMENTS + 50
    references = [f"word {i} is here" for i in range(size)]
    worse = [text.replace("here", "there") if i % 2 else text for i, text in enumerate(references)]
    html = toledo.report(toledo.compare({"a": references, "b": worse}, references, resamples=5, metrics="chrf")).html
    segments = Elements(html).named("article")
    assert len(segments) == MOST_SEGMENTS
    gains = [abs(float(one["data-gains"])) for one in segments]
    assert gains == sorted(gains, reverse=True)
    assert f"{MOST_SEGMENTS:,} of {size:,} segments" in html
    assert len(html) < 2_000_000


@pytest.mark.parametrize("interval", [0.95, None])
def test_one_segment(interval):
    page = page_of({"a": ["x"], "b": [""]}, ["x"], interval=interval)
    assert [one["id"] for one in page.named("article")] == ["line-1"]


def test_metrics_without_references():
    metric = toledo.utility(lambda hypotheses, references, sources: list(map(len, hypotheses)), needs=())
    page = page_of({"a": ["x", "y"], "b": ["xx", "y"]}, None, metrics=[metric])
    assert len(page.named("article")) == 2


def test_the_same_comparison_gives_the_same_bytes():
    comparison = toledo.compare({"one": ONE, "two": TWO}, REFERENCES, resamples=20)
    first, second = (comparison_page(comparison, comparison.analyze()).html for _ in range(2))
    assert first == second
    assert re.search(r"better in \d+, equal in \d+, worse in \d+", first)
    assert "paired bootstrap against" in first
    assert "two-sided, 20 resamples of 12 segments" in first
