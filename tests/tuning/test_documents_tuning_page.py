"""The commands of the page on tuning at document level run as printed."""

from pathlib import Path

import pytest
from page_commands import run_commands

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "documents.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_commands(PAGE, 16)
    assert "refined " in result.output
    assert len(Path("rounds.jsonl").read_text().splitlines()) == 4
