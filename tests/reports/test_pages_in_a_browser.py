"""Pages in Chromium, on a phone and on a wide screen, by day and by night: no error, and nothing to scroll sideways."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from command_line import succeed
from small_histories import write_all

import toledo

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WIDTHS = (400, 1400)
THEMES = {"dark": 0, "light": 1}  # numbers of Chromium
FRAME = """<!doctype html>
<iframe src="page.html" width="{width}" height="900"></iframe>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentWindow, root = page.document.documentElement;
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify({{
    title: page.document.title,
    innerWidth: page.innerWidth,
    scrollWidth: root.scrollWidth,
    isDark: page.matchMedia("(prefers-color-scheme: dark)").matches,
    background: page.getComputedStyle(page.document.body).backgroundColor,
  }});
  document.body.append(found);
}});
</script>
"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")


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


def opened(folder: Path, width: int, theme: str) -> tuple[dict[str, Any], list[str]]:
    """Open page.html of a folder in a frame of some width; return measures, and messages on the console."""
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width))
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--allow-file-access-from-files", "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={THEMES[theme]}", "--dump-dom", frame.as_uri(),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    measured = re.search('<pre id="found">(.*?)</pre>', ended.stdout)
    assert measured, ended.stderr
    return json.loads(unescape(measured[1])), re.findall(r":CONSOLE.*", ended.stderr)


@pytest.mark.parametrize("make", [comparison, runs, lists])
def test_pages_fit_and_have_no_errors(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "page.html")
    backgrounds = {}
    for theme in THEMES:
        for width in WIDTHS:
            found, messages = opened(tmp_path, width, theme)
            assert not messages
            assert found["innerWidth"] == width
            assert found["scrollWidth"] <= width
            assert found["isDark"] == (theme == "dark")
            backgrounds[theme] = found["background"]
    assert backgrounds["dark"] != backgrounds["light"]


def test_a_page_that_does_not_fit_and_an_error_would_be_found(tmp_path: Path) -> None:
    page = '<!doctype html><title>wide</title><div style="width: 500px">x</div><script>missing()</script>'
    (tmp_path / "page.html").write_text(page)
    found, messages = opened(tmp_path, 400, "light")
    assert found["title"] == "wide"
    assert found["scrollWidth"] > found["innerWidth"]
    assert len(messages) == 1
    assert "missing is not defined" in messages[0]
