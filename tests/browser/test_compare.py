"""Compare, as a person uses it."""

from pathlib import Path
from typing import Any

import pytest
from browsing import SIZES, number

import toledo

SIZE = 1000
FIRST = "#list .segment:first-child h4 small:text-is('line 1')"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A thousand segments of five systems that get words wrong more or less often, and two references."""
    folder = tmp_path_factory.mktemp("files")
    test = toledo.example_data(train=1, tune=1, test=SIZE).test
    first = list(test.references[0])
    texts = {"test.src": test.sources, "ref.1.txt": first, "ref.2.txt": test.references[1]}
    for place, every in enumerate((3, 4, 5, 7, 11)):
        texts[f"system{place + 1}.txt"] = [_worse(text, every, number) for number, text in enumerate(first)]
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return sorted(folder.iterdir(), key=lambda one: one.name)


def _worse(text: str, every: int, line: int) -> str:
    return " ".join("thing" if (place + line) % every == 0 else word for place, word in enumerate(text.split()))


def compared(visit: Any, files: list[Path], width: int = 1400, theme: str = "light") -> Any:
    page = visit(width, theme).open("/compare")
    page.set_input_files("#entry input[type=file]", files)
    page.wait_for_selector("#segments .segment", timeout=60_000)
    return page


def gains(page: Any) -> list[float]:
    return [number(one) for one in page.locator("#list .segment h4 b").all_inner_texts()]


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_scores_intervals_and_tests_of_five_systems(visit: Any, files: list[Path], width: int, theme: str) -> None:
    page = compared(visit, files, width, theme)
    rows = page.locator("#scores tbody tr")
    assert rows.count() == 5
    texts = {one.name: one.read_text().splitlines() for one in files}
    references = list(zip(texts["ref.1.txt"], texts["ref.2.txt"], strict=True))
    expected = toledo.evaluate(texts["system1.txt"], references, metrics="bleu", interval=None)
    shown = [number(one) for one in page.locator("#scores .score b").all_inner_texts()]
    assert shown[0] == pytest.approx(expected.bleu.score, abs=0.0051)
    assert page.locator("#scores .badge.better").count() > 0
    assert "Holm" in page.inner_text("#scores")
    assert "1,000 of 1,000" in page.inner_text("#segments header")
    assert "ref.1.txt" not in page.inner_text("#scores")


def test_segments_are_sorted_searched_and_walked(visit: Any, files: list[Path]) -> None:
    page = compared(visit, files)
    assert gains(page) == sorted(gains(page), reverse=True)
    page.select_option("#select-sort", "difference")
    page.wait_for_selector("#list .segment:first-child h4 b:has-text('−')")
    assert gains(page) == sorted(gains(page))
    page.keyboard.press("/")
    page.keyboard.type("house")
    page.wait_for_selector("#segments header:not(:has-text('1,000 of 1,000'))")
    assert all("house" in one for one in page.locator("#list .segment").all_inner_texts())
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("#list .segment").nth(1)
    assert page.evaluate("document.activeElement.textContent") == second.text_content()
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == page.locator("#list .segment").nth(0).text_content()


def test_a_bar_and_an_ngram_filter_and_scores_follow(visit: Any, files: list[Path]) -> None:
    page = compared(visit, files)
    before = page.inner_text("#scores tbody")
    page.locator("#plots [data-set^='low']").last.click()
    page.wait_for_selector("#segments .chip")
    page.wait_for_selector("#scores header:has-text('of 1,000 segments')")
    page.locator("#plots [data-set^='gram']").first.click()
    page.wait_for_selector("#segments .chip >> nth=1")
    part = page.inner_text("#scores tbody")
    found = number(page.inner_text("#segments header [role=status]"))
    assert 0 < found < 1000
    assert part != before
    page.locator("#segments .chip").first.click()
    page.wait_for_selector("#segments .chip >> nth=1", state="detached")
    assert number(page.inner_text("#segments header [role=status]")) >= found
    page.locator("#segments .chip").first.click()
    page.wait_for_selector("#segments header:has-text('1,000 of 1,000')")
    assert page.inner_text("#scores tbody") == before


def test_swapped_systems_turn_the_signs(visit: Any, files: list[Path]) -> None:
    page = compared(visit, files)
    page.select_option("#select-sort", "number")
    page.wait_for_selector(FIRST)
    before = gains(page)
    page.click("button:has-text('Swap')")
    page.wait_for_selector("#select-a option[value='1'][selected]", state="attached")
    page.wait_for_selector(FIRST)
    assert gains(page) == [-one for one in before]


def test_a_long_list_shows_any_of_its_rows(visit: Any, files: list[Path]) -> None:
    page = compared(visit, files)
    page.select_option("#select-sort", "number")
    page.wait_for_selector(FIRST)
    assert page.locator("#list .segment").count() < 400, "only rows near the window are in the page"
    page.evaluate("document.getElementById('list').scrollTop = 1e9")
    page.wait_for_selector("#list .segment h4:has-text('line 1000')")
    assert page.locator("#list .segment").count() < 400
    page.evaluate("document.getElementById('list').scrollTop = 0")
    page.wait_for_selector(FIRST)


def test_a_system_with_too_few_lines_is_refused_with_both_counts(visit: Any, files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("one\ntwo\n")
    page = visit().open("/compare")
    page.set_input_files("#entry input[type=file]", [*files, tmp_path / "short.txt"])
    page.wait_for_selector("#problem [role=alert]")
    told = page.inner_text("#problem")
    assert "2" in told
    assert "1000" in told.replace(",", "")
    assert "short.txt" in told


def test_what_a_file_is_can_be_changed(visit: Any, files: list[Path]) -> None:
    page = compared(visit, files)
    page.click("#entry summary")
    page.select_option("select[name='role.system5.txt']", "reference")
    page.wait_for_selector("#scores tbody tr >> nth=4", state="detached")
    assert page.locator("#scores tbody tr").count() == 4
