"""The pages that people begin with run as printed, and print what they show."""

import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")  # tables as a terminal shows them
    return tmp_path


def test_quick_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "quick-start.md").read_text(encoding="utf-8")
    printed = "".join(run_lines(text).values())
    shown = re.findall(r"^    ((?:test|tuned)\.out +\d.*)", text, re.MULTILINE)
    assert len(shown) == 3
    assert [line for line in shown if line not in printed] == [], printed
    (program,) = programs(text)
    exec(compile(program, "quick-start.md", "exec"), {})
    first = Path("tuned.out").read_text(encoding="utf-8").splitlines()[0]
    assert capsys.readouterr().out.startswith(f"{first} -")


def test_outputs_of_an_llm(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "llm.md").read_text(encoding="utf-8")
    for name in ("samples.jsonl", "dev.jsonl"):
        lines = re.search(rf"`{name}`.*?\n\n((?:    \{{.*\n)+)", text)[1]
        Path(name).write_text(lines.replace("    {", "{"), encoding="utf-8")
    for folder in ("tune", "test"):
        Path(folder).mkdir()
        for name, verb in (("A", "sat"), ("B", "sits"), ("C", "sat")):
            lines = [f"The {animal} {verb} on the mat." for animal in ("cat", "dog", "bird")]
            Path(folder, f"{name}.en").write_text("\n".join([*lines, "He waits for the train.", ""]))
    Path("tune.en").write_text(Path("tune/A.en").read_text())
    run_lines(text)
    chosen = Path("out.txt").read_text(encoding="utf-8")
    assert re.sub("^", "    ", chosen, flags=re.MULTILINE).rstrip() in text
    assert Path("chosen.en").read_text().splitlines()[1] == "She bought two books."
    assert Path("combined.en").read_text() == Path("tune/A.en").read_text()
    assert Path("reranked.en").read_text().splitlines()[0] == "The cat sat on the mat ."
    for program in programs(text):
        exec(compile(program, "llm.md", "exec"), {})
    assert len(Path("own.jsonl").read_text().splitlines()) == 2
    assert capsys.readouterr().out == "The cat sat on the mat.\n"


def test_formats(here: Path) -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    for names, blocks in re.findall(
        r"^(`[\w.-]+`(?: and `\w+`)?)[^`].*\n\n((?:```\n(?:.*\n)+?```\n\n?)+)", text, re.MULTILINE
    ):
        contents = re.findall(r"```\n((?:.*\n)+?)```", blocks)
        for name, content in zip(re.findall("`([^`]+)`", names), contents, strict=True):
            Path(name).write_text(content, encoding="utf-8")
    printed = run_lines(text)
    assert len(printed) == 9
    assert "the small house" in printed["toledo forest show small.plf"]
    assert "the small house" in printed["toledo forest show small.hg --n-best-size 2 --segment 0"]
    assert '<hyp system="toledo">' in Path("translated.xml").read_text(encoding="utf-8")
    assert Path("test.docids").read_text() == "one\none\n"
