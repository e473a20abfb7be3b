"""Write the tables of stored results into the pages.

    python docs/make_results.py            # all pages
    python docs/make_results.py --check    # only say which pages are not up to date

Between `<!-- results: SCRIPT TABLE -->` and `<!-- end -->` stands the table of that name which `experiments/SCRIPT.py`
makes of `experiments/results/SCRIPT.jsonl`, with the number of its runs and their commits. `| rows: A; B` after the
name keeps rows that begin so. `printed COMMAND` shows what a benchmark last printed (experiments/printed.py).
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "experiments"))
MARKED = re.compile(r"<!-- results: (\w+) (.*?)(?: \| rows: (.*?))? -->\n(.*?)<!-- end -->", re.DOTALL)
PRINTED = "printed"
NO_RUNS = "No runs are stored yet.\n"


def main() -> None:
    """Update all pages, or tell which are not up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    check = parser.parse_args().check
    old = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            old.append(page.relative_to(DOCS).as_posix())
            if not check:
                page.write_text(new, encoding="utf-8")
    if check and old:
        raise SystemExit(f"not up to date, run `make docs`: {', '.join(old)}")


def pages() -> Iterator[Path]:
    """All pages with results."""
    for page in sorted(DOCS.rglob("*.md")):
        if MARKED.search(page.read_text(encoding="utf-8")):
            yield page


def filled(page: str, tables_of: Callable[[str], dict[str, str]] | None = None) -> str:
    """The page with what is stored between its marks."""
    tables_of = tables_of or stored_tables

    def fill(mark: re.Match[str]) -> str:
        script, name, rows, _ = mark.groups()
        tables = tables_of(script)
        if name not in tables and script != PRINTED:
            raise ValueError(f"{script} has no table {name!r}, only {', '.join(map(repr, tables))}")
        chosen = f" | rows: {rows}" if rows else ""
        content = shown(tables.get(name, ""), tuple(rows.split("; ")) if rows else ())
        return f"<!-- results: {script} {name}{chosen} -->\n\n{content}\n<!-- end -->"

    return MARKED.sub(fill, page)


def shown(content: str, starts: tuple[str, ...]) -> str:
    """A table with some of its rows, other text as it is, or a remark if there is nothing."""
    lines = content.rstrip().splitlines()
    table = [line for line in lines if line.startswith("|")]
    if not table:
        return f"```text\n{content.rstrip()}\n```\n" if lines else NO_RUNS
    kept = [row for row in table[2:] if row.removeprefix("| ").startswith(starts or "")]
    below = [line for line in lines if not line.startswith("|")]
    return "\n".join([*table[:2], *kept, *below, ""]) if kept else NO_RUNS


@cache
def stored_tables(script: str) -> dict[str, str]:
    """The tables that an experiment makes of its stored runs."""
    from stored import Stored, made_by

    module = importlib.import_module(script)
    stored = Stored(str(module.__file__))
    under = "" if script == PRINTED else "\n" + made_by(stored.all())
    return {name: table + under if table else "" for name, table in module.tables(stored).items()}


if __name__ == "__main__":
    main()
