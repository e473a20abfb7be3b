"""Commands of a page, run as printed."""

import re
import shlex
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from toledo.cli import app


def run_commands(page: Path, count: int) -> Result:
    """All lines of a page that begin with `toledo`, which are so many; what the last one printed."""
    commands = re.findall(r"^    toledo (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == count
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, f"{command}\n{result.output}"
    return result
