"""The examples of docs/forests.md run as they stand."""

from pathlib import Path

import pytest
from page_commands import run_page

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "forests.md").read_text("utf-8")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    printed = run_page(PAGE)
    for shown in (
        "the small house",
        "model scores of the file",
        "features times the given weights",
        "{'small': 1.0, 'house': 1.0, 'the': 0.73, 'a': 0.27}",
    ):
        assert shown in printed
    assert Path("small.svg").read_text().startswith("<svg")
    assert Path("best.nbest").read_text().count("\n") == 3
    assert sorted(path.name for path in Path("graphs").iterdir()) == ["0.gz", "1.gz"]
