"""Messages and progress bars on standard error, results on standard output."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toledo
from toledo.cli.options import arguments_to_options
from toledo.errors import InputError
from toledo.files import atomic_writer, is_stream, read_lines
from toledo.progress import Advance, Progress, silent

if TYPE_CHECKING:
    from rich.console import Console

    from toledo.cli.options import Common
    from toledo.model import PhraseModel

PARTS = 4  # messages about long work where there is no terminal
QUIET_SECONDS = 5.0  # between two of them

log = logging.getLogger(__name__)


def console() -> Console:
    """Return the console for standard error; Rich is imported only where something is shown."""
    from rich.console import Console

    return Console(stderr=True)


class _Handler(logging.Handler):
    """Writes beside progress bars without disturbing them, and leaves long lines, such as paths, whole."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def emit(self, record: logging.LogRecord) -> None:
        text = arguments_to_options(self.format(record), self.names)
        console().print(text, soft_wrap=True, markup=False, highlight=False)


def set_up(common: Common, names: Mapping[str, str] = {}) -> None:
    """Send log messages to standard error: errors with --quiet, details with --verbose.

    `names` are the options to show in place of arguments.
    """
    level = logging.ERROR if common.quiet else logging.DEBUG if common.verbose else logging.INFO
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[_Handler(names)], force=True)
    logging.getLogger("toledo").setLevel(level)


def print_result(command: str, result: Any, common: Common) -> None:
    """Print a result as a table or text, or with --json as one object."""
    if common.json:
        content = result.to_dict() if hasattr(result, "to_dict") else result
        signature = content.pop("signature", None) if isinstance(content, dict) else None
        whole = {"command": command, "version": toledo.__version__, "signature": signature, "result": content}
        print(json.dumps(whole, ensure_ascii=False, indent=2))
    else:
        print(result)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each row as one line of JSON."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False)


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


def progress_for(common: Common, otherwise: Progress = silent) -> Progress:
    """Return bars on a terminal; elsewhere nothing, or `milestones` for work of many minutes."""
    if common.quiet:
        return silent
    return _bar if sys.stderr.isatty() else otherwise


@contextmanager
def resumable() -> Iterator[None]:
    """Say how to continue work that is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or SIGTERM
        log.warning("interrupted; to continue, give the same command with --resume")
        raise


@contextmanager
def milestones(label: str, total: int) -> Iterator[Advance]:
    """Log a message when another quarter is done, but not often."""
    done, last, turn = 0, time.monotonic(), threading.Lock()

    def advance(steps: int) -> None:
        nonlocal done, last
        with turn:  # threads share the work
            before, done, now = done, done + steps, time.monotonic()
            if done * PARTS // total == before * PARTS // total or now - last < QUIET_SECONDS or done >= total:
                return
            last = now
        log.info("%s: %d of %d", label, done, total)

    yield advance


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bars(*columns, console=console()) as bars:
        task = bars.add_task(label, total=total)
        yield lambda steps: bars.advance(task, steps)
