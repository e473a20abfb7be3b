"""The commands and the Python of the page on refining run as printed, and it has the defaults of the command."""

import inspect
import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines
from typer.main import get_command

from toledo.cli.app import app
from toledo.cli.refine.command import refine
from toledo.refinement.settings import LEXICON_PART, RefineSettings

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
    defaults = {name: one.default for name, one in inspect.signature(refine).parameters.items()}
    ours = RefineSettings().resolved()
    assert f"`--tau {ours.tau:g} --lexicon-tau {ours.lexicon_tau:g}`" in text
    assert f"`--scale {ours.sharpness:g}` |" in text
    assert f"`--distance kl` the default is {PAPER.tau:g} for both".replace("e-05", "e-5") in text
    assert PAPER.lexicon_tau == PAPER.tau
    assert f"With growth transforms {PAPER.sharpness:g}" in text
    assert ours.steps == 20
    assert "Twenty steps" in text
    assert (defaults["patience"], defaults["train"].value) == (ours.patience, ours.parameters)
    assert (defaults["n_best_size"], defaults["folds"]) == (ours.nbest, ours.folds)
    assert f"`--folds {defaults['folds']}`" in text
    assert f"`--objective {defaults['objective'].value}`" in text


def test_help_tells_the_defaults() -> None:
    options = {one.name: one for one in get_command(app).commands["refine"].params}
    ours = RefineSettings().resolved()
    assert options["tau"].show_default == (f"{ours.tau:g}; {PAPER.distance}: {PAPER.tau:g}".replace("e-05", "e-5"))
    assert options["lexicon_tau"].show_default == f"a tenth of --tau; {PAPER.distance}: as --tau"
    assert ours.lexicon_tau == pytest.approx(ours.tau / LEXICON_PART)
    assert LEXICON_PART == 10
    assert options["scale"].show_default == f"{ours.sharpness:g}; growth: {PAPER.sharpness:g}"
    assert options["iterations"].show_default == f"{ours.iterations}; growth: {PAPER.iterations}"
    assert options["distance"].show_default == f"{ours.distance}; growth: {PAPER.distance}"
    assert options["utility"].show_default == f"{ours.level}; growth: {PAPER.level}"
    assert options["steps"].show_default == f"{ours.steps}"
