"""What holds on every page: keys, zoom, links, exports, states, and text that means harm."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from browsing import EVERY_SIZE, NARROW, WIDE, Visit

PAGES = ("translate", "choose", "combine", "documents", "compare", "runs")
EXAMPLES = {
    "translate": "#rules .rule",
    "choose": "#ranking tbody tr",
    "combine": "#result .choice",
    "compare": "#list .segment",
    "documents": "#document div",
}
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "left \u202eright", "word " * 290]


def with_example(visit: Any, name: str, width: int = WIDE, theme: str = "light", **options: Any) -> Any:
    page = visit(width, theme, **options).open(f"/{name}")
    page.click("[data-do=example]")
    page.wait_for_selector(EXAMPLES[name])
    page.wait_for_selector("#progress[hidden]", state="attached") if page.query_selector("#progress") else None
    return page


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_before_anything_was_given(visit: Any, name: str) -> None:
    grounds = set()
    for width, theme in EVERY_SIZE:
        page = visit(width, theme).open(f"/{name}")
        assert page.inner_text("h1").lower() == name
        assert page.inner_text("nav [aria-current]").lower() == name
        grounds.add((theme, page.evaluate("getComputedStyle(document.body).backgroundColor")))
    assert len(grounds) == 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_fit_with_something_to_show(visit: Any, name: str) -> None:
    for width, theme in ((WIDE, "dark"), (NARROW, "light")):  # the others are seen by tests of the page
        with_example(visit, name, width, theme)


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_can_be_enlarged_to_twice_their_size(visit: Any, name: str) -> None:
    with_example(visit, name, WIDE // 2, device_scale_factor=2)


def test_pages_themes_and_help_have_keys(visit: Any) -> None:
    page = visit().open("/translate")
    for key, name in zip("23456", PAGES[1:], strict=True):
        page.keyboard.press(key)
        page.wait_for_selector(f"body[data-page={name}][data-begun]", state="attached")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("t")
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("Escape")
    assert not page.is_visible("#keys")


def test_a_page_is_used_by_keys_alone(visit: Any) -> None:
    page = visit().open("/choose")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    for _ in range(30):
        if page.evaluate("document.activeElement.id") == "samples":
            break
        page.keyboard.press("Tab")
    page.keyboard.type("a cat\na dog\na small cat")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#ranking tbody tr")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#ranking tr:nth-child(3)')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#ranking tr.best:nth-child(3)")


@pytest.mark.parametrize("name", ["translate", "choose", "combine"])
def test_a_copied_link_gives_the_same_page(visit: Any, browser: Any, name: str) -> None:
    page = with_example(visit, name, permissions=["clipboard-read", "clipboard-write"])
    if page.query_selector("[data-key=j]"):
        page.keyboard.press("j")
        page.wait_for_selector("header:has-text('segment 2 of')")
    page.click("[data-do=link]")
    page.wait_for_selector("#message:not(:empty)")
    link = page.evaluate("navigator.clipboard.readText()")
    text, packed = link.partition("#")[::2]
    assert "segment=2" in text
    assert packed.startswith("text=")
    other = visit(permissions=["clipboard-read", "clipboard-write"]).page
    other.goto(link)
    other.wait_for_selector(EXAMPLES[name])
    other.wait_for_selector("header:has-text('segment 2 of')")
    assert other.inner_text(EXAMPLES[name]) == page.inner_text(EXAMPLES[name])


def test_what_is_too_long_for_a_link_is_a_file_that_can_be_dropped(visit: Any, tmp_path: Path) -> None:
    lines = [sha256(str(number).encode()).hexdigest() for number in range(450)]
    page = visit().open("/choose")
    page.fill("#samples", "\n".join(f'{{"hypotheses": ["{one}", "{one} x"]}}' for one in lines))
    page.click("[data-do=go]")
    page.wait_for_selector("#segments tbody tr")
    with page.expect_download() as download:
        page.click("[data-do=link]")
    assert download.value.suggested_filename == "choose.toledo.json"
    download.value.save_as(tmp_path / "choose.toledo.json")
    other = visit().open("/choose")
    other.set_input_files("#entry input[type=file]", tmp_path / "choose.toledo.json")
    other.wait_for_selector("#segments tbody tr")
    assert other.inner_text("#choice .text") == page.inner_text("#choice .text")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_export_opens_without_a_server_with_the_same_numbers(visit: Any, tmp_path: Path, name: str) -> None:
    page = with_example(visit, name)
    with page.expect_download() as download:
        page.keyboard.press("e")
    download.value.save_as(tmp_path / "export.html")
    offline = visit(400, "dark", address=tmp_path.as_uri())
    offline.page.goto((tmp_path / "export.html").as_uri())
    shown = "#main td.number, #main dd"
    kept = set(page.locator(shown).all_inner_texts()) - {""}
    exported = set(offline.page.locator("main td.number, main dd").all_inner_texts())
    assert kept
    assert kept <= exported


@pytest.mark.parametrize(
    ("name", "field", "ready"),
    [("translate", "#source-text", "#rules .rule"), ("choose", "#samples", "#ranking tbody tr"),
     ("documents", "#document-text", "#document div")],
)  # fmt: skip
def test_text_that_means_harm_is_shown_as_text(visit: Any, name: str, field: str, ready: str) -> None:
    one: Visit = visit(400)
    page = one.open(f"/{name}")
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.fill(field, "\n".join(HOSTILE))
    page.click("[data-do=go]")
    page.wait_for_selector(ready)
    text = page.inner_text("main")
    assert "alert(1)" in text.replace(" ", "")
    assert page.locator("main img, main script").count() == 0
    html = page.evaluate(
        "[...document.querySelectorAll('main section, main details')].map((one) => one.innerText).join('')"
    )
    assert "\u202e" not in html


def test_names_of_files_that_mean_harm_are_text(visit: Any) -> None:
    page = visit().open("/compare")
    names = ["<img onerror=alert(1)>.txt", "a&b=c#d.txt", "reference.txt"]
    files = [
        {"name": name, "mimeType": "text/plain", "buffer": f"a cat\nthe dog {len(name)}\n".encode()} for name in names
    ]
    page.set_input_files("#entry input[type=file]", files)
    page.wait_for_selector("#list .segment")
    assert names[0] in page.inner_text("#scores")
    assert names[1] in page.inner_text("#scores")
    assert page.locator("main img").count() == 0


def test_a_text_over_a_limit_is_refused_with_its_place(visit: Any) -> None:
    page = visit().open("/translate")
    page.fill("#source-text", "one\n" + "word " * 400)
    page.click("[data-do=go]")
    page.wait_for_selector("[data-key=j], #problem [role=alert]")
    page.keyboard.press("Escape")
    if not page.query_selector("#problem [role=alert]"):
        page.click("[data-key=j]")
    page.wait_for_selector("#problem [role=alert]:has-text('400 words')")


def test_a_server_that_is_gone_is_told_and_nothing_is_lost(visit: Any) -> None:
    one = visit()
    page = one.open("/choose")
    page.context.set_offline(True)
    page.fill("#samples", "a cat\na dog")
    page.click("[data-do=go]")
    page.wait_for_selector("#problem [role=alert]:has-text('does not answer')")
    assert page.input_value("#samples") == "a cat\na dog"
    page.context.set_offline(False)
    one.messages.clear()  # the browser writes to its console that it is offline
    page.click("[data-do=go]")
    page.wait_for_selector("#ranking tbody tr")
    assert page.locator("#problem [role=alert]").count() == 0
