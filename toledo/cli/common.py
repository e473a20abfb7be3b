"""What all commands share: errors to exit codes, progress bars, messages, common options."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from toledo.errors import InputError
from toledo.progress import Advance, Progress, silent

BAD_INPUT = 2
PARTS = 4  # of long work are told where there are no bars
SECONDS_OF_SILENCE = 5.0

log = logging.getLogger(__name__)

error_console = Console(stderr=True)


def _all_threads() -> int:
    """Compiled code is imported only where a command needs it: `--help` should be quick."""
    from toledo.compiled.kernels import available_threads

    return available_threads()


Threads = Annotated[
    int,
    typer.Option(
        metavar="N", help="Threads to use.", min=1, default_factory=_all_threads, show_default="all processors"
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no messages, errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Output = Annotated[str, typer.Option("--output", "-o", help="Where to write; - is standard output.")]
ModelOutput = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Model directory to write; an older model there is replaced.",
        show_default=False,
    ),
]


def refuse_options(options: Mapping[str, object], why: str) -> None:
    """Options that would be ignored are mistakes."""
    if given := [name for name, value in options.items() if value]:
        raise InputError(f"{', '.join(given)}: {why}", remedy=f"leave {' and '.join(given)} out")


def refuse_named(context: typer.Context, why: str, *names: str) -> None:
    """The same for parameters of a command that have a default: those that the command line names."""
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in names}
    refuse_options({options[name]: one and one.name == "COMMANDLINE" for name, one in sources.items()}, why)


def require_finite(numbers: Mapping[str, float | None]) -> None:
    """Refuse options that are infinite, or no number at all."""
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            raise InputError(f"{name} {number}", remedy="choose a finite number")


def require_output_apart(context: typer.Context) -> None:
    """Refuse an output of a command that is one of the files it reads."""
    given = dict(context.params)
    output = Path(str(given.pop("output")))
    values = [one for value in given.values() for one in (value if isinstance(value, list | tuple) else [value])]
    files = [Path(one) for one in values if isinstance(one, str | Path)]
    if output.is_file() and any(file.exists() and file.samefile(output) for file in files):
        raise InputError("the output is a file that is read, too", file=output, remedy="name another file")


def tell_if_new(work: Path, resume: bool) -> None:
    """Hours of work are not to be done again unnoticed because a name is misspelt."""
    if resume and not (work.is_dir() and any(work.iterdir())):
        log.warning("%s: nothing to go on with, so a new run begins", work)


class _ConsoleHandler(logging.Handler):
    """Writes beside progress bars without disturbing them, and does not break long lines: paths stay whole."""

    def emit(self, record: logging.LogRecord) -> None:
        error_console.print(self.format(record), soft_wrap=True, markup=False, highlight=False)


def set_up_messages(quiet: bool, without: str = "") -> logging.Logger:
    """Send log messages to standard error, but for those of one package; gives the logger for the command's own."""
    level, handler = logging.ERROR if quiet else logging.INFO, _ConsoleHandler()
    if without:
        handler.addFilter(lambda record: not record.name.startswith(without))
    logging.basicConfig(level=level, format="%(message)s", handlers=[handler], force=True)
    return logging.getLogger("toledo")


def progress_for(quiet: bool, otherwise: Progress = silent) -> Progress:
    """Bars on standard error if that is a terminal; otherwise nothing, or `told` for work of many minutes."""
    if quiet:
        return silent
    return _bar if error_console.is_terminal else otherwise


@contextmanager
def told(label: str, total: int) -> Iterator[Advance]:
    """A message when a quarter more is done, and not often."""
    done, last, turn = 0, time.monotonic(), threading.Lock()

    def advance(steps: int) -> None:
        nonlocal done, last
        with turn:  # threads share the work
            before, done, now = done, done + steps, time.monotonic()
            if done * PARTS // total == before * PARTS // total or now - last < SECONDS_OF_SILENCE or done >= total:
                return
            last = now
        log.info("%s: %d of %d", label, done, total)

    yield advance


@contextmanager
def _bar(label: str, total: int) -> Iterator[Advance]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bars(*columns, console=error_console) as bars:
        task = bars.add_task(label, total=total)
        yield lambda steps: bars.advance(task, steps)
