"""The page on reports runs as printed."""

from pathlib import Path

import pytest
from page_commands import run_page
from pages import check_page

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(PAGE.read_text(encoding="utf-8"))
    for name, kinds in {"report": ["Tuning", "Scores", "Hypotheses"], "mine": ["Tuning", "Scores"]}.items():
        page = check_page(tmp_path / f"{name}.html")
        assert all(f">{kind}: " in page for kind in kinds)
