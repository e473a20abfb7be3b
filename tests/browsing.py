"""A browser that is led through pages of a server, and what must hold on each of them."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
WIDE, NARROW = 1400, 400
SIZES = [(WIDE, "light"), (NARROW, "dark")]
EVERY_SIZE = [(width, theme) for width in (WIDE, NARROW) for theme in ("light", "dark")]
STARTING = 120  # seconds
CHECKS = Path(__file__).with_name("page_checks.js").read_text(encoding="utf-8")


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
        assert width <= room, f"the page is {width} wide in a window of {room}"
        for name in ("small", "nameless", "pale"):
            assert not (found := self.page.evaluate(f"{CHECKS}\n{name}()")), found


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


def note_foreign(found: Visit, url: str) -> None:
    if not url.startswith((found.address, "data:", "blob:", "about:")):
        found.foreign.append(url)


def number(text: str) -> float:
    """Return the first number of a text, as pages write it."""
    found = re.search(r"[−+-]?[\d,]+(\.\d+)?", text)
    assert found, text
    return float(found[0].replace("−", "-").replace(",", ""))


def is_whole(answer: Any) -> bool:
    """Whether an answer is for all parts of a page, not for a slider that moves."""
    return "/view/" in answer.url and not (answer.request.post_data_json or {}).get("quick")


def moved(page: Any, slider: str, value: float) -> None:
    """Set a slider as a hand does, and wait for the whole answer."""
    script = f"(one) => {{ one.value = {value}; one.dispatchEvent(new Event('input', {{bubbles: true}})); }}"
    with page.expect_response(is_whole):
        page.eval_on_selector(slider, script)
    page.wait_for_timeout(50)


def saved(page: Any, button: str) -> str:
    """Press a button that saves a file, and return what is in it."""
    with page.expect_download() as download:
        page.click(button)
    return Path(download.value.path()).read_text(encoding="utf-8")
