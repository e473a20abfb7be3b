"""The commands and the Python of the README and of the pages on training and translating run as printed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "training.md", ROOT / "docs" / "translation.md"]


def blocks(page: Path) -> list[str]:
    """Indented blocks without their indentation."""
    found = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language in ("de", "en"):
        Path(f"raw.{language}").write_text("Hello, world!\nAnd more.\n")
    commands = [line for block in blocks(page) for line in block.splitlines() if line.startswith("toledo ")]
    assert len(commands) >= 6
    for command in commands:
        words = shlex.split(command)[1:]
        source = Path(words.pop(words.index("<") + 1)).read_text() if "<" in words else None
        target = Path(words.pop(words.index(">") + 1)) if ">" in words else None
        result = CliRunner().invoke(app, [word for word in words if word not in "<>"], input=source)
        assert result.exit_code == 0, f"{command}\n{result.output}"
        if target:
            target.write_text(result.stdout)
    programs = [block for block in blocks(page) if block.startswith("from ")]
    assert len(programs) == 1
    exec(compile(programs[0], str(page), "exec"), {})
    assert Path("another-model", "model.toml").is_file()
