"""Runs, as a person uses it: the server looks into a folder that grows."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from browsing import SIZES
from small_histories import write_all


@pytest.fixture(scope="module", autouse=True)
def written(run_folder: Path) -> None:
    write_all(run_folder)


def names(page: Any) -> list[str]:
    return [one.rpartition("/")[2] or one for one in page.locator("#runs tbody td:first-child").all_inner_texts()]


def opened(visit: Any, width: int = 1400, theme: str = "light", query: str = "") -> Any:
    page = visit(width, theme).open(f"/runs{query}")
    page.wait_for_selector("#runs tbody tr")
    return page


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_runs_have_curves_weights_and_settings(visit: Any, width: int, theme: str) -> None:
    page = opened(visit, width, theme)
    assert page.locator("#chart .plot:visible .series").count() >= 3
    page.locator("#runs tbody tr").nth(1).click()
    page.wait_for_selector("#runs tbody tr.best >> nth=0")
    assert page.locator("#detail").inner_text()
    assert "run=" in page.url


def test_a_filter_is_a_regular_expression(visit: Any) -> None:
    page = opened(visit)
    everything = page.locator("#runs tbody tr").count()
    page.keyboard.press("/")
    page.keyboard.type("mert|cobleu")
    page.wait_for_selector("#runs tbody tr >> nth=2")
    page.wait_for_timeout(400)
    shown = page.locator("#runs tbody td:first-child").all_inner_texts()
    assert 0 < len(shown) < everything
    assert all("mert" in one or "cobleu" in one for one in shown)
    page.fill("#filter", "(")
    page.wait_for_selector("#problem [role=alert]")
    page.fill("#filter", "no such run")
    page.wait_for_selector("#start:has-text('No run matches')")


def test_a_curve_grows_while_its_run_does(visit: Any, run_folder: Path) -> None:
    source = next(run_folder.glob("mert/**/history.json"))
    growing = json.loads(source.read_text())
    growing["stopped"] = ""
    rounds = growing["rounds"]
    target = run_folder / "growing" / "history.json"
    target.parent.mkdir(exist_ok=True)
    _write(target, {**growing, "rounds": rounds[:1]})
    page = opened(visit, query="?filter=growing")
    assert "0" in page.inner_text("#runs tbody tr")
    points = page.locator("#chart .plot:visible .mark").count()
    _write(target, {**growing, "rounds": [*rounds[:1], {**rounds[0], "number": 2, "score": 99.0}]})
    page.wait_for_selector("#chart .plot:visible .mark >> nth=" + str(points), timeout=5000)
    assert "99" in page.inner_text("#runs tbody tr")


def _write(path: Path, content: dict[str, Any]) -> None:
    (path.parent / "new").write_text(json.dumps(content))
    (path.parent / "new").rename(path)
    time.sleep(0.05)


def test_a_history_that_was_cut_off_says_so(visit: Any, run_folder: Path) -> None:
    source = next(run_folder.glob("mert/**/history.json"))
    target = run_folder / "cut" / "history.json"
    target.parent.mkdir(exist_ok=True)
    text = source.read_text()
    target.write_text(text[: len(text) * 2 // 3])
    page = opened(visit, query="?filter=cut")
    assert "cut off" in page.inner_text("#runs tbody tr")
