"""The examples of docs/language-models.md run as they stand."""

import json
from pathlib import Path

import pytest
from page_commands import run_page

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language-models.md").read_text("utf-8")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    run_page(PAGE, names)
    scores = list(map(float, Path("scores").read_text().splitlines()))
    assert names["scores"].tolist() == pytest.approx(scores, abs=1e-5)
    assert json.loads(Path("scores.jsonl").read_text().splitlines()[0])["log10"] == pytest.approx(scores[0], abs=1e-5)
    assert Path("again.arpa").read_text() == Path("lm.arpa").read_text()
