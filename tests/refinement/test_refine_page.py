"""The commands and the Python of the page on refining run as printed, and it has the defaults of the command."""

import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines

from toledo.refinement.settings import LEXICON_PART, RefineSettings
from toledo.settings import describe

PAPER = RefineSettings(method="growth").resolved()
PAGE = Path(__file__).parents[2] / "docs" / "refine.md"


def rows(table: str) -> list[list[str]]:
    """Of the table of iterations, without CPU times."""
    return [line.split()[:-1] for line in re.findall(r"^\d (?: |\*).*", table, re.MULTILINE)]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "160")
    printed = run_lines(text)
    assert len(printed) == 5
    shown = rows("\n".join(re.findall(r"^    (.*)", text, re.MULTILINE)))
    assert len(shown) == 3
    assert shown == rows(next(output for line, output in printed.items() if line.endswith("--output refined")))
    assert Path("refined2/model.toml").exists()
    (program,) = programs(text)
    capsys.readouterr()
    exec(compile(program, str(PAGE), "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) > 10


def test_defaults() -> None:
    text = PAGE.read_text(encoding="utf-8")
    ours = RefineSettings().resolved()
    assert f"`--tau {ours.tau:g} --lexicon-tau {ours.lexicon_tau:g}`" in text
    assert f"`--sharpness {ours.sharpness:g}` |" in text
    assert f"`--distance kl` the default is {PAPER.tau:g} for both".replace("e-05", "e-5") in text
    assert PAPER.lexicon_tau == PAPER.tau
    assert f"With growth transforms {PAPER.sharpness:g}" in text
    assert ours.steps == 20
    assert "Twenty steps" in text
    assert f"`--folds {ours.folds}`" in text
    assert f"`--objective {ours.objective}`" in text


def test_help_tells_the_defaults() -> None:
    told = {name: help_text for name, (_, _, help_text) in describe(RefineSettings).items()}
    ours = RefineSettings().resolved()
    assert f"[{ours.distance}: {ours.tau:g}, kl: {PAPER.tau:g}]".replace("e-05", "e-5") in told["tau"]
    assert "[ratios: a tenth of tau, kl: tau]" in told["lexicon_tau"]
    assert ours.lexicon_tau == pytest.approx(ours.tau / LEXICON_PART)
    assert LEXICON_PART == 10
    for name in ("sharpness", "iterations", "distance", "level"):
        one, other = getattr(ours, name), getattr(PAPER, name)
        one, other = (f"{value:g}" if isinstance(value, float) else value for value in (one, other))
        assert f"[lbfgs: {one}, growth: {other}]" in told[name]
    assert f"[{ours.steps}]" in told["steps"]
