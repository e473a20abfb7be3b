"""The commands and the Python of the page on tuning run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines

from toledo.api.tune import SEARCH_DEFAULTS
from toledo.search.settings import ITG, Beam
from toledo.tuning.loop import LoopSettings
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mira import MIRA
from toledo.weights import Weights

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (weights,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "start.toml").write_text(weights)
    assert Weights.load("start.toml").bounds == {"lm": (0.0, 2.0)}
    assert len(run_lines(text)) >= 15
    (program,) = programs(text)
    capsys.readouterr()
    exec(compile(program, str(PAGE), "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 20


def test_the_page_has_the_defaults_of_the_commands() -> None:
    text = PAGE.read_text(encoding="utf-8")
    beam, limit = SEARCH_DEFAULTS["itg"]["beam"], SEARCH_DEFAULTS["beam"]["pop_limit"]
    assert f"tuning has `itg:beam={beam}`, translation\n`itg:beam={ITG().beam}`" in text
    assert f"a pop limit of {limit}, as the first line says, and `toledo translate` with {Beam().pop_limit}" in text
    assert f"lattices ({LoopSettings().density:g})" in text
    assert f"look at {Gradient('xbleu').density:g} edges per word" in text
    assert f"`mira` always looks at {MIRA().density:g}" in text
