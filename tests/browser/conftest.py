"""A server and a browser for all tests of pages; after each test, nothing must be wrong with what was opened."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import ARGUMENTS, WIDE, Visit, note_foreign, started

import toledo

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WHEEL = os.environ.get("TOLEDO_WHEEL")  # the folder that a wheel was installed into


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test-browser")
    if BROWSER is None:
        pytest.skip("needs Chromium or Chrome")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, run_folder: Path) -> Iterator[str]:
    """Serve the built-in sample, and runs in a folder."""
    if WHEEL is not None:
        assert Path(toledo.__file__).is_relative_to(WHEEL), "the tests are to run on the wheel"
    command = [sys.executable, "-m", "toledo", "serve", "--demo", "--port", "0", "--runs", str(run_folder)]
    yield from started(command, tmp_path_factory.mktemp("server") / "log")


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visit]]:
    """Open pages of the server; after the test, nothing must be wrong with any of them."""
    visits: list[tuple[Any, Visit]] = []

    def begin(width: int = WIDE, theme: str = "light", address: str = "", **options: Any) -> Visit:
        address = address or request.getfixturevalue("server")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True, **options
        )
        context.set_default_timeout(60_000)
        page = context.new_page()
        found = Visit(page, address)
        page.on("console", lambda message: found.messages.append(message.text))
        page.on("pageerror", lambda error: found.messages.append(str(error)))
        page.on("request", lambda request: note_foreign(found, request.url))
        visits.append((context, found))
        return found

    yield begin
    for context, one in visits:
        one.check()
        context.close()
