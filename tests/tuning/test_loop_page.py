"""The commands and the Python of the page on tuning run as printed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app
from toledo.weights import Weights

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (weights,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "start.toml").write_text(weights)
    assert Weights.load("start.toml").bounds == {"lm": (0.0, 2.0)}
    commands = re.findall(r"^    toledo (.*)", text, re.MULTILINE)
    assert len(commands) >= 15
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, f"{command}\n{result.output}"
    program = text.split("## In Python", 1)[1]
    block = "".join(re.findall(r"^(?:    .*)?\n", program, flags=re.MULTILINE))
    capsys.readouterr()
    exec(compile(re.sub(r"^    ", "", block, flags=re.MULTILINE), str(PAGE), "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 20
