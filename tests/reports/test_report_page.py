"""The page on `toledo report`: its commands and its program run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import run_lines
from pages import check_page

PAGE = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run_lines(PAGE)) == 10
    for name, kinds in {"report.html": ["Tuning"], "page.html": ["Scores", "Documents", "Hypotheses"]}.items():
        page = check_page(tmp_path / name)
        assert all(f">{kind}: " in page for kind in kinds)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, {})
    check_page(tmp_path / "mine.html")
