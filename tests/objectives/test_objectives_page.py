"""The examples of the page on objectives run as printed."""

from pathlib import Path
from typing import Any

import pytest
from page_commands import run_page

PAGE = Path(__file__).parents[2] / "docs" / "objectives.md"


def test_the_examples_run() -> None:
    names: dict[str, Any] = {}
    run_page(PAGE.read_text(encoding="utf-8"), names)
    assert names["value"] == pytest.approx(-0.8, abs=0.5)
    assert set(names["gradient"]) == {"tm", "lm"}
    value, _ = names["MatchedWords"]().value_and_gradient(names["matched"], {"tm": 1.0, "lm": 1.0})
    assert 3.0 < value < 4.0
