"""The commands and the Python of the page on tuning run as printed, and it has the defaults of the library."""

import re
from pathlib import Path

import pytest
from page_commands import run_page

from toledo.search.settings import ITG, Beam
from toledo.tuning.loop import LoopSettings
from toledo.tuning.settings import TUNERS
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mira import MIRA
from toledo.weights import Weights

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (weights,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    Path("start.toml").write_text(weights)
    assert Weights.load("start.toml").bounds == {"lm": (0.0, 2.0)}
    run_page(TEXT)
    assert all(Path(name, "model.toml").is_file() for name in ("tuned", "best", "ruled", "sparse"))
    assert 0.0 <= Weights.load("bounded.toml")["lm"] <= 2.0
    assert len(Path("tune.better").read_text(encoding="utf-8").splitlines()) == 100


def test_the_page_has_the_defaults_of_the_library() -> None:
    assert f"instead of {Beam().pop_limit}\n" in TEXT
    assert f"instead of {ITG().beam}." in TEXT
    assert f"Lists have {LoopSettings().n_best} texts" in TEXT
    assert f"Lattices keep {LoopSettings().density:g} edges per word" in TEXT
    assert f"look at {Gradient('xbleu').density:g} (" in TEXT
    assert f"`mira` at {MIRA().density:g}," in TEXT


def test_all_objectives_are_explained() -> None:
    assert all(f"| `{name}`" in TEXT for name in TUNERS.names() if name != "gradient")
