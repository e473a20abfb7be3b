"""The classes and functions on the page on extending run, and do what the page says."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_commands import programs, run_page

from toledo.consensus.registry import RULES
from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.ngrams import localize
from toledo.metrics.registry import METRICS
from toledo.objectives.objective import match
from toledo.objectives.registry import OBJECTIVES
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.settings import TUNERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
TEXTS = [
    {"the small house": (-1.0, -4.0), "the house is small": (-2.0, -1.5), "house small": (-0.5, -6.0)},
    {"he waits for the train": (-3.0, -2.0), "he the train awaits": (-1.0, -5.0), "he waits": (-2.0, -1.0)},
]
REFERENCES = [[["the", "house", "is", "small"]], [["he", "waits", "for", "a", "train"]]]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """What the page defines and prints; names that it registers are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    for registry in (METRICS, RULES, OBJECTIVES, TUNERS):
        registry.names()  # entry points are read now
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        monkeypatch.setattr(registry, "_owners", dict(registry._owners))
    names: dict[str, Any] = {}
    printed = run_page(PAGE.replace("```toml", "```ini"), names)
    return names, printed.splitlines()


def test_the_session_runs(session: tuple[dict[str, Any], list[str]]) -> None:
    names, printed = session
    assert printed[0] == "the small house"
    assert printed[2:4] == ["3", "house"]
    assert set(names["tuning"].weights) == {"tm", "lm"}


def test_a_gradient_is_that_of_central_differences(session: tuple[dict[str, Any], list[str]]) -> None:
    words, step = Vocabulary(), 1e-5
    forests = [
        from_nbest(
            [ListEntry(text.split(), dict(zip(["tm", "lm"], values, strict=True))) for text, values in some.items()],
            ["tm", "lm"],
            words,
        )
        for some in TEXTS
    ]
    corpus = join(forests)
    matched = match(localize(corpus, np.zeros(corpus.edges), order=2), REFERENCES)
    objective = OBJECTIVES.make("matched-bigrams")
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
