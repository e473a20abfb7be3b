"""Output files: checked before the work, and never one of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from toledo.cli.messages import json_lines
from toledo.cli.options import Common
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, read_lines, write_lines


def require_apart(output: str | Path | None, *inputs: str | Path | None) -> None:
    """Refuse an output that is one of the files that are read."""
    if output is None or not Path(output).is_file():
        return
    if any(Path(one).exists() and Path(one).samefile(output) for one in inputs if one is not None):
        raise InputError("the output is also an input", file=output, remedy="name another file")


def change_lines(change: Callable[[str], str], text: str, output: str, common: Common) -> None:
    """Write each line of a text, changed, as soon as it is read."""
    lines: Iterable[str] = map(change, read_lines(text))
    if common.json:
        lines = json_lines({"segment": segment, "text": line} for segment, line in enumerate(lines))
    write_lines(output, lines)


def standard_output_is(output: str | Path) -> bool:
    """Whether the output is standard output."""
    return str(output) == STANDARD_STREAM
