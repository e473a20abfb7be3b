"""Ctrl-C and SIGTERM while a kernel runs: they end the command, and do not crash it."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import signal, sys, threading
from typing import NamedTuple
import numpy as np
from toledo import cli
from toledo.kernels import kernel

class Inner(NamedTuple):
    numbers: np.ndarray

@kernel
def slow(inner, steps):
    total = 0.0
    for i in range(steps):
        total += np.sqrt(total + i)
    return Inner(inner.numbers + total), total

def work():
    some = Inner(np.zeros(3))
    slow(some, 1)
    threading.Timer(0.05, signal.raise_signal, [int(sys.argv[1])]).start()
    while True:
        some, _ = slow(some, 100_000_000)

signal.signal(signal.SIGINT, signal.default_int_handler)
cli.app = work
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_kernel_ends_the_command(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number))], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 128 + number, done.stderr
    assert "Traceback" not in done.stderr
