"""Kernels for the later steps of the demo, compiled beside the first ones, by a process of its own.

Numba compiles one kernel at a time in a process, and the demo needs some hundred: on two processors two processes take
little more than half of the time. The other process runs later steps on a handful of sentences; what it compiles is
found in the cache when the demo comes there. No result depends on it: where it fails, the demo is slower and says so.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

log = logging.getLogger(__name__)

READY, ERRORS, PAUSE = "ready", "errors", 0.2
SENTENCES, LINES = 300, 12
LAST_LINES = 5


@contextmanager
def rehearsal(wanted: bool) -> Iterator[Callable[[], None]]:
    """While the demo runs; gives what to call as soon as a model has been trained and used."""
    if not wanted:
        yield lambda: None
        return
    with TemporaryDirectory(prefix="toledo-rehearsal-") as directory:
        errors = Path(directory) / ERRORS
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, directory],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,  # Ctrl-C is not for it: it is ended below
            )
        try:
            yield (Path(directory) / READY).touch
        finally:
            if process.poll():
                _tell(process.returncode, errors)
            process.kill()
            process.wait()


def _tell(code: int, errors: Path) -> None:
    """Why it failed, after the demo, which it is not to disturb."""
    last = errors.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
    told = "compiling ahead failed with code %d; the results are right, only slower to come:\n%s"
    log.warning(told, code, "\n".join(last) or "(it said nothing)")


def rehearse(directory: Path) -> None:
    """Later steps, in the order in which they lack least of what the demo itself is compiling."""
    from toledo.cli.tour import steps
    from toledo.compiled.kernels import compiled_kernels
    from toledo.formats.alignments import read_alignments
    from toledo.model import Model
    from toledo.training import train

    demo = steps.Demo(directory, threads=1)
    steps.make_sample(demo, steps.Sizes(SENTENCES, LINES, LINES), seed=1)
    alignments = read_alignments(demo.sample / "train.align", demo.corpus)  # the demo is compiling the aligner
    train(demo.corpus, alignments=alignments, threads=1).save(directory / "model")
    if not compiled_kernels():
        return  # all is there
    model = Model.load(directory / "model")
    texts = [
        (
            [one.references[n % 2][n // 2 :] for one in demo.tuning],
            [one.references[n % 2][n // 2 :] for one in demo.test],
        )
        for n in range(steps.SYSTEMS)
    ]
    steps.combine(demo, {f"system {number}": own for number, own in enumerate(texts)})
    wait(directory / READY)
    steps.translate_documents(demo, model)
    steps.refine(demo, model, alignments)
    steps.choose_from_samples(demo, model)  # last: the demo may be here itself by now


def wait(file: Path) -> None:
    """Until the demo has compiled its search; not after its end."""
    parent = os.getppid()
    while not file.exists():
        if os.getppid() != parent:
            sys.exit()
        time.sleep(PAUSE)


if __name__ == "__main__":
    logging.disable()
    rehearse(Path(sys.argv[1]))
