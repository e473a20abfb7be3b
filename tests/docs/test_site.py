"""The site builds without a warning, and its pages fetch nothing from other hosts."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = {"NO_MKDOCS_2_WARNING": "1"}  # of the theme, about another program
    built = subprocess.run(words, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


class _Page(HTMLParser):
    """Collects what a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if (address := dict(attrs).get(LOADED.get(tag, ""))) is not None:
            self.loaded.append(address)


def test_pages_load_their_own_files_only(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        parser = _Page()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.loaded
        assert not [one for one in parser.loaded if re.match(r"(?:https?:)?//", one)], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8"))


def test_notebooks_and_the_page_on_contributing_are_there(site: Path) -> None:
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        text = (site / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert f'href="{notebook.name}" download' in text
        assert (site / "notebooks" / notebook.name).read_bytes() == notebook.read_bytes()
    assert 'href="contributing.html"' in (site / "index.html").read_text(encoding="utf-8")


def test_signatures_and_help_texts_of_settings_are_shown(site: Path) -> None:
    text = (site / "api" / "choosing.html").read_text(encoding="utf-8")
    assert 'id="toledo.MBR.reference_size"' in text
    assert "Annotated" not in text


def test_the_page_of_the_package_has_absolute_links() -> None:
    page = runpy.run_path(str(ROOT / "setup.py"))["package_page"]
    assert page('[a](docs/a.md#b) [c](https://x) <img src="docs/c.svg" width="1">', "https://here") == (
        '[a](https://here/blob/main/docs/a.md#b) [c](https://x) <img src="https://here/raw/main/docs/c.svg" width="1">'
    )
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert not re.search(r'\]\((?!https:)|src="(?!https:)', page((ROOT / "README.md").read_text(), urls["Repository"]))
