"""The examples of docs/word-alignment.md run as they stand."""

from pathlib import Path

import pytest
from page_commands import run_page

from toledo.files import read_lines

PAGE = Path(__file__).resolve().parents[2] / "docs" / "word-alignment.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(PAGE.read_text(encoding="utf-8"))
    sure, found, true = (
        [set(line.split()) for line in read_lines(name)] for name in ("sure.gz", "links", "data/train.align")
    )
    assert all(some <= more for some, more in zip(sure, found, strict=True))
    right = sum(len(one & other) for one, other in zip(found, true, strict=True))
    assert 0.7 < 2 * right / sum(map(len, found + true)) < 0.9
    assert sum(1 for _ in read_lines("lexicons/lex.e2f.gz")) > 1000
