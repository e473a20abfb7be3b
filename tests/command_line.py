"""Runs commands as the shell does, in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from toledo.cli.app import run as run_command


class Finished(NamedTuple):
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


class _Stream(io.TextIOWrapper):
    """Standard input or output that has a buffer, as the real ones have."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8", write_through=True)

    def text(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def run(*arguments: object, input: str | bytes = "") -> Finished:  # noqa: A002
    """Run `toledo ARGUMENTS` with this standard input."""
    out, err = _Stream(), _Stream()
    before, sys.stdin = sys.stdin, _Stream(input.encode() if isinstance(input, str) else input)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = run_command([str(argument) for argument in arguments])
            except SystemExit as end:
                code = int(end.code or 0)
    finally:
        sys.stdin = before
    return Finished(code, out.text(), err.text())


def succeed(*arguments: object, input: str | bytes = "") -> str:  # noqa: A002
    """Run a command that must succeed and return what it printed on standard output."""
    finished = run(*arguments, input=input)
    assert finished.exit_code == 0, finished.output
    return finished.stdout


def fail(*arguments: object, code: int = 2, input: str | bytes = "") -> str:  # noqa: A002
    """Run a command that must fail with this exit code and return its messages."""
    finished = run(*arguments, input=input)
    assert finished.exit_code == code, finished.output
    return finished.stderr
