"""What went wrong, where, and what to do about it."""

from __future__ import annotations

from os import PathLike


class ToledoError(Exception):
    """An error whose message is meant for the user; the command line prints it and exits with code 2."""


class InputError(ToledoError):
    """Bad input: names the file and the line (counted from 1) where known, and the remedy."""

    def __init__(
        self,
        message: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n  remedy: {self.remedy}" if self.remedy else text
