"""The commands and the Python of the page on refining run as printed, and it has the defaults of the command."""

import inspect
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app
from toledo.cli.refine import refine
from toledo.refinement import ListSettings, Settings

PAGE = Path(__file__).parents[2] / "docs" / "refine.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^    toledo (.*)", text, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    assert Path("refined2/model.toml").exists()
    program = text.split("## In Python", 1)[1]
    block = "".join(re.findall(r"^(?:    .*)?\n", program, flags=re.MULTILINE))
    capsys.readouterr()
    exec(compile(re.sub(r"^    ", "", block, flags=re.MULTILINE), str(PAGE), "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) > 10


def test_defaults() -> None:
    text = PAGE.read_text(encoding="utf-8")
    defaults = {name: one.default for name, one in inspect.signature(refine).parameters.items()}
    assert (defaults["tau"], defaults["scale"]) == (Settings().strength, Settings().scale)
    assert (defaults["iterations"], defaults["patience"]) == (Settings().iterations, Settings().patience)
    assert (defaults["n_best"], defaults["folds"]) == (ListSettings().n_best, ListSettings().folds)
    assert defaults["train"].value == Settings().schedule
    for name in ("tau", "scale", "folds"):
        assert f"`--{name} {defaults[name]:g}".replace("e-05", "e-5") in text
    assert f"`--objective {defaults['objective'].value}`" in text
