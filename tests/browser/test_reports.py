"""Reports in Chromium, on a phone and on a wide screen, by day and by night: no error, nothing to scroll sideways."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import succeed
from small_histories import write_all

import toledo

EVERY_SIZE = [(width, theme) for width in (1400, 400) for theme in ("light", "dark")]


def comparison(path: Path) -> None:
    """Write a page with segments whose words are long, and with marks that its script can filter."""
    data = toledo.example_data(train=1, tune=1, test=30).test
    first, second = data.references
    systems = {
        "first": first,
        "a system with a long name, " * 4: [text.upper() for text in first],
        "long": [f"{text} {'word' * 60}" for text in first],
    }
    found = toledo.compare(systems, second, sources=data.sources, tokenize="none", resamples=20)
    toledo.report(found, title="A comparison").save(path)


def runs(path: Path) -> None:
    """Write a page about a run of each kind."""
    write_all(path.parent / "runs")
    succeed("report", path.parent / "runs", "--output", path, "--title", "All runs")


def lists(path: Path) -> None:
    """Write a page about lists of hypotheses, with shades."""
    write_all(path.parent / "runs")
    succeed("report", path.parent / "runs" / "best.nbest", "--output", path)


@pytest.mark.parametrize("make", [comparison, runs, lists])
def test_reports_fit_and_have_no_errors(make: Callable[[Path], None], tmp_path: Path, visit: Any) -> None:
    make(tmp_path / "page.html")
    grounds = set()
    for width, theme in EVERY_SIZE:
        page = visit(width, theme, tmp_path.as_uri()).page
        page.goto((tmp_path / "page.html").as_uri())
        grounds.add((theme, page.evaluate("getComputedStyle(document.body).backgroundColor")))
    assert len(grounds) == 2


def test_a_page_that_does_not_fit_and_an_error_would_be_found(tmp_path: Path, visit: Any, browser: Any) -> None:
    text = '<!doctype html><title>wide</title><div style="width: 500px">x</div><script>missing()</script>'
    (tmp_path / "page.html").write_text(text)
    one = visit(400, address=tmp_path.as_uri())
    one.page.goto((tmp_path / "page.html").as_uri())
    with pytest.raises(AssertionError, match="missing is not defined"):
        one.check()
    one.messages.clear()
    with pytest.raises(AssertionError, match="in a window of 400"):
        one.check()
    one.page.goto("about:blank")
