"""The picture of the README shows the stored runs."""

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "make_picture.py"


def test_the_picture_is_up_to_date() -> None:
    script = runpy.run_path(str(SCRIPT))
    gains = script["stored_gains"]()
    names = [one.language for one in gains]
    assert names
    assert names == [one for one in script["LANGUAGES"].values() if one in names]
    assert all(5 < one.systems < 20 and 10 < one.best < 60 for one in gains)
    assert script["picture"](gains) == script["PICTURE"].read_text(encoding="utf-8"), "make docs"
