"""Make the pictures of the server's pages, from the built-in sample alone; needs playwright and Chromium.

python docs/make_pictures_of_pages.py
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import toledo

FIGURES = Path(__file__).parent / "figures"
PICTURES = {  # the page, what it is ready with, its theme, its height
    "translate": ("#rules .rule", "light", 890),
    "choose": ("#ranking tr", "dark", 890),
    "compare": ("#list .segment", "light", 890),
}
WIDTH, SCALE = 1280, 0.8


def main() -> None:
    """Open each page with its example, and save what is seen."""
    from playwright.sync_api import sync_playwright

    with toledo.serve(demo=True, port=0, block=False) as server, sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (ready, theme, height) in PICTURES.items():
            size = {"width": WIDTH, "height": height}
            page = chromium.new_page(viewport=size, color_scheme=theme, device_scale_factor=SCALE)
            page.goto(f"{server.url}{name}")
            page.set_default_timeout(300_000)  # the first one compiles kernels
            page.click("[data-do=example]")
            page.wait_for_selector(ready)
            if page.query_selector("#progress"):
                page.wait_for_selector("#progress[hidden]", state="attached")
            if name == "translate":
                show_different_choices(page)
                page.click("#forest [data-do=fit]")
                page.evaluate("document.activeElement.blur()")
            page.wait_for_timeout(500)
            page.screenshot(path=FIGURES / f"serve-{name}.png")
        chromium.close()


def show_different_choices(page: Any) -> None:
    """Go on to the first sentence for which rules choose different texts."""
    while page.locator("#rules .rule").count() < 2 and page.is_enabled("[data-key=j]"):
        before = page.inner_text("#source")
        page.click("[data-key=j]")
        while page.inner_text("#source") == before:
            page.wait_for_timeout(50)


if __name__ == "__main__":
    main()
