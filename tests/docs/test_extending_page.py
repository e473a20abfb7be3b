"""The classes on the page on extending run, and do what the page says."""

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_commands import programs
from small_models import small_model

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"


@pytest.fixture
def _model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page runs where a model has been trained."""
    monkeypatch.chdir(tmp_path)
    small_model().save("model")


def session() -> dict[str, Any]:
    """What the page defines."""
    names: dict[str, Any] = {}
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    exec(compile(code, str(PAGE), "exec"), names)
    return names


@pytest.mark.usefixtures("_model")
def test_the_session_runs(capsys: pytest.CaptureFixture[str]) -> None:
    session()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("PairedTest(score=")
    assert float(printed[1].split()[0]) == pytest.approx(100 * 2 * 8 / (9 + 9), abs=0.01)
    assert "longer:0" in printed[3]
    assert printed[4:6] == ["['house', 'small']", "['he', 'waits']"]
    assert 0 < float(printed[6]) <= float(printed[1].split()[0])


@pytest.mark.usefixtures("_model")
def test_gradients_are_those_of_central_differences() -> None:
    names = session()
    metric, at, step = names["metric"], np.array([5.0, 8.0, 9.0]), 1e-5
    for place, slope in enumerate(metric.gradient(at)):
        change = step * np.eye(3)[place]
        assert slope == pytest.approx((metric.score(at + change) - metric.score(at - change)) / (2 * step), rel=1e-5)
    objective, matched = names["MatchedBigrams"](), names["matched"]
    _, gradient = objective.value_and_gradient(matched, {"tm": 1.0, "lm": 1.0})
    for name, slope in gradient.items():
        high, low = (
            objective.value_and_gradient(matched, {"tm": 1.0, "lm": 1.0, name: 1.0 + sign * step})[0]
            for sign in (1, -1)
        )
        assert slope == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-7)


def test_the_kernel_of_the_page_on_contributing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = programs((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (tmp_path / "contributed_kernel.py").write_text(program, encoding="utf-8")  # its source is looked up
    monkeypatch.syspath_prepend(tmp_path)
    dot = importlib.import_module("contributed_kernel").dot
    assert dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 11.0
