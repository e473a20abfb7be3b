"""The picture of the README shows the numbers of its page."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "make_picture.py"


def test_the_picture_is_up_to_date() -> None:
    script = runpy.run_path(str(SCRIPT))
    gains = script["read_gains"](script["PAGE"].read_text(encoding="utf-8"))
    assert [one.language for one in gains] == ["German", "Czech", "Russian", "Japanese"]
    assert gains[0].combined == pytest.approx(37.03 - 35.90)
    assert script["picture"](gains) == script["PICTURE"].read_text(encoding="utf-8"), "make docs"
