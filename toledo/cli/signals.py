"""Ctrl-C and SIGTERM: a command ends by an exception, so that temporary files are removed on the way."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import NoReturn

KERNELS = "toledo.compiled.kernels"  # the name of its threads
EXIT_CODES = tuple(128 + number for number in (signal.SIGINT, signal.SIGTERM))


def listen() -> None:
    """Let signals end the command by an exception; Ctrl-C stays ignored where the shell ignores it."""
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    sys.unraisablehook = _raise_again


def leave(end: KeyboardInterrupt | SystemExit) -> NoReturn:
    """End the command with the exit code of this exception, after a signal without waiting for threads of kernels.

    A thread that runs or compiles a kernel cannot be stopped; a regular exit would free the memory that it uses, and
    crash.
    """
    code = end.code if isinstance(end, SystemExit) else 128 + signal.SIGINT
    if code in EXIT_CODES and any(thread.name == KERNELS for thread in threading.enumerate()):
        with suppress(OSError):  # the reader has gone
            sys.stdout.flush()
        os._exit(int(str(code)))
    sys.exit(code)


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise what ends the command.

    A signal that arrives while a kernel runs is handled in the first Python code after it, which makes the result a
    named tuple. Numba would crash on an exception there, so it is raised on the caller's next line.
    """
    end: BaseException = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
    if frame is None or frame.f_back is None or not _makes_result(frame):
        raise end
    _raise_later(end, frame.f_back)


def _makes_result(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module == "numba.core.serialize" or module.startswith("namedtuple_")


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise an exception later that was raised where it cannot be caught: in a callback of LLVM, or a destructor."""
    frame, end = sys._getframe().f_back, lost.exc_value
    if isinstance(end, KeyboardInterrupt | SystemExit):
        if frame is not None:
            _raise_later(end, frame)
        else:  # no Python code has called: the signal comes again, for the main thread
            os.kill(os.getpid(), signal.SIGINT if isinstance(end, KeyboardInterrupt) else signal.SIGTERM)
    else:
        sys.__unraisablehook__(lost)


def _raise_later(end: BaseException, frame: FrameType) -> None:
    """Raise an exception on the next line of a frame."""
    sys.settrace(lambda *_: None)
    frame.f_trace = lambda *_: _raise(end)


def _raise(end: BaseException) -> NoReturn:
    sys.settrace(None)
    raise end
