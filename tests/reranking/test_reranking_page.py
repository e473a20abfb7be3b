"""The examples of docs/reranking.md run as they stand."""

from pathlib import Path

import pytest
from page_commands import run_page

from toledo.reranking import joint

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reranking.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(joint, "EPOCHS", 2)  # the page shows no scores
    run_page(PAGE.read_text(encoding="utf-8"))
    assert Path("reranked/reranking/reranker.toml").is_file()
    assert len(Path("test.out").read_text(encoding="utf-8").splitlines()) == 100
