"""Pages: complete, under a policy that allows nothing but what is inside, and always the same bytes."""

import re
from pathlib import Path

import pytest
from pages import check_page

from toledo.view.curves import Lines, Series
from toledo.view.page import Page, card, columns, paragraph, style_sheet
from toledo.view.plots import figure
from toledo.view.tables import wide

HOSTILE = '"><script>alert(1)</script>\u202e'


def whole_page(script: str = "") -> Page:
    page = Page(f"Title {HOSTILE}", f"Note {HOSTILE}", script)
    for number in (1, 2):
        page.heading(f"Part {number} {HOSTILE}", HOSTILE)
        plot = figure(Lines([Series(HOSTILE, [(0, 1.0), (1, 2.0)])], HOSTILE, HOSTILE, (1, HOSTILE)))
        page.add(columns(card(HOSTILE, plot, note=HOSTILE), card(HOSTILE, HOSTILE, fold=True)), None)
    page.add(wide(paragraph(HOSTILE), HOSTILE))
    return page


@pytest.mark.parametrize("script", ["", 'document.title = "a < b";'])
def test_a_page_is_safe_with_any_text(tmp_path: Path, script: str) -> None:
    page = whole_page(script)
    page.save(tmp_path / "page.html")
    text = check_page(tmp_path / "page.html")
    assert text.count("<script>") == bool(script)
    assert "\u202e" not in text
    assert "⟨U+202E⟩" in text
    assert text == whole_page(script).html
    assert page.headings == [f"Part {number} {HOSTILE}" for number in (1, 2)]
    assert 'href="#part-2"' in text


def test_a_short_page_needs_no_contents_and_follows_a_theme() -> None:
    page = Page("One", theme="dark")
    page.heading("Only")
    assert "<nav" not in page.html
    assert '<html lang="en" data-theme="dark">' in page.html
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def luminance(color: str) -> float:
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_text_is_legible_in_both_themes(theme: int) -> None:
    tokens = {
        name: pair[theme] for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style_sheet())
    }
    for ink in ("ink", "ink-2", "accent", "good", "warn", "bad"):
        for back in ("page", "surface", "sunken"):
            assert contrast(tokens[ink], tokens[back]) >= 4.5
    for back in [f"p{step}" for step in range(9)] + ["less-1", "more-1", "accent-soft"]:
        assert contrast(tokens["ink"], tokens[back]) >= 4.5
    assert contrast(tokens["accent"], tokens["accent-soft"]) >= 4.5
    for mark in ("control", *(f"s{number}" for number in range(6)), "less-3", "more-3"):
        assert contrast(tokens[mark], tokens["surface"]) >= 3.0
    used = set(re.findall(r"var\(--([\w-]+)\)", style_sheet()))
    assert used <= set(re.findall(r"--([\w-]+):", style_sheet()))
