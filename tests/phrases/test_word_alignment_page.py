"""The examples of docs/word-alignment.md run as they stand."""

import re
from pathlib import Path

import pytest
from page_commands import run_line

from toledo.files import read_lines

PAGE = Path(__file__).resolve().parents[2] / "docs" / "word-alignment.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for command in block.splitlines():
            run_line(command)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    exec(compile(code, str(PAGE), "exec"), {})
    first, probability, score = capsys.readouterr().out.splitlines()
    assert first.startswith("[[0, ")
    assert 0 < float(probability) <= 1
    assert 0.7 < float(score) < 0.9
    counts = [sum(len(line.split()) for line in read_lines(name)) for name in ("sure.gz", "alignments", "links.gz")]
    assert counts == sorted(counts)
    assert sum(1 for _ in read_lines("lexicons/lex.e2f.gz")) > 1000
