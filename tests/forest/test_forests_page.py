"""The examples of docs/forests.md run as they stand."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from toledo.cli.app import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "forests.md").read_text("utf-8")


def run_shell(block: str) -> list[str]:
    """Write the files of a block and run its commands."""
    for name, content in re.findall(r"^cat > (\S+) <<END\n(.*?)^END$", block, re.MULTILINE | re.DOTALL):
        Path(name).write_text(content)
    outputs = []
    for command in re.findall(r"^toledo .*", block, re.MULTILINE):
        result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
        assert result.exit_code == 0
        outputs.append(result.stdout)
    return outputs


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    outputs = [output for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for output in run_shell(block)]
    assert len(outputs) == 10
    assert "the small house" in outputs[0]
    assert "model scores of the file" in outputs[1]
    assert "features times the weights given" in outputs[2]
    assert Path("small.svg").read_text().startswith("<svg")
    assert Path("best.nbest").read_text().count("\n") == 3
    assert sorted(path.name for path in Path("graphs").iterdir()) == ["0.gz", "1.gz"]
    capsys.readouterr()
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), {})
    assert capsys.readouterr().out.splitlines() == [
        "the small house",
        "-2.5 the small house {'lm': -2.5}",
        "-3.5 a small house {'lm': -3.5}",
        "[0.582]",
        "0 Forest(1 nodes, 3 edges, 3 dense features) True",
        "1 Forest(1 nodes, 1 edges, 3 dense features) True",
    ]
