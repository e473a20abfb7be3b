"""The commands and the Python of the page on sampling run as printed."""

from pathlib import Path

import pytest
from page_commands import programs, run_lines

from toledo.weights import Weights

PAGE = Path(__file__).parents[2] / "docs" / "sampling.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    assert len(run_lines(text)) == 8
    for file in ("test.gibbs", "test.trained"):
        assert len(Path(file).read_text().splitlines()) == 10
    assert Weights.load("trained.toml")["lm"] > 0.0
    assert "R-hat" in Path("samples.html").read_text()
    (program,) = programs(text)
    exec(compile(program, str(PAGE), "exec"), {})
    assert "of 1000" in capsys.readouterr().out
