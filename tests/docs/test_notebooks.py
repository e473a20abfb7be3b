"""The notebooks run, and print what they show."""

import runpy
from pathlib import Path

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # of the packages that run notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    shown = nbformat.read(path, as_version=4)
    ran = runpy.run_path(str(DOCS / "make_notebooks.py"))["run"](path)
    nbformat.validate(shown)
    for before, after in zip(shown.cells, ran.cells, strict=True):
        assert before == after, "make docs"
    assert sum(len(cell.get("outputs", [])) for cell in shown.cells) > 5
