"""The commands and the Python of the page on decision rules that deal with lists run as printed."""

import gzip
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "consensus.md"
LIST = "0 ||| the house ||| lm= -1 ||| -1\n0 ||| a house ||| lm= -2 ||| -2\n1 ||| yes ||| lm= 0 ||| 0\n"


@pytest.fixture
def section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    for name in ("val.nbest.gz", "test.nbest.gz"):
        Path(name).write_bytes(gzip.compress(LIST.encode()))
    for name in ("system1.en", "system2.en", "system3.en", "val.en"):
        Path(name).write_text("the house\nyes\n")
    Path("tuned.toml").write_text("[weights]\nlm = -1.0\n")
    return PAGE.read_text(encoding="utf-8").split("## Outputs of any system", 1)[1].split("\n## ", 1)[0]


def test_the_commands_run(section: str) -> None:
    (samples,) = re.findall(r"^    (printf .*)", section, re.MULTILINE)
    subprocess.run(["sh", "-c", samples], check=True)
    commands = re.findall(r"^    toledo (.*)", section, re.MULTILINE)
    results = []
    for command in commands:
        words = shlex.split(command.partition(" > ")[0])
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        results.append(result.stdout.splitlines())
    assert results[:4] == [["The cat sat on the mat."], ["the house", "yes"], ["the house", "yes"], ["a house", "yes"]]
    assert results[4][-1].startswith("best: --scale")


def test_the_json_is_read(section: str) -> None:
    text = "\n".join(re.findall(r"^    (\{.*\})", section, re.MULTILINE))
    result = CliRunner().invoke(app, ["consensus"], input=text, catch_exceptions=False)
    assert len(result.stdout.splitlines()) == 2


def test_the_python_runs(section: str) -> None:
    (block,) = re.findall(r"(?:^    .*\n|\n)*^    import numpy(?:.*\n)(?:    .*\n|\n(?=    ))*", section, re.MULTILINE)
    found: dict[str, object] = {}
    exec(compile(re.sub(r"^    ", "", block.lstrip("\n"), flags=re.MULTILINE), str(PAGE), "exec"), found)
    assert found["place"] == 0
