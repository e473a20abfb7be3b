"""Run the notebooks of docs/notebooks and save what they print.

    python docs/make_notebooks.py

Cells run in a temporary directory. Saved is standard output only, so that a notebook changes only when a
result does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent / "notebooks"
METADATA = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def main() -> None:
    """Run all notebooks in place."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(run(path), path)


def run(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs that its cells give now."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = printed(cell.outputs)
    return notebook


def printed(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return as one output what a cell wrote to standard output, which may have come in pieces."""
    text = "".join(one.text for one in outputs if one.get("name") == "stdout")
    return [nbformat.v4.new_output("stream", name="stdout", text=text)] if text else []


if __name__ == "__main__":
    main()
