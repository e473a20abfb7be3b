"""The commands of the page on minimum risk run as printed, and it names conditions that the experiment has."""

import re
import runpy
from pathlib import Path

import pytest
from page_commands import run_commands

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "minimum-risk.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_commands(PAGE, 6)
    for file in ("sampled.out", "listed.out"):
        assert len(Path(file).read_text().splitlines()) == 40
        assert file.removesuffix(".out") in result.output


def test_conditions_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "experiments")  # where the script finds its neighbors
    conditions = runpy.run_path(str(ROOT / "experiments" / "minimum_risk.py"))["CONDITIONS"]
    named = re.findall(r'--conditions "([^"]*)"', PAGE.read_text(encoding="utf-8"))
    assert named
    for name in ";".join(named).split(";"):
        assert name in conditions
