"""The commands and the Python of the page on sampling run as printed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app
from toledo.weights import Weights

PAGE = Path(__file__).parents[2] / "docs" / "sampling.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^    toledo (.*)", text, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, result.output
    for file in ("test.gibbs", "test.trained"):
        assert len(Path(file).read_text().splitlines()) == 10
    assert Weights.load("trained.toml")["lm"] > 0.0
    assert "R-hat" in Path("samples.html").read_text()
    (program,) = re.findall(
        r"((?:^    .*\n|\n)+)", text.split("## In Python\n", 1)[1].split("\n`samples.forest`")[0], re.M
    )
    exec(compile(re.sub(r"^    ", "", program, flags=re.MULTILINE), str(PAGE), "exec"), {})
    assert "of 1000" in capsys.readouterr().out
