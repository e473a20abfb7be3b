"""The commands of the page on the CoBLEU paper run as printed."""

from pathlib import Path

import pytest
from page_commands import run_commands

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "cobleu.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_commands(PAGE, 8)
    assert len(Path("better.out").read_text().splitlines()) == 50
    assert "BLEU" in result.output
