"""The page of results has the rows of the papers' pages, and its commands on real data give its numbers."""

import re
import runpy
from pathlib import Path

import pytest
from page_commands import run_line

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "results.md").read_text(encoding="utf-8")


def test_the_part_on_papers_is_up_to_date() -> None:
    assert runpy.run_path(str(DOCS / "make_results.py"))["with_papers"](TEXT) == TEXT, "make docs"


def test_alignment_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moses_files: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (block,) = re.findall(r"^    D=.*\n((?:    toledo .*\n)+)", TEXT, re.MULTILINE)
    for line in block.splitlines():
        printed = run_line(line.strip().replace("$D", str(moses_files)))
    table = dict(re.findall(r"^\| (Toledo|fast_align)[^|]*\| ([\d.]+) \|", TEXT, re.MULTILINE))
    scores = dict(re.findall(r"^(\w+)\.out +([\d.]+)", printed, re.MULTILINE))
    assert scores == {"fast": table["fast_align"], "own": table["Toledo"]}


def test_choice_among_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_folder: Path) -> None:
    text = (DOCS / "consensus.md").read_text(encoding="utf-8")
    monkeypatch.chdir(shared_folder / "data" / "wmt22-syscomb" / "de-en" / "test" / "raw")
    monkeypatch.setenv("COLUMNS", "160")
    output = tmp_path / "out.txt"
    run_line(f"toledo consensus --gain chrf --tokenize 13a sys.*.en --output {output}")
    printed = run_line(f"toledo evaluate -r ref.A.en sys.Online-G.en {output} --metrics bleu,chrf")
    scores = [f"{float(score):.1f}" for score in re.findall(r"(\d+\.\d+) ±", printed)]
    best = re.search(r"this gives ([\d.]+) BLEU and ([\d.]+) chrF", text).groups()
    system = re.search(r"Online-G, has ([\d.]+) and ([\d.]+) \(", text).groups()
    assert scores == [*system, *best]
