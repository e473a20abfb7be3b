"""Commands and programs of a page, run as printed."""

import glob
import re
import shlex
import subprocess
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from toledo.cli.app import app


def run_commands(page: Path, count: int) -> Result:
    """All lines of a page that begin with `toledo`, which are so many; what the last one printed."""
    commands = re.findall(r"^    toledo (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == count
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    return result


def run_lines(text: str) -> dict[str, str]:
    """Indented lines that call `toledo` or `printf`, one after the other; what each printed."""
    printed = {}
    for line in re.findall(r"^    ((?:toledo|printf) .*)", text, re.MULTILINE):
        if line.startswith("printf"):
            subprocess.run(["sh", "-c", line], check=True)
        elif not line.endswith("--help"):
            printed[line] = run_line(line)
    return printed


def run_line(line: str) -> str:
    """A call of toledo with `<`, `>` and patterns of file names; what it printed."""
    words = shlex.split(line)[1:]
    source = Path(words.pop(words.index("<") + 1)).read_text(encoding="utf-8") if "<" in words else None
    target = Path(words.pop(words.index(">") + 1)) if ">" in words else None
    words = [
        name for word in words if word not in "<>" for name in (sorted(glob.glob(word)) if "*" in word else [word])
    ]
    result = CliRunner().invoke(app, words, input=source, catch_exceptions=False)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if target:
        target.write_text(result.stdout, encoding="utf-8")
    return result.stdout


def programs(text: str) -> list[str]:
    """Indented blocks of Python without their indentation."""
    blocks = re.findall(r"(?:^    .*\n(?:\n+(?=    ))?)+", text, flags=re.MULTILINE)
    return [
        re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks if re.match(r"    (from|import) ", block)
    ]
