"""Translate, as a person uses it."""

from collections.abc import Callable
from typing import Any

import pytest
from browsing import SIZES, Visit, moved, number, saved

RULES = "Best derivation", "MBR", "Consensus", "Lattice MBR"
SENTENCES = [
    "el arrivet in , dum fameto penta hunois melkado havet .",
    "lai damai fatigisimai meten foyor en lon manon .",
    "audivet elena lar stratar strangar avan unon hunon ?",
]


def translated(visit: Callable[..., Visit], width: int = 1400, theme: str = "light", *lines: str) -> Any:
    page = visit(width, theme).open("/translate")
    page.fill("#source-text", "\n".join(lines or SENTENCES))
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#rules .rule")
    page.wait_for_selector("#progress[hidden]", state="attached")
    return page


def fact(page: Any, name: str) -> float:
    return number(page.inner_text(f"#distribution dl div:has-text('{name}') dd"))


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_three_sentences_by_four_rules_equal_ones_joined(visit: Any, width: int, theme: str) -> None:
    page = translated(visit, width, theme)
    names = "\n".join(page.locator("#rules h3").all_inner_texts())
    assert all(rule in names for rule in RULES)
    texts = page.locator("#rules .text").all_inner_texts()
    assert len(set(texts)) == len(texts), "equal choices are joined"
    assert page.locator("#all tbody tr").count() == 3
    assert "3 of 3" in page.inner_text("#all header")
    page.keyboard.press("j")
    page.wait_for_selector("#source header:has-text('segment 2 of 3')")
    assert page.locator("#source [data-at]").all_inner_texts() == SENTENCES[1].split()
    page.keyboard.press("k")
    page.wait_for_selector("#source header:has-text('segment 1 of 3')")


def test_a_phrase_shows_its_source_words(visit: Any) -> None:
    page = translated(visit)
    word = page.locator("#rules .rule .w").first
    word.hover()
    first, end = map(int, str(word.get_attribute("data-source")).split("-"))
    on = page.locator("#source .on").all_inner_texts()
    assert on == SENTENCES[0].split()[first:end]
    page.mouse.move(5, 5)
    assert page.locator("#source .on").count() == 0
    word.focus()
    assert page.locator("#source .on").all_inner_texts() == on


def test_a_lower_scale_raises_perplexity_and_nothing_flickers(visit: Any) -> None:
    page = translated(visit)
    before, most = fact(page, "perplexity"), fact(page, "most probable")
    page.evaluate("""() => { window.removed = 0; new MutationObserver((found) => { for (const one of found)
        for (const node of one.removedNodes) if (node.id) window.removed += 1; })
        .observe(document.getElementById('main'), {childList: true, subtree: true}); }""")
    order = page.locator("#nbest tbody tr td:nth-child(2)").all_inner_texts()
    page.locator("#slider-scale").focus()
    moved(page, "#slider-scale", -0.52)
    assert page.inner_text("#value-scale") == "0.3"
    assert fact(page, "perplexity") > before
    assert fact(page, "most probable") < most
    assert page.locator("#nbest tbody tr td:nth-child(2)").all_inner_texts() != order
    assert page.evaluate("window.removed") == 0, "parts are changed, not replaced"
    assert page.evaluate("document.activeElement.id") == "slider-scale"
    assert "scale=-0.52" in page.url


def test_a_weight_changed_by_hand_is_reset_to_the_same_bytes(visit: Any) -> None:
    page = translated(visit)
    shown = ("#rules .rules", "#nbest", "#why", "#weights")
    before, text = [page.inner_html(one) for one in shown], page.inner_text("#rules .text >> nth=0")
    moved(page, "[id='slider-weight.lm']", 0)
    page.wait_for_selector("#changed:has-text('changed by hand')")
    assert page.inner_text("#rules .text >> nth=0") != text
    page.click("#weights button:has-text('Reset')")
    page.wait_for_selector("#changed:has-text('as tuned')")
    assert [page.inner_html(one) for one in shown] == before
    assert "weight" not in page.url


def test_reasons_compare_with_the_row_selected_and_sum_to_the_difference_of_scores(visit: Any) -> None:
    page = translated(visit)
    page.click("#nbest tbody tr >> nth=2")
    page.wait_for_selector("#why:has-text('no. 3 of the list')")
    parts = [
        number(one.replace("+", "")) for one in page.locator("#why .reasons > div:not(.sum) .number").all_inner_texts()
    ]
    total = number(page.inner_text("#why .sum b").replace("+", ""))
    assert sum(parts) == pytest.approx(total, abs=0.005 * (len(parts) + 2))
    rows = page.locator("#nbest tbody tr")
    scores = [number(rows.nth(place).locator("td").nth(5).inner_text()) for place in range(rows.count())]
    chosen = next(place for place in range(rows.count()) if "MBR" in rows.nth(place).locator(".tag").all_inner_texts())
    assert total == pytest.approx(scores[chosen] - scores[2], abs=0.011)
    assert rows.nth(2).get_attribute("aria-selected") == "true"


def test_a_forest_is_pruned_moved_and_fitted(visit: Any) -> None:
    page = translated(visit)
    labels = page.locator("#forest .label").count()
    page.select_option("#select-posterior", "0.2")
    page.wait_for_selector("#forest svg[data-name$=':0.2']")
    assert 0 < page.locator("#forest .label").count() < labels
    view = lambda: [float(one) for one in page.get_attribute("#forest svg.forest", "viewBox").split()]  # noqa: E731
    start = view()
    box = page.locator("#forest .picture").bounding_box()
    assert start[2] == pytest.approx(box["width"], abs=2), "letters have their own size"
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 90)
    page.mouse.up()
    assert view()[0] == pytest.approx(start[0] + 50, abs=2)
    page.click("#forest button:has-text('+')")
    assert view()[2] < start[2]
    page.locator("#forest .picture").focus()
    page.keyboard.press("-")
    page.keyboard.press("0")
    assert view() == pytest.approx(start, abs=1)
    page.click("#forest button:has-text('Fit')")
    width = float(page.get_attribute("#forest svg.forest", "data-width"))
    assert view()[2] >= width * 0.99


def test_a_long_text_is_stopped_and_what_is_done_is_kept(visit: Any) -> None:
    page = visit().open("/translate")
    long = " ".join(6 * SENTENCES)  # so that the text is not done before somebody can stop it
    page.fill("#source-text", "\n".join([SENTENCES[0]] + 399 * [long]))
    page.keyboard.press("Control+Enter")
    page.click("#progress button:has-text('Stop')")
    page.wait_for_selector("#all header:has-text('what was done is kept')")
    done = number(page.inner_text("#all header .note"))
    assert 0 <= done < 400
    assert page.locator("#rules .rule").count()


def test_a_list_is_saved(visit: Any) -> None:
    page = translated(visit)
    lines = saved(page, "#nbest [data-do=save]").splitlines()
    rows = page.locator("#nbest tbody tr")
    assert len(lines) == rows.count() + 1
    assert number(lines[1].split("\t")[2]) == pytest.approx(
        number(rows.nth(0).locator("td").nth(2).inner_text()), abs=0.05
    )
