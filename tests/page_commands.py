"""Commands and programs of a page, run as printed."""

import glob
import io
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from command_line import Finished, run

VARYING = re.compile(r"[\d.]+(?= CPU s)|(?<=\|version:)[\w.]+")  # times, and the version of sacreBLEU in signatures


def run_page(text: str, names: dict[str, Any] | None = None) -> str:
    """Run the fenced blocks of a page in their order, in the current directory; return all that was printed.

    Blocks are `sh` (each line), `python` (all share their names), `json`, `toml` or `nbest` (written to the file that
    the text before names last) and `text`: what the block before it prints, where … stands for
    anything; times and versions may differ.
    """
    names, printed, everything = {} if names is None else names, "", ""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        kind, block = match.groups()
        if kind in ("json", "toml", "nbest"):
            Path(re.findall(r"`([\w.-]+\.\w+)`", text[: match.start()])[-1]).write_text(block, encoding="utf-8")
        elif kind == "text":
            check_shown(block, printed)
        elif kind in ("sh", "python"):
            printed = _run_shell(block) if kind == "sh" else _run_python(block, names)
            everything += printed
    return everything


def check_shown(shown: str, printed: str) -> None:
    """Check that the lines that a page shows are printed, in their order."""
    lines = iter(line.rstrip() for line in printed.splitlines())
    for line in shown.splitlines():
        pattern = ".*".join(map(re.escape, VARYING.sub("…", line.rstrip()).split("…")))
        assert any(re.fullmatch(pattern, VARYING.sub("0", one)) for one in lines), f"{line}\nis not in\n{printed}"


def _run_shell(block: str) -> str:
    block = re.sub(r"^for (\w+) in (.*); do\n(.*?)^done\n", _unroll, block.replace("\\\n", " "), flags=re.M | re.S)
    lines = [line for line in block.splitlines() if not re.match(r"make |pip |\. |mkdir |.*--help$", line)]
    return "".join(map(run_line, lines))


def _unroll(loop: re.Match[str]) -> str:
    name, values, body = loop.groups()
    return "".join(re.sub(r"^    ", "", body, flags=re.M).replace(f"${name}", value) for value in values.split())


def _run_python(block: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block, "page", "exec"), names)
    return printed.getvalue()


def run_commands(page: Path, count: int) -> Finished:
    """Run all indented lines of a page that begin with `toledo`, which are so many; return what the last one left."""
    commands = re.findall(r"^    toledo (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == count
    for command in commands:
        result = run(*shlex.split(command))
        assert result.exit_code == 0, f"{command}\n{result.output}"
    return result


def run_lines(text: str) -> dict[str, str]:
    """Run indented lines that call `toledo` or `printf`, one after the other; return what each printed."""
    lines = re.findall(r"^    ((?:toledo|printf) .*)", text, re.MULTILINE)
    return {line: run_line(line) for line in lines if not line.endswith("--help")}


def run_line(line: str) -> str:
    """Run a call of `toledo` with `<`, `>` and patterns of file names, or of another program; return its output."""
    if not line.startswith("toledo "):
        return subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True).stdout
    words = shlex.split(line, comments=True)[1:]
    source = Path(words.pop(words.index("<") + 1)).read_text(encoding="utf-8") if "<" in words else ""
    target = Path(words.pop(words.index(">") + 1)) if ">" in words else None
    words = [
        name for word in words if word not in "<>" for name in (sorted(glob.glob(word)) if "*" in word else [word])
    ]
    result = run(*words, input=source)
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
