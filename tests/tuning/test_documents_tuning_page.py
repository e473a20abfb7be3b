"""The commands of the page on tuning at document level run as printed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "documents.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^    toledo (.*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert "tuned.out" in result.output
    assert len(Path("rounds.jsonl").read_text().splitlines()) == 4
