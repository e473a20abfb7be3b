"""A server and a browser for all tests of pages, and what must hold after each of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import toledo

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test-browser")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
if BROWSER is None:
    pytest.skip("needs Chromium or Chrome", allow_module_level=True)

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
WIDE, NARROW = 1400, 400
SIZES = [(WIDE, "light"), (NARROW, "dark")]
EVERY_SIZE = [(width, theme) for width in (WIDE, NARROW) for theme in ("light", "dark")]
STARTING = 120  # seconds
CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")
WHEEL = os.environ.get("TOLEDO_WHEEL")  # the folder that a wheel was installed into


@dataclass
class Visit:
    """A page of the browser, and what happened on it."""

    page: Any
    address: str
    messages: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        """Open a page of the server, and wait until its script has begun."""
        self.page.goto(self.address + path)
        self.page.wait_for_selector("body[data-begun]", state="attached")
        return self.page

    def check(self) -> None:
        """Find what must not be on any page."""
        assert not self.messages, self.messages
        assert not self.foreign, self.foreign
        width, room = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= room
        for name in ("small", "nameless", "pale"):
            assert not (found := self.page.evaluate(f"{CHECKS}\n{name}()")), found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the built-in sample, and runs in a folder."""
    if WHEEL is not None:
        assert Path(toledo.__file__).is_relative_to(WHEEL), "the tests are to run on the wheel"
    runs = tmp_path_factory.mktemp("runs")
    command = [sys.executable, "-m", "toledo", "serve", "--demo", "--port", "0", "--runs", str(runs)]
    yield from started(command, tmp_path_factory.mktemp("server") / "log")


def started(command: list[str], log: Path) -> Iterator[str]:
    """Start a server, and yield its address once it is ready."""
    with log.open("w") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, cwd=log.parent)
        try:
            address = _awaited(process, log)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _awaited(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + STARTING
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found and _is_ready(found[0]):
            return found[0]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visit]]:
    """Open pages of the server; after the test, nothing must be wrong with any of them."""
    visits: list[tuple[Any, Visit]] = []

    def begin(width: int = WIDE, theme: str = "light", address: str = "", **options: Any) -> Visit:
        address = address or request.getfixturevalue("server")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, accept_downloads=True, **options
        )
        page = context.new_page()
        found = Visit(page, address)
        page.on("console", lambda message: found.messages.append(message.text))
        page.on("pageerror", lambda error: found.messages.append(str(error)))
        page.on("request", lambda request: _note_foreign(found, request.url))
        visits.append((context, found))
        return found

    yield begin
    for context, one in visits:
        one.check()
        context.close()


def _note_foreign(found: Visit, url: str) -> None:
    if not url.startswith((found.address, "data:", "blob:", "about:")):
        found.foreign.append(url)
