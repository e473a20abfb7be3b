"""Combine, as a person uses it."""

import re
from pathlib import Path
from typing import Any

import pytest
from browsing import SIZES, moved, number, saved

OUTPUTS = {
    "one.txt": ["the cat sat on the mat .", "a dog barks loudly ."],
    "two.txt": ["the cat sits on the mat .", "the dog barks loudly ."],
    "three.txt": ["a cat sat on a mat .", "the dog barks ."],
    "four.txt": ["the cat sits on a mat .", "a dog is barking ."],
    "reference.txt": ["the cat sat on a mat .", "the dog barks loudly ."],
}


def combined(visit: Any, folder: Path, width: int = 1400, theme: str = "light") -> Any:
    for name, lines in OUTPUTS.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    page = visit(width, theme).open("/combine")
    page.set_input_files("#entry input[type=file]", [folder / name for name in OUTPUTS])
    page.wait_for_selector("#result .plot:visible svg.network")
    return page


def boxes(page: Any) -> list[tuple[str, float, str]]:
    """Words of the network that is seen, with their votes and their systems."""
    shown = page.locator("#result .plot:visible svg.network g > title").evaluate_all(
        "all => all.map((one) => one.textContent)"
    )
    found = [re.fullmatch(r"(.*): ([\d.]+) \((.*)\)", one) for one in shown]
    return [(one[1], float(one[2]), one[3]) for one in found if one]


def columns(page: Any) -> list[float]:
    """The sums of votes of all columns: words below each other in a row of the network."""
    script = """all => all.map((one) => [`${[...document.querySelectorAll("svg")].indexOf(one.closest("svg"))}
        ${one.querySelector("rect").getAttribute("x")}`,
        Number(one.querySelector("title").textContent.match(/: ([\\d.]+) \\(/)[1])])"""
    sums: dict[str, float] = {}
    for column, votes in page.locator("#result .plot:visible svg.network g:has(rect)").evaluate_all(script):
        sums[column] = sums.get(column, 0.0) + votes
    return list(sums.values())


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_four_outputs_give_a_network_and_a_result(visit: Any, tmp_path: Path, width: int, theme: str) -> None:
    page = combined(visit, tmp_path, width, theme)
    words = page.locator("#result .choice .w").all_inner_texts()
    framed = page.locator("#result .plot:visible g:has(.chosen) text.word").all_text_contents()
    assert framed == words
    assert len(page.locator("#outputs dt").all_inner_texts()) == 4
    assert "the cat sat on a mat ." in page.inner_text("#result .segment")
    assert page.locator("#scores tbody tr").count() == 5
    assert all(one == pytest.approx(1, abs=0.01) for one in columns(page))


def test_a_system_without_a_share_has_no_votes(visit: Any, tmp_path: Path) -> None:
    page = combined(visit, tmp_path)
    before = page.inner_text("#result .choice")
    assert any("one.txt" in names for _, _, names in boxes(page))
    moved(page, "[id='slider-share.one.txt']", 0)
    moved(page, "[id='slider-share.three.txt']", 0)
    page.wait_for_selector("#shares:has-text('changed by hand')")
    voted = [(word, names) for word, votes, names in boxes(page) if votes > 0]
    assert not any("one.txt" in names or "three.txt" in names for _, names in voted)
    assert all(one == pytest.approx(1, abs=0.01) for one in columns(page))
    assert "sits" in page.inner_text("#result .choice")
    page.click("#shares button:has-text('Reset')")
    page.wait_for_selector("#shares:has-text('equal shares')")
    assert page.inner_text("#result .choice") == before


def test_the_picture_is_a_file_of_its_own(visit: Any, tmp_path: Path, browser: Any) -> None:
    page = combined(visit, tmp_path)
    (tmp_path / "network.svg").write_text(saved(page, "#result [data-part=network]"))
    other = browser.new_page()
    other.goto((tmp_path / "network.svg").as_uri())
    texts = other.locator("text.word").all_text_contents()
    assert sorted(texts) == sorted(page.locator("#result .plot.wide text.word").all_text_contents())
    fill = "getComputedStyle(document.querySelector('rect.chosen')).fill"
    assert other.evaluate(fill) == page.evaluate(fill)
    other.close()


def test_segments_follow_each_other(visit: Any, tmp_path: Path) -> None:
    page = combined(visit, tmp_path)
    page.keyboard.press("j")
    page.wait_for_selector("#result:has-text('segment 2 of 2')")
    assert "barks" in page.inner_text("#result .choice")
    lines = saved(page, "#result [data-part=text]").splitlines()
    assert lines[1].split() == page.locator("#result .choice .w").all_inner_texts()
    assert number(page.inner_text("#scores tbody tr >> nth=0")) >= 0
