"""The examples of docs/evaluation.md run as they stand."""

import re
from pathlib import Path

from page_commands import run_line

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"


def test_the_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("ref.en", "system.en", "baseline.en", "better.en", "best.en")):
        Path(name).write_text(f"The cat sat on mat {number}.\nHello, world!\n")
    commands = re.findall(r"^toledo .*", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert "BLEU|nrefs:1" in run_line(command)


def test_the_session_runs(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    exec(compile(code, str(PAGE), "exec"), {})
    score, baseline, system = capsys.readouterr().out.splitlines()
    assert float(score) == 0  # shorter than four words
    assert baseline == "baseline {'BLEU': 59.46, 'TER': 25.0}"
    assert system == "system {'BLEU': 100.0, 'TER': 0.0}"
