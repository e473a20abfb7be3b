"""Every benchmark and experiment can be imported, and those with options explain them."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *sorted((ROOT / "experiments").glob("*.py"))]
WITH_OPTIONS = [script for script in SCRIPTS if "argparse.ArgumentParser" in script.read_text(encoding="utf-8")]


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch: pytest.MonkeyPatch) -> object:
    """Both folders have modules of the same names."""
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if "." not in name and (ROOT / "experiments" / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_can_be_imported(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(script.parent))
    runpy.run_path(str(script), run_name="script")


@pytest.mark.parametrize("script", WITH_OPTIONS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_explains_its_options(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(script), run_name="__main__")
    assert end.value.code == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_script_needs_the_command_line(script: Path) -> None:
    assert "toledo.cli" not in script.read_text(encoding="utf-8")
