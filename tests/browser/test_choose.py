"""Choose, as a person uses it."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import SIZES, number, saved
from command_line import succeed

import toledo

WORDS = ["a", "little", "cow", "grazes", "behind", "the", "house", "of", "an", "old", "man"]
LISTS = [
    {
        "hypotheses": [
            " ".join(WORDS[: 5 + (line + sample) % 5] + [f"word{(line * sample) % 4}"]) for sample in range(16)
        ]
    }
    for line in range(40)
]
SAMPLES = [
    "get drinks cold and food ready",
    "get your drinks cold and food ready",
    "have a good time",
    "get drinks ready",
]


def chosen(visit: Any, text: str, width: int = 1400, theme: str = "light", **more: str) -> Any:
    page = visit(width, theme).open("/choose")
    page.fill("#samples", text)
    for name, value in more.items():
        page.click("#entry details summary")
        page.fill(f"#{name}", value)
    page.click("[data-do=go]")
    page.wait_for_selector("#choice .text")
    return page


def ranking(page: Any) -> list[str]:
    return [one.split("\n")[1] for one in page.locator("#ranking tbody td:nth-child(2)").all_inner_texts()]


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_a_file_with_one_bad_line_is_told_which_and_the_rest_kept(
    visit: Any, tmp_path: Path, width: int, theme: str
) -> None:
    lines = [json.dumps(one) for one in LISTS]
    lines[2] = '{"hypotheses": '
    (tmp_path / "samples.jsonl").write_text("\n".join(lines) + "\n")
    page = visit(width, theme).open("/choose")
    page.set_input_files("#entry input[type=file]", tmp_path / "samples.jsonl")
    page.wait_for_selector("#problem [role=alert]:has-text('3')")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "alert"
    assert "39 segments are kept" in page.inner_text("#problem")
    assert page.locator("#segments tbody tr").count() == 39
    assert page.locator("#agreement .field").count() > 0


def test_a_file_can_be_dropped(visit: Any) -> None:
    page = visit().open("/choose")
    page.evaluate("""(text) => { const data = new DataTransfer();
        data.items.add(new File([text], "samples.jsonl"));
        document.getElementById("main").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true})); }""",
        "\n".join(json.dumps(one) for one in LISTS[:5]))  # fmt: skip
    page.wait_for_selector("#segments tbody tr >> nth=4")


@pytest.mark.parametrize(("width", "theme"), SIZES)
def test_another_metric_changes_choice_matrix_and_ranking_together(visit: Any, width: int, theme: str) -> None:
    page = chosen(visit, "\n".join(SAMPLES), width, theme)
    for metric, name in (("chrf", "chrF"), ("ter", "TER"), ("bleu", "BLEU")):
        page.click(f"#metric-{metric}")
        page.wait_for_selector(f"#ranking th:has-text('exp. {name}')")
        expected = toledo.choose(SAMPLES, metric=metric)
        assert ranking(page)[0] == " ".join(page.locator("#choice .w").all_inner_texts()) == expected.text
        assert number(page.inner_text("#choice dd >> nth=0")) == pytest.approx(expected.score, abs=0.051)
        assert f"{name} " in page.inner_text("#pair header")


def test_a_field_shows_both_texts_with_marks(visit: Any) -> None:
    page = chosen(visit, "\n".join(SAMPLES))
    field = page.locator("#agreement .field").nth(4)
    title = field.locator("title").text_content()
    field.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#agreement .field.on")
    pair, _, score = title.rpartition(": ")
    names = pair.split(" against ")
    assert [one.split(" ", 1)[1] for one in page.locator("#pair dt").all_inner_texts()] == names
    assert score in page.inner_text("#pair header")
    texts = page.locator("#pair dd").all_inner_texts()
    assert all(text.replace("‸", "").split() for text in texts)
    assert page.locator("#pair del, #pair ins, #pair .gap").count()


def test_a_response_of_a_model_is_read(visit: Any) -> None:
    answer = {"id": "chatcmpl-1", "object": "chat.completion",
              "choices": [{"index": place, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                          for place, text in enumerate(SAMPLES)]}  # fmt: skip
    page = chosen(visit, json.dumps(answer))
    assert sorted(ranking(page)) != []
    assert page.inner_text("#choice dl").count("4, 4") == 1


def test_a_matrix_of_ones_own_decides(visit: Any) -> None:
    rows = [[1, 0, 0, 0], [0, 1, 0, 0], [9, 9, 9, 9], [0, 0, 0, 1]]
    page = chosen(visit, "\n".join(SAMPLES), utilities="\n".join(" ".join(map(str, row)) for row in rows))
    assert " ".join(page.locator("#choice .w").all_inner_texts()) == SAMPLES[2]
    page.click("#entry summary >> nth=0")
    page.fill("#utilities", "1 2\n3")
    page.click("[data-do=go]")
    page.wait_for_selector("#problem [role=alert]")


def test_the_saved_list_is_what_the_command_prints(visit: Any, tmp_path: Path) -> None:
    text = "\n".join(json.dumps(one) for one in LISTS)
    page = chosen(visit, text)
    (tmp_path / "samples.jsonl").write_text(text + "\n")
    content = saved(page, "#ranking [data-do=save]")
    assert content == succeed("choose", tmp_path / "samples.jsonl", "--metric", "chrf", "--nbest", "1000")
