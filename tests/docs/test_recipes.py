"""The recipes run as printed, and print what they show."""

from pathlib import Path

import pytest
from page_commands import run_page

import toledo
from toledo.sample.corpus import generate

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")  # tables as a terminal shows them
    return tmp_path


@pytest.mark.parametrize("name", ["fast-align.md", "kenlm.md", "neural-metrics.md", "sacrebleu.md"])
def test_a_recipe_runs(name: str, here: Path) -> None:
    run_page((RECIPES / name).read_text(encoding="utf-8"))


def test_moving_over_from_moses_with_moses_md(here: Path) -> None:
    generate(1, 2000, 50, 50).save("data")
    toledo.train("data/train.src", "data/train.trg", tokenized=True).export("moses")
    for name, file in {"tune.src": "tune.src", "tune.trg": "tune.trg.0", "test.src": "test.src"}.items():
        Path(name).write_text(Path("data", file).read_text(encoding="utf-8"), encoding="utf-8")
    run_page((RECIPES / "moses.md").read_text(encoding="utf-8"))
    assert all(len(Path(name).read_text().splitlines()) == 50 for name in ("test.out", "test.mbr"))
    assert Path("exported", "moses.ini").is_file()


def test_all_recipes_are_tested() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(page.name in text for page in RECIPES.iterdir())
