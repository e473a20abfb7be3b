"""The page on system combination runs as printed."""

from pathlib import Path

import pytest
from page_commands import run_page
from readme_files import write_systems

PAGE = Path(__file__).parents[2] / "docs" / "combination.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_systems()
    names: dict[str, object] = {}
    run_page(PAGE.read_text(encoding="utf-8"), names)
    assert "\n".join(names["texts"]) + "\n" == Path("test.en").read_text()
    assert Path("combined.en").read_text() == Path("test.en").read_text()
    pictures = Path("networks.html").read_text(encoding="utf-8")
    assert all(f"Segment {number}" in pictures for number in (0, 1))
