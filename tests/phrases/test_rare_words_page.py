"""The examples of docs/rare-words.md run as they stand."""

from pathlib import Path

import pytest
from page_commands import run_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rare-words.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(PAGE.read_text(encoding="utf-8"))
