"""The part of docs/results.md on papers, from their pages: the main rows of their tables, theirs and ours.

    python docs/make_results.py

Commands are those of `make experiments`; rows are copied, so that they cannot differ from the page.
"""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BEGIN, END = "<!-- papers: made by make docs -->\n", "<!-- end of papers -->"
SIGNATURE = "BLEU|case:lc|eff:no|tok:none|smooth:none"


@dataclass(frozen=True)
class Choice:
    """Rows of one table: the section, how the line above the table begins, and how rows begin (none: all of them)."""

    section: str
    caption: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A page, what it is about, how it was run, and what to show of it."""

    page: str
    title: str
    how: str
    choices: tuple[Choice, ...]


COBLEU_ROWS = ("MERT ", "CoBLEU |", "MERT→CoBLEU", "CoBLEU, L-BFGS |")
RISK_ROWS = (
    "MERT | Viterbi",
    "MERT | n-best",
    "MERT | lattice",
    "corpus, annealed, whole | n-best",
    "corpus, annealed, whole | lattice",
    "corpus, annealed, whole | MBR",
)
COMBINATION_ROWS = (
    "best on test",
    "MBR choice",
    "latBLEU",
    "nbExpBLEU",
    "latExpBLEU |",
    "latExpBLEU + biased LM |",
)
DOCUMENT_ROWS = (
    "default",
    "MERT |",
    "MERT, word sums |",
    "PRO |",
    "PRO, positive |",
    "expected BLEU |",
    "expected BLEU, words |",
    "refined on chains |",
)

PAPERS = (
    Paper(
        "papers/cobleu",
        "Pauls, DeNero and Klein 2009: CoBLEU",
        "MERT with four seeds, mean and σ; CoBLEU has no random numbers. One reference (Spanish: two).",
        (
            *(
                Choice("Tables 1 and 2", f"{language}, consensus decoding", COBLEU_ROWS)
                for language in ("French", "German", "Spanish")
            ),
            Choice("Tables 1 and 2", "The paper"),
        ),
    ),
    Paper(
        "papers/minimum-risk",
        "Arun, Haddow and Koehn 2010: minimum risk by sampling",
        "Runs are seeds, mean and σ; p against the best pipeline of MERT on that test. One reference.",
        (
            *(Choice("Table 2", f"{language}:", RISK_ROWS) for language in ("German", "French", "Japanese")),
            Choice("Table 2", "The paper"),
        ),
    ),
    Paper(
        "papers/system-combination",
        "Rosti, Zhang, Matsoukas and Schwartz 2011: system combination",
        "Nothing is random, one run each. One reference. CPU s: tuning + translating both halves.",
        (
            *(
                Choice("Tables 1 and 2", f"{language}, ", COMBINATION_ROWS)
                for language in ("German", "Czech", "Russian", "Japanese")
            ),
            Choice("Tables 1 and 2", "The paper"),
        ),
    ),
    Paper(
        "papers/max-expected-bleu",
        "He and Deng 2012: maximum expected BLEU",
        "No random numbers in training; MERT at last with several seeds, mean and σ. One reference.",
        (Choice("Table 3", ""), Choice("Against weights", "")),
    ),
    Paper(
        "papers/documents",
        "Smith 2015: documents",
        "MERT with three seeds, refinement with two, others with one. Two references; p by a bootstrap over documents.",
        (
            Choice("Chapter 3", ""),
            Choice("Chapter 3", "The thesis"),
            Choice("Chapter 4", "German, hill climbing", DOCUMENT_ROWS),
            Choice("Chapter 4", "Spanish, hill climbing", DOCUMENT_ROWS),
            Choice("Chapter 4", "The thesis"),
        ),
    ),
)


def main() -> None:
    """Put the part into the page."""
    file = DOCS / "results.md"
    file.write_text(with_papers(file.read_text(encoding="utf-8")), encoding="utf-8")


def with_papers(page: str) -> str:
    """The page with a new part on papers."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "".join(map(part, PAPERS)) + END + rest.partition(END)[2]


def part(paper: Paper) -> str:
    """Title, link, commands and tables of one paper."""
    text = (DOCS / f"{paper.page}.md").read_text(encoding="utf-8")
    experiments = runpy.run_path(str(DOCS / "run_experiments.py"))["all_experiments"](DOCS, [paper.page])
    commands = "\n".join(f"    {one.command}" for one in experiments)
    tables = "".join(chosen(text, choice) for choice in paper.choices)
    about = f"{paper.how} Signature: `{SIGNATURE}`. [All tables, and what they say]({paper.page}.md); made by"
    return f"\n### {paper.title}\n\n{about}\n\n{commands}\n\n{tables}"


def chosen(page: str, choice: Choice) -> str:
    """The line above a table, if there is one of its own, and some rows."""
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    (section,) = [one for one in sections if one.startswith(choice.section)]
    for caption, table in re.findall(r"^(.*)\n\n((?:\|.*\n)+)", section, re.MULTILINE):
        if caption.startswith(choice.caption):
            head, line, *rows = table.splitlines()
            kept = [row for row in rows if not choice.rows or row.removeprefix("| ").startswith(choice.rows)]
            if not kept:
                raise ValueError(f"no rows {choice.rows} under {caption!r}")
            shown = f"{caption}\n\n" if choice.caption or "paper" in caption else ""
            return shown + "\n".join([head, line, *kept]) + "\n\n"
    raise ValueError(f"no table {choice.caption!r} in {choice.section!r}")


if __name__ == "__main__":
    main()
