"""The page of results shows rows of the papers' pages, and its commands on real data give its numbers."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_commands import run_line

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "results.md").read_text(encoding="utf-8")


def test_the_part_on_papers_is_up_to_date() -> None:
    assert runpy.run_path(str(DOCS / "make_results.py"))["with_papers"](TEXT) == TEXT, "make docs"


def test_alignment_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moses_files: Path) -> None:
    """Leave out fast_align and eflomal, which may not be installed."""
    monkeypatch.chdir(tmp_path)
    block = r"^    (toledo .*)\n    python (\S+)( .*) --fast-align FAST --eflomal 3$"
    ((command, script, options),) = re.findall(block, TEXT, re.MULTILINE)
    run_line(command.replace("$MOSES", str(moses_files)))
    words = [
        sys.executable,
        DOCS.parent / script,
        *shlex.split(options.replace("$MOSES", str(moses_files))),
        "--eflomal=0",
    ]
    printed = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    row = r"^\| (Toledo.*?) \| ([\d.]+) \| ([\d.]+) \| [\d.]+ \|$"
    scores = re.findall(row, printed, re.MULTILINE)
    assert len(scores) == 2
    assert scores == re.findall(row, TEXT, re.MULTILINE)


def test_choice_among_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_folder: Path) -> None:
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    monkeypatch.chdir(shared_folder / "data" / "wmt22-syscomb" / "de-en" / "test" / "raw")
    monkeypatch.setenv("COLUMNS", "160")
    output = tmp_path / "out.txt"
    run_line(f"toledo choose sys.*.en --output {output}")
    printed = run_line(f"toledo evaluate -r ref.A.en sys.Online-G.en {output} --metric bleu --metric chrf")
    scores = [f"{float(score):.1f}" for score in re.findall(r"(\d+\.\d+) ±", printed)]
    best = re.search(r"gives ([\d.]+) BLEU and ([\d.]+) chrF", text).groups()
    system = re.search(r"Online-G, has ([\d.]+) and ([\d.]+) \(", text).groups()
    assert scores == [*system, *best]
