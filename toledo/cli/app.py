"""The command line: the only place that reads arguments, prints, and shows progress."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from toledo.cli import align, evaluate, exchange, lm, signals, text, train
from toledo.cli.combine import commands as combine_commands
from toledo.cli.common import BAD_INPUT, error_console
from toledo.cli.consensus import command as consensus_command
from toledo.cli.document import commands as document_commands
from toledo.cli.forest import commands as forest_commands
from toledo.cli.refine import command as refine_command
from toledo.cli.tour import demo, report, sample
from toledo.cli.translate import command as translate_command
from toledo.cli.tune import command as tune_command
from toledo.errors import RunError, ToledoError

# With more than one thread, sums of some 10,000 numbers depend on how many there are, and take longer, too.
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

RUN_FAILED = 3
OTHERWISE = "look at the path, its permissions, and the disk"
REMEDIES = {
    errno.ENOSPC: "make room on the disk, or write to another one",
    errno.EACCES: "check the permissions",
    errno.EEXIST: "this is a file: name a directory",
}

app = typer.Typer(
    name="toledo",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(combine_commands.app, name="combine")
app.add_typer(document_commands.app, name="document")
app.add_typer(forest_commands.app, name="forest")
app.add_typer(lm.app, name="lm")
app.add_typer(text.app, name="text")
app.command()(train.train)
app.command("import")(exchange.import_model)
app.command("export")(exchange.export_model)
app.command()(align.align)
app.command()(tune_command.tune)
app.command()(refine_command.refine)
app.command()(translate_command.translate)
app.command()(evaluate.evaluate)
app.command()(consensus_command.consensus)
app.command()(report.report)
app.command()(sample.sample)
app.command()(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"toledo {version('toledo-mt')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Machine translation by expectation and consensus."""


def main() -> None:
    """Run a command; turn errors meant for the user into one message and exit code 2."""
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # text in is UTF-8, so text out is, too
    signals.listen()
    for name in BLAS_THREADS:  # read when NumPy is loaded, by a command
        os.environ.setdefault(name, "1")
    try:
        app()
    except (KeyboardInterrupt, SystemExit) as end:
        signals.leave(end)
    except RunError as error:
        _fail(str(error).replace("resume=True", "--resume").replace("resume=False", "no --resume"), RUN_FAILED)
    except ToledoError as error:
        _fail(str(error))
    except BrokenPipeError:  # the reader (head, less) has gone: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a full disk, missing permissions
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}\n  remedy: {REMEDIES.get(error.errno or 0, OTHERWISE)}")


def _fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    error_console.print(f"toledo: error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
