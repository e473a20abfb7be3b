"""The commands and the Python of the page on decision rules that deal with lists run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import run_lines
from typer.testing import CliRunner

from toledo.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "consensus.md"


@pytest.fixture
def section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return PAGE.read_text(encoding="utf-8").split("\n## The rules", 1)[0]


def test_the_commands_run(section: str) -> None:
    Path("samples.jsonl").write_text("\n".join(re.findall(r"^    (\{.*\})", section, re.MULTILINE)))
    results = {command: printed.splitlines() for command, printed in run_lines(section).items()}
    chosen = [lines for command, lines in results.items() if command.endswith("> out.txt")]
    assert chosen[:2] == [["The cat sat on the mat."], ["The cat sat on the mat.", "Hello there."]]
    assert [len(lines) for lines in chosen[2:]] == [50, 50, 50]
    (scales,) = [lines for command, lines in results.items() if "--choose-scale" in command]
    assert scales[-1].startswith("best: --scale")
    assert f"`{scales[-1]}`" in section
    assert any(f"consensus test.nbest.gz {scales[-1].removeprefix('best: ')} " in command for command in results)


def test_the_json_is_read(section: str) -> None:
    text = "\n".join(re.findall(r"^    (\{.*\})", section, re.MULTILINE))
    result = CliRunner().invoke(app, ["consensus"], input=text, catch_exceptions=False)
    assert len(result.stdout.splitlines()) == 2


def test_the_python_runs(section: str) -> None:
    (block,) = re.findall(r"(?:^    .*\n|\n)*^    import numpy(?:.*\n)(?:    .*\n|\n(?=    ))*", section, re.MULTILINE)
    found: dict[str, object] = {}
    exec(compile(re.sub(r"^    ", "", block.lstrip("\n"), flags=re.MULTILINE), str(PAGE), "exec"), found)
    assert found["place"] == 0
