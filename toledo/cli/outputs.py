"""Output files: checked before the work, and never one of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from toledo.cli.messages import json_lines, print_result
from toledo.cli.options import Common
from toledo.errors import InputError
from toledo.files import atomic_writer, is_stream, read_lines

if TYPE_CHECKING:
    from toledo.model import PhraseModel


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
    with atomic_writer(output) as stream:
        for line in lines:
            stream.write(f"{line}\n")
            if is_stream(text):
                stream.flush()


def print_model(command: str, output: Path, model: PhraseModel, common: Common) -> None:
    """Print where a model was saved and how large it is, as JSON; messages have said it otherwise."""
    if common.json:
        result = {"output": str(output), "phrase_pairs": len(model.table), "signature": model.signature}
        print_result(command, result, common)
