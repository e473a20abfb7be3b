"""The examples of docs/language-models.md run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "language-models.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the page's commands have been run."""
    folder = tmp_path_factory.mktemp("page")
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    toledo = f'toledo() {{ "{sys.executable}" -m toledo "$@"; }}\n'
    result = subprocess.run(
        ["bash", "-euc", toledo + commands], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    (folder / "printed").write_text(result.stdout)
    return folder


def test_the_commands_print_what_the_page_shows(folder):
    shown = "".join(line[4:] + "\n" for line in PAGE.splitlines() if re.match(r"    [a-z0-9. ]+\t", line))
    assert (folder / "printed").read_text() == shown
    assert (folder / "scores.jsonl").read_text().splitlines()[0] in PAGE


def test_the_python_examples_run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "language-models.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    scores = (folder / "scores").read_text().splitlines()
    assert float(printed[-1]) == pytest.approx(float(scores[0]), abs=1e-5)
    assert (folder / "again.arpa").read_text() == (folder / "lm.arpa").read_text()
