"""Every p value, BLEU score and CPU time in a page is written by `make docs` from stored runs, or quoted by name.

Output blocks of the page's own commands, commands and inline code are left alone: other tests run them.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = re.compile(r"<!-- results: .*?<!-- end -->", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|(?:^    .*\n?)+|`[^`\n]*`", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"\b[Qq]uoted from \S")
NUMBER = r"[+−-]?\d+(?:[.,]\d+)*"
P_VALUE = re.compile(r"\bp\s*[=<>≤≥]?\s*<?\s*(?:0\.|\.|1\.0)\d")
BLEU = re.compile(
    rf"{NUMBER}\s*(?:points? of )?BLEU\b(?![-+]\d)|\bBLEU\b(?![-+]\d)[^.|\n]{{0,60}}?\b\d{{1,2}}\.\d{{1,2}}\b"
)
TIME = re.compile(
    rf"{NUMBER}\s*(?:CPU\b|GiB\b|ms\b|M? ?\w+/s\b|times (?:as|so) (?:fast|long))|\bCPU\b[^.|\n]{{0,40}}\d"
)
MEASURED = re.compile(r"\bp\b|BLEU|chrF|TER\b|CPU|\bms\b|\btest|\bval\b|\btune\b|memory|calls saved|same choice")
FIGURE = re.compile(rf"\**{NUMBER}(?:\s*[±×%(/].*|\s*(?:GiB|ms|s))?\**")


def figures(page: str) -> list[str]:
    """Return the lines and cells of a page that have figures without an origin."""
    text = CODE.sub(lambda code: "" if code[0].startswith(("```", "    ")) else "code", MADE.sub("", page))
    found, above = [], ""
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.strip()]
        table = bool(lines) and all(line.lstrip().startswith("|") for line in lines)
        if not QUOTED.search(above if table else block):
            found += cells(lines) if table else [one for one in sentences(block) if is_figure(one)]
        above = block
    return found


def sentences(block: str) -> list[str]:
    """Return the sentences of a paragraph, or the items of a list."""
    plain = " ".join(block.split())
    return re.split(r"(?<=[.:;!?])\s+(?=[A-Z*\[(])| (?=- )", plain)


def is_figure(text: str) -> bool:
    return any(pattern.search(text) for pattern in (P_VALUE, BLEU, TIME))


def cells(lines: list[str]) -> list[str]:
    """Return the cells that are numbers in a table with a measured column, or that have figures anyway."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    measured = MEASURED.search(" ".join(rows[0]))
    pairs = [(title, cell) for row in rows[2:] for title, cell in zip(rows[0], row, strict=False)]
    return [f"{title}: {cell}" for title, cell in pairs if is_figure(cell) or (measured and FIGURE.fullmatch(cell))]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_figure_has_an_origin(page: Path) -> None:
    assert figures(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "It is better (p 0.009).",
        "It is better, p < 0.001.",
        "Significant at p = .04 on both.",
        "It gains 1.1 BLEU.",
        "It is half a point or 0.5 points of BLEU better.",
        "BLEU goes from 32.2 to 32.7.",
        "It takes 220 CPU seconds.",
        "MBR takes 0.5 ms.",
        "It is 3.4 times as fast as others, in 2 GiB.",
        "The paper has 44.5 BLEU.",
        "- An item\n- Another one with 39.5 BLEU\n",
        "Ours:\n\n| condition | test2016 |\n|---|---|\n| MERT | 40.14 ± 0.25 |\n",
        "Ours:\n\n| condition | p |\n|---|---|\n| MERT | <0.001 |\n| PRO | 0.020 |\n",
        "Ours:\n\n| rule | CPU s |\n|---|---|\n| MBR | 12 |\n",
        "| tune | de-en |\n|---|---|\n| shared votes | +0.92/+0.75 |\n",
        "| rule | gain |\n|---|---|\n| MBR | +0.5 BLEU |\n",
        "<!-- results: tuners mbr -->\n| a | 1 |\n<!-- end -->\n\nThat is 0.4 BLEU more.",
    ],
)
def test_a_figure_without_an_origin_is_found(line: str) -> None:
    assert figures(f"# Page\n\n{line}\n") != []


@pytest.mark.parametrize(
    "line",
    [
        "Quoted from the paper (Europarl):\n\n| pair | test BLEU |\n|---|---|\n| Spanish | 30.2 |\n",
        "It has 26.91 BLEU, quoted from He and Deng.",
        "<!-- results: tuners mbr -->\n\n| tuner | p |\n|---|---|\n| mert | 0.02 |\n\n<!-- end -->",
        "```text\nBLEU 40.1, p 0.03, 3 CPU s\n```",
        "    toledo tune --objective xbleu:l2=0.1",
        "A `*` marks `p < 0.05`.",
        "BLEU-4, BLEU+1 and xBLEU are objectives; p is two-sided.",
        "Scores become probabilities by p(d) ∝ exp(scale · score(d)).",
        "| option | default |\n|---|---|\n| scale | 0.5 |\n",
    ],
)
def test_quotations_results_and_code_are_left_alone(line: str) -> None:
    assert figures(f"# Page\n\n{line}\n") == []
