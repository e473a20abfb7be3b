"""The pages that people begin with run as printed, and print what they show."""

import re
from pathlib import Path

import pytest
from page_commands import run_lines, run_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")  # tables as a terminal shows them
    return tmp_path


def test_quick_start(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "quick-start.md").read_text(encoding="utf-8")
    Path("mypackage.py").write_text(re.search(r"^def my_scores.*\n.*\n", text, re.MULTILINE)[0])
    monkeypatch.syspath_prepend(here)
    run_page(text)
    assert all(Path(name, "model.toml").is_file() for name in ("model", "tuned", "final", "mine"))
    assert len(Path("documents.out").read_text(encoding="utf-8").splitlines()) == 100
    assert len(Path("links").read_text(encoding="utf-8").splitlines()) == 2000


def test_parts_in_the_quick_start(here: Path) -> None:
    """Run what needs no model."""
    text = (DOCS / "quick-start.md").read_text(encoding="utf-8")
    run_page(text[text.index("Align words") : text.index("## In Python")])


def test_building(here: Path) -> None:
    run_page((DOCS / "build.md").read_text(encoding="utf-8").split("\n## With your own")[0])
    assert len(Path("test.out").read_text(encoding="utf-8").splitlines()) == 100


def test_outputs_of_an_llm(here: Path) -> None:
    run_page((DOCS / "llm.md").read_text(encoding="utf-8").split("\n## Rerank")[0])


def test_reranking_outputs_of_an_llm(here: Path) -> None:
    run_page((DOCS / "llm.md").read_text(encoding="utf-8").split("\n## Rerank")[1])
    assert Path("reranked.en").read_text().splitlines()[0] == "The cat sat on the mat ."


def test_formats(here: Path) -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    for names, blocks in re.findall(
        r"^(`[\w.-]+`(?:, and `\w+`)?)[^`](?:.+\n)*?.*\n\n((?:```\n(?:.*\n)+?```\n\n?)+)", text, re.MULTILINE
    ):
        contents = re.findall(r"```\n((?:.*\n)+?)```", blocks)
        for name, content in zip(re.findall("`([^`]+)`", names), contents, strict=True):
            Path(name).write_text(content, encoding="utf-8")
    printed = run_lines(text)
    assert len(printed) == 11
    batch = printed["toledo choose answers.jsonl --requests requests.jsonl --json"]
    assert re.findall('"id": "(s.)"', batch) == ["s1", "s2", "s3"]
    columns = "--field id=question --field text=answer --field score=judge"
    assert printed[f"toledo choose judged.csv {columns}"].splitlines()[:2] == ["the house", "it works"]
    assert "the small house" in printed["toledo forest show small.plf"]
    assert "the small house" in printed["toledo forest show small.hg --nbest 2 --segment 0"]
    assert '<hyp system="toledo">' in Path("translated.xml").read_text(encoding="utf-8")
    assert Path("test.ids").read_text() == "one\none\n"
