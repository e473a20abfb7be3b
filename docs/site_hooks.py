"""What MkDocs does for the site beyond its plugins: notebooks and CONTRIBUTING.md become pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no Markdown files of docs/."""
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "contributing.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to notebooks and to CONTRIBUTING.md to their pages."""
    markdown = markdown.replace("](../CONTRIBUTING.md)", "](contributing.md)")
    return re.sub(r"\]\((notebooks/\w[\w-]*)\.ipynb\)", r"](\1.md)", markdown)


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown: cells in their order, and what they printed."""
    parts = [part for cell in notebook["cells"] for part in cell_parts(cell)]
    parts.insert(1, f'This page is a notebook: <a href="{name}" download>download</a> it to run it.')
    return "\n\n".join(parts) + "\n"


def cell_parts(cell: dict[str, Any]) -> list[str]:
    """Return the text of a cell, and each of its outputs."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [text]
    return [fenced(text, "python"), *(fenced(output_text(one), "text") for one in cell["outputs"])]


def output_text(output: dict[str, Any]) -> str:
    """Return what was printed, or the plain form of the last value of a cell."""
    return "".join(output["text"] if "text" in output else output["data"]["text/plain"])


def fenced(text: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"
