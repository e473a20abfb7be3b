"""Segments by number: files that name them by number, and what to do where a number is missing."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from toledo.errors import InputError

log = logging.getLogger(__name__)

Item = TypeVar("Item")

LARGEST_GAP = 100_000
NAME = re.compile(r"(\d{1,9})((\.[A-Za-z]+)*)", re.ASCII)


def fill_gaps(numbered: Iterable[tuple[int, Item]], empty: Callable[[int], Item], file: str | Path) -> Iterator[Item]:
    """One item for each number from 0 up, `empty(number)` where there is none; numbers must rise."""
    expected = missing = 0
    first: int | None = None
    for number, item in numbered:
        if number - expected > LARGEST_GAP:
            raise InputError(
                f"segment {number} follows segment {expected - 1}", file=file, remedy="number the segments 0, 1, 2, …"
            )
        for absent in range(expected, number):
            first = absent if first is None else first
            missing += 1
            yield empty(absent)
        yield item
        expected = number + 1
    if missing:
        log.warning("%s: %d segments without a hypothesis, the first is %s (counted from 0)", file, missing, first)


def numbered_files(directory: str | Path) -> list[tuple[int, Path]]:
    """The files `0`, `1.gz`, `2.slf.gz` … of a directory, by number."""
    found: dict[int, Path] = {}
    for path in sorted(Path(directory).iterdir()):
        match = NAME.fullmatch(path.name)
        if not match or not path.is_file():
            continue
        number = int(match[1])
        if number in found:
            raise InputError(
                f"segment {number} is there twice, as {found[number].name} and {path.name}",
                file=directory,
                remedy="keep one of them",
            )
        found[number] = path
    if not found:
        raise InputError(
            "has no files named by segment", file=directory, remedy="name them 0.gz, 1.gz, … or give one file"
        )
    return sorted(found.items())
