"""Ctrl-C and SIGTERM while a kernel runs or is compiled: they end the command, and do not crash it."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import _thread, ctypes, signal, sys, threading, time
from types import SimpleNamespace
from typing import NamedTuple
import numpy as np
from toledo.cli import app as cli
from toledo.compiled.kernels import kernel, map_chunks

NUMBER = int(sys.argv[1])
class Inner(NamedTuple):
    numbers: np.ndarray

@kernel
def slow(inner, steps):
    total = 0.0
    for i in range(steps):
        total += np.sqrt(total + i)
    return Inner(inner.numbers + total), total

def in_kernel():
    some = Inner(np.zeros(3))
    slow(some, 1)
    threading.Timer(0.05, signal.raise_signal, [NUMBER]).start()
    while True:
        some, _ = slow(some, 100_000_000)

def in_callback():
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(NUMBER))()
    wait()

def in_removal():
    class Watched:
        def __del__(self):
            signal.raise_signal(NUMBER)
    Watched()
    wait()

def without_a_caller():
    end = KeyboardInterrupt() if NUMBER == signal.SIGINT else SystemExit(128 + NUMBER)
    _thread.start_new_thread(sys.unraisablehook, (SimpleNamespace(exc_value=end),))
    wait()

def beside_a_thread():
    def work(begin, end):
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(NUMBER)
        wait()
    map_chunks(work, 2, chunk=1, threads=2)

def wait():
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
cli.run = lambda tokens: globals()[sys.argv[2]]()
cli.main()
"""


@pytest.mark.parametrize("place", ["in_kernel", "in_callback", "in_removal", "without_a_caller", "beside_a_thread"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(number: signal.Signals, place: str) -> None:
    command = [sys.executable, "-c", PROGRAM, str(int(number)), place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 128 + number, done.stderr
    assert "Traceback" not in done.stderr
