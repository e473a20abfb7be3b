"""Write the papers' part of docs/results.md from their pages: the main rows of their tables, theirs and ours.

    python docs/make_results.py

Rows and captions are copied, so they cannot differ from the pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BEGIN, END = "<!-- papers: made by make docs -->\n", "<!-- end of papers -->"


@dataclass(frozen=True)
class Excerpt:
    """Rows of one table: its section, the start of its caption, and the starts of the rows (none: all)."""

    section: str
    caption: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A page, its title, one line on how it was run, and what to show of it."""

    page: str
    title: str
    how: str
    excerpts: tuple[Excerpt, ...]


COBLEU_ROWS = ("MERT |", "CoBLEU |", "CoBLEU, L-BFGS |")
RISK_ROWS = ("corpus, annealed, whole | n-best", "corpus, annealed, whole | lattice")
BEST_RULES = {"German": "lattice", "French": "lattice", "Japanese": "n-best"}  # of MERT on the test
COMBINATION_ROWS = ("best on test", "latExpBLEU + biased LM |")
DOCUMENT_ROWS = ("default", "MERT |", "refined on chains |")

PAPERS = (
    Paper(
        "papers/cobleu",
        "Pauls, DeNero and Klein 2009: CoBLEU",
        "MERT with four seeds (mean ± σ), CoBLEU without random numbers.",
        (
            *(
                Excerpt("Tables 1 and 2", f"{language}, consensus decoding", COBLEU_ROWS)
                for language in ("French", "German", "Spanish")
            ),
            Excerpt("Tables 1 and 2", "The paper", ("Spanish", "French")),
        ),
    ),
    Paper(
        "papers/minimum-risk",
        "Arun, Haddow and Koehn 2010: minimum risk by sampling",
        "Mean ± σ over seeds; p against MERT with the rule that is best on that test.",
        (
            *(
                Excerpt("Tables 1 to 3", f"{language}:", (f"MERT | {rule}", *RISK_ROWS))
                for language, rule in BEST_RULES.items()
            ),
            Excerpt("Tables 1 to 3", "The paper"),
        ),
    ),
    Paper(
        "papers/system-combination",
        "Rosti, Zhang, Matsoukas and Schwartz 2011: system combination",
        "One run, nothing is random; CPU s is tuning + translating both halves.",
        (
            *(
                Excerpt("Tables 1 and 2", f"{language}, ", COMBINATION_ROWS)
                for language in ("German", "Czech", "Russian", "Japanese")
            ),
            Excerpt("Tables 1 and 2", "The paper", ("best", "latExpBLEU")),
        ),
    ),
    Paper(
        "papers/max-expected-bleu",
        "He and Deng 2012: maximum expected BLEU",
        "No random numbers in training; a final MERT with several seeds.",
        (Excerpt("Against weights", "Mean"),),
    ),
    Paper(
        "papers/documents",
        "Smith 2015: documents",
        "MERT with three seeds, refinement with two; p from a bootstrap over documents.",
        (
            Excerpt("Chapter 3", "Means", ("from beam search |", "from random |", "within reach |")),
            Excerpt("Chapter 3", "The thesis"),
            Excerpt("Chapter 4", "German, hill climbing", DOCUMENT_ROWS),
            Excerpt("Chapter 4", "Spanish, hill climbing", DOCUMENT_ROWS),
        ),
    ),
)


def main() -> None:
    """Update the page."""
    file = DOCS / "results.md"
    file.write_text(with_papers(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_papers(page: str) -> str:
    """Return the page with a new part on papers."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "".join(map(part, PAPERS)) + "\n" + END + rest.partition(END)[2]


def part(paper: Paper) -> str:
    """Return title, link and tables of one paper."""
    text = (DOCS / f"{paper.page}.md").read_text(encoding="utf-8")
    tables = "".join(table(text, excerpt) for excerpt in paper.excerpts)
    return f"\n### {paper.title}\n\n{paper.how} [All tables and commands]({paper.page}.md).\n{tables}"


def table(page: str, excerpt: Excerpt) -> str:
    """Return the caption and some rows of a table."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    (section,) = [one for one in sections if one.startswith(excerpt.section)]
    for caption, lines in re.findall(r"^(.*)\n\n((?:\|.*\n)+)", section, re.MULTILINE):
        if caption.startswith(excerpt.caption):
            head, line, *rows = lines.splitlines()
            kept = [row for row in rows if not excerpt.rows or row.removeprefix("| ").startswith(excerpt.rows)]
            if not kept:
                raise ValueError(f"no rows {excerpt.rows} under {caption!r}")
            return "\n".join(["", caption, "", head, line, *kept, ""])
    raise ValueError(f"no table {excerpt.caption!r} in {excerpt.section!r}")


if __name__ == "__main__":
    main()
