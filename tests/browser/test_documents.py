"""Documents, as a person uses it."""

import re
from typing import Any

import pytest
from browsing import SIZES, number

import toledo

LINES = list(toledo.example_data(train=1, tune=1, test=12).test.sources)


def started(visit: Any, width: int = 1400, theme: str = "light", steps: int = 3000, seed: int = 7) -> Any:
    page = visit(width, theme).open("/documents")
    page.wait_for_selector("[id='field-document.consistency']")
    page.fill("#document-text", "\n".join(LINES))
    page.fill("[id='field-document.consistency']", "20")
    page.select_option("#select-start", "random")
    page.fill("#field-steps", str(steps))
    page.fill("#field-seed", str(seed))
    page.wait_for_timeout(250)
    page.click("[data-do=go]")
    page.wait_for_selector("#document div")
    return page


def finished(page: Any) -> Any:
    page.wait_for_selector("#progress[hidden]", state="attached", timeout=60_000)
    return page


def text(page: Any) -> str:
    return page.inner_text("#document .document")


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_a_search_runs_and_its_steps_can_be_seen(visit: Any, width: int, theme: str) -> None:
    page = finished(started(visit, width, theme))
    assert "3,000 of 3,000" in page.inner_text("#course header")
    now = text(page)
    page.locator("#slider-step").focus()
    page.keyboard.press("Home")
    page.wait_for_selector("#document header:has-text('as it began')")
    assert text(page) != now
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#document ins")
    page.click("#course button:has-text('Now')")
    page.wait_for_selector("#value-step:has-text('3,000')")
    assert text(page) == now
    scores = [number(one) for one in page.locator("#course td:nth-child(2)").all_text_contents()]
    assert scores[-1] > scores[0]


def test_a_long_search_can_be_stopped(visit: Any) -> None:
    page = started(visit, steps=5_000_000)
    page.click("#progress button:has-text('Stop')")
    finished(page)
    done = number(page.inner_text("#course header .note").replace("step ", ""))
    assert 0 <= done < 5_000_000
    assert len(text(page).split()) > 50


def test_a_term_shows_all_its_places(visit: Any) -> None:
    page = finished(started(visit))
    row = page.locator("#terms tbody tr").first
    term = row.locator("td").first.inner_text().split()[-1]
    row.click()
    page.wait_for_selector("#terms tr.best")
    here = page.locator("#document .quiet .here").evaluate_all("all => all.map((one) => one.firstChild.textContent)")
    assert here == [term] * len(here)
    counts = re.findall(r"\((\d+)×\)", row.inner_text())
    assert len(here) == sum(map(int, counts)) <= sum(line.split().count(term) for line in LINES)


def test_the_same_seed_gives_the_same_text(visit: Any) -> None:
    first = text(finished(started(visit)))
    assert text(finished(started(visit))) == first
    assert text(finished(started(visit, seed=8))) != "" != first
