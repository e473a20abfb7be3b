"""The commands of the page of results on real data give its numbers."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_commands import run_line

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "results.md").read_text(encoding="utf-8")


def test_alignment_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_folder: Path) -> None:
    """Leave out what may not be installed; the rows of the page are these."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSES", str(shared_folder / "peers" / "moses-de-en"))
    monkeypatch.setenv("DATA", str(shared_folder / "data"))
    block = r"^    (toledo .*)\n    python (\S+)( .*)$"
    ((command, script, options),) = re.findall(block, TEXT, re.MULTILINE)
    run_line(os.path.expandvars(command))
    words = shlex.split(re.sub(r"--giza \S+ \S+", "", os.path.expandvars(options)))
    run = [sys.executable, DOCS.parent / script, *words]
    printed = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
    row = r"^\| (Toledo.*?) \| ([\d.]+) \| [\d.]+ \|$"
    scores = re.findall(row, printed, re.MULTILINE)
    assert len(scores) == 2
    assert re.findall(row, TEXT, re.MULTILINE) in ([], scores)
