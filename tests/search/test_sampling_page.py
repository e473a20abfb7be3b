"""The commands and the Python of the page on sampling run as printed, and it has the defaults of the library."""

from pathlib import Path
from typing import Any

import pytest
from page_commands import run_page

from toledo.search.settings import OPERATORS, Gibbs

PAGE = Path(__file__).parents[2] / "docs" / "sampling.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run_page(TEXT, names)
    for file in ("test.gibbs", "test.trained"):
        assert len(Path(file).read_text().splitlines()) == 10
    assert "R-hat" in Path("samples.html").read_text()
    assert sum(one.count for one in names["samples"]) == 1000
    assert names["counts"]["pazet ."] > 0.0


def test_the_page_has_the_defaults_of_the_library() -> None:
    ours = Gibbs()
    settings = f"chains={ours.chains},iterations={ours.iterations},burn_in={ours.burn_in}"
    assert f"`--search gibbs:{settings}` (the defaults)" in TEXT
    assert all(f"| `{name}` |" in TEXT for name in OPERATORS)
