"""The commands of the page of results on real data give its numbers."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_commands import run_line

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "results.md").read_text(encoding="utf-8")


def test_alignment_quality(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moses_files: Path) -> None:
    """Leave out fast_align and eflomal, which may not be installed; if the page shows rows, they are these."""
    monkeypatch.chdir(tmp_path)
    block = r"^    (toledo .*)\n    python (\S+)( .*)$"
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
    assert re.findall(row, TEXT, re.MULTILINE) in ([], scores)
