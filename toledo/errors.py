"""What went wrong, where, and what to do about it."""

from __future__ import annotations

import re
from os import PathLike

LONGEST_WORD, LONGEST_TEXT = 300, 4000  # letters of what a message quotes


def brief(text: str) -> str:
    """Return a text without the middle of words, such as numbers or names of files, that are too long to be read."""
    shorter = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _ends(word[0], LONGEST_WORD), text)
    return _ends(shorter, LONGEST_TEXT) if len(shorter) > LONGEST_TEXT else shorter


def _ends(text: str, most: int) -> str:
    return f"{text[: most * 2 // 3]}…{text[-most // 3 :]}"


class ToledoError(Exception):
    """Base of all errors whose message is meant for the user."""

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        self.message = brief(message)
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message


class InputError(ToledoError, ValueError):
    """Bad text, file, shape or setting.

    `file` and `line` (from 1) say where in a file, `argument` and `segment` (from 0) where in a call.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        argument: str | None = None,
        segment: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.file = None if file is None else str(file)
        self.line = line
        self.argument = argument
        self.segment = segment
        super().__init__(message, remedy=remedy)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        text = f"{brief(place)}: {self.message}" if place else self.message
        return f"{text}\n  remedy: {self.remedy}" if self.remedy else text


class UnknownNameError(InputError, LookupError):
    """A name that nothing is registered under."""


class ModelError(InputError):
    """A directory that is damaged, incomplete, or of another kind."""


class MissingExtraError(ToledoError, ImportError):
    """Something that needs an optional package which is not installed."""


class RunError(ToledoError, RuntimeError):
    """A run that failed, or an output directory with another run in it."""
