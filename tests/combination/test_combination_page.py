"""The commands and the Python of the page on system combination run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import run_lines

PAGE = Path(__file__).parents[2] / "docs" / "combination.md"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return PAGE.read_text(encoding="utf-8")


def test_the_commands_run(page: str) -> None:
    output = "".join(run_lines(page).values())
    for row in re.findall(r"^    │ (\w+ +│ \d.*?) +│$", page, re.MULTILINE):
        assert row in output
    pictures = Path("networks.html").read_text(encoding="utf-8")
    assert "Segment 1" in pictures
    assert "Segment 0" in pictures
    scores = dict(re.findall(r"^(test\.\w+) +(\d+\.\d\d)", output, re.MULTILINE))
    (said,) = re.findall(r"systems have (.*) and (.*) BLEU, and the combination (\d+\.\d)", page)
    values = [*said[0].split(", "), *said[1:]]
    assert values == [f"{float(scores[f'test.{name}']):.1f}" for name in ("one", "two", "three", "combined")]


def test_the_python_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    section = page.split("## In Python", 1)[1]
    code = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    ") or not line)
    found: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), found)
    assert capsys.readouterr().out.startswith("the cat sat {'A'")
    assert "repeated" in found["combiner"].second.weights.features
