"""Links between pages lead somewhere, every page can be reached, and figures are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = {*(ROOT / "docs").rglob("*.ipynb")}


def links(page: Path) -> list[str]:
    """Addresses inside the checkout; blocks of code have none."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"", text)
    return [one or two for one, two in found if not re.match(r"https?:", one or two)]


def anchors(page: Path) -> set[str]:
    """What headings are called in addresses, as GitHub does it."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, queue = set(), [ROOT / "docs" / "index.md"]
    while queue:
        page = queue.pop()
        if page in reached:
            continue
        reached.add(page)
        if page.suffix == ".md":
            queue += [
                (page.parent / link.partition("#")[0]).resolve() for link in links(page) if not link.startswith("#")
            ]
    assert {*(ROOT / "docs").rglob("*.md")} | NOTEBOOKS <= reached


def test_figures_are_used() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for figure in (ROOT / "docs" / "figures").iterdir():
        assert f"figures/{figure.name}" in texts


def test_files_to_change_exist_and_hold_the_registries() -> None:
    text = (ROOT / "docs" / "where-to-change.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| an? [^|]* \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    files = [re.findall(r"`([\w/]+\.py)`", row[0]) for row in rows]
    assert len(rows) == 10
    assert sum(map(len, files)) <= 21
    for names, (_, todo) in zip(files, rows, strict=True):
        old = [name for name in names if not name.endswith("NEW.py")]
        new = [name for name in names if name.endswith("NEW.py")]
        assert all((ROOT / "toledo" / name).parent.is_dir() for name in new)
        sources = "".join((ROOT / "toledo" / name).read_text(encoding="utf-8") for name in old)
        assert all(registry in sources for registry in re.findall(r"`([A-Z]+)`", todo))
        assert all((ROOT / "toledo" / name).is_file() for name in re.findall(r"`([\w/]+\.py)`", todo))


def test_pages_for_users_name_no_folder_of_developers() -> None:
    """What they show can be had by everyone."""
    assert [page.name for page in PAGES if "../shared" in page.read_text(encoding="utf-8")] == ["experiments.md"]
