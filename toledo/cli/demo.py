"""`toledo demo`: everything that the package does, on the example data, in a few minutes.

Numba compiles one kernel at a time in a process, and the demo needs some hundred. With two processors or more, and from
the first kernel on that is neither shipped nor kept on disk, `toledo warm-up` compiles those of later steps beside the
first steps; the demo finds them in the cache. No result depends on it: if it fails, the demo takes longer and says so.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toledo.cli.messages import print_result, progress_for
from toledo.cli.options import COMMON, Common, OutputDirectory, Seed, Threads

if TYPE_CHECKING:
    import subprocess

    from toledo.reports.demo import Tour

log = logging.getLogger("toledo.demo")

REPORT = "report.html"
QUIET = "toledo.language_model"  # its warnings about small texts do not matter here
FIRST, LATER = "combine", "demo"  # what is compiled ahead before and after the first model, as needed
LAST_LINES = 5


def demo(
    output: OutputDirectory = Path("demo"),
    *,
    size: Annotated[int, Parameter(help="Number of sentence pairs to train on.")] = 10_000,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Run every part of Toledo on the example data: train, tune, decide, combine, translate documents, refine.

    Print a table of scores and write a page, report.html. The first run compiles kernels, which takes some minutes.

    **Examples**

        toledo demo --output demo
        toledo demo --output demo --size 2000 --seed 7
    """
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_shown)
    from toledo.api.demo import run_demo
    from toledo.compiled.kernels import available_threads, compilation_seconds, compiled_kernels
    from toledo.compiled.numba_internals import at_first_compilation

    enabled, began = (threads or available_threads()) > 1, time.monotonic()
    with CompilingAhead(enabled) as ahead, at_first_compilation(lambda: ahead.start(FIRST)):
        tour = run_demo(
            output, size, seed, threads=threads, progress=progress_for(common),
            trained=lambda: ahead.start(LATER) if compiled_kernels() else None,
        )  # fmt: skip
    if common.json:
        systems = [{"name": one.name, **one.scores, "cpu_seconds": one.seconds} for one in tour.results.systems]
        print_result("demo", {"systems": systems, "report": str(output / REPORT)}, common)
    else:
        _print(tour, output / REPORT)
        print(_times(time.monotonic() - began, compilation_seconds()))


def _is_shown(record: logging.LogRecord) -> bool:
    """Return whether a message is a step of the demo or a warning; messages of single steps would be too many."""
    return record.name == log.name or (record.levelno >= logging.WARNING and not record.name.startswith(QUIET))


class CompilingAhead:
    """Processes that compile kernels, if `enabled`; they end with the block, and a failed one is reported."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.processes: list[subprocess.Popen[bytes]] = []
        self.errors = TemporaryFile()  # noqa: SIM115 (closed at the end)

    def start(self, verb: str) -> None:
        """Start a process for the kernels of a verb."""
        import subprocess  # only here: `toledo --help` imports this module

        if self.enabled:
            command = [sys.executable, "-m", "toledo", "warm-up", verb, "--quiet"]
            # Ctrl-C is not for the process: it is ended below
            self.processes.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors,
                    start_new_session=True,
                )
            )  # fmt: skip

    def __enter__(self) -> CompilingAhead:
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes, and log why one has failed."""
        failed = [process.returncode for process in self.processes if process.poll()]
        for process in self.processes:
            process.terminate()
            process.wait()
        if failed:
            self.errors.seek(0)
            last = self.errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
            message = "compiling ahead failed with code %d; the results are right, but took longer:\n%s"
            log.warning(message, failed[0], "\n".join(last) or "(no message)")
        self.errors.close()


def _times(wall: float, compilation: float) -> str:
    """Return how long all took; what other processes did was compiling."""
    own_user, own_system, user, system, _ = os.times()
    compilation += user + system
    more = f", of which compiling took {compilation:.0f}: later runs do not need it" if compilation >= 1.0 else ""
    return f"In all: {wall // 60:.0f} min {wall % 60:.0f} s, {own_user + own_system + user + system:.0f} CPU s{more}."


def _print(tour: Tour, report: Path) -> None:
    """Print the closing table."""
    from rich.console import Console
    from rich.table import Table

    from toledo.reports.scores import SECONDS

    table = Table("what", title="Toledo demo")
    for name in (*tour.results.metrics, "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in tour.results.systems:
        table.add_row(one.name, *(f"{value:.2f}" for value in one.scores.values()), f"{one.seconds:.1f}")
    console = Console()
    console.print(table)
    console.print(f"TER: lower is better. {SECONDS}", highlight=False)
    console.print(f"Report: {report}", highlight=False, soft_wrap=True)
