"""Hypotheses from the outputs of any systems: n-best lists, JSONL, or plain text of one line or several per segment.

Several files are joined segment by segment: the hypotheses of the first come first.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar, get_args

from toledo.errors import InputError
from toledo.files import BYTE_ORDER_MARK, GZIP_MARK, STANDARD_STREAM, display_name, read_bytes_lines
from toledo.formats.hypotheses import NBestList
from toledo.formats.jsonl import read_jsonl
from toledo.formats.nbest import read_nbest, read_plain_nbest

OutputFormat = Literal["nbest", "jsonl", "text"]
Said = TypeVar("Said")

GZIP_WINDOW = 16 + zlib.MAX_WBITS
OUTPUT_FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)
FIRST_LINES: dict[OutputFormat, re.Pattern[bytes]] = {
    "jsonl": re.compile(rb"\s*\{"),
    "nbest": re.compile(rb"\s*\d+ \|\|\|"),
}


def read_outputs(
    files: Sequence[str | Path], form: OutputFormat | None = None, size: int | None = None
) -> Iterator[NBestList]:
    """The hypotheses of each segment from 0 up; `-` is standard input, `.gz` is unpacked.

    The format is that of the first line if none is given. Plain text has `size` lines for each segment, by default one:
    then each file is the output of one system.
    """
    if [str(file) for file in files].count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    forms = [form or guess_format(file) for file in files]
    if forms == ["text"] and size is None:
        raise InputError(
            "one file of plain text: how many lines belong to a segment?",
            file=display_name(files[0]),
            remedy='give `num_samples`, a file for each system, or write lines of JSON: {"hypotheses": ["…", "…"]}',
        )
    if size is not None and "text" not in forms:
        raise InputError(
            f"a number of lines per segment, but {display_name(files[0])} is no plain text",
            remedy="leave the number out, or name the format: text",
        )
    return _joined([_not_empty(_lists(*named, size or 1), named[0]) for named in zip(files, forms, strict=True)], files)


def _lists(file: str | Path, form: OutputFormat, size: int) -> Iterator[NBestList]:
    if form == "text":
        return read_plain_nbest(file, size)
    return read_jsonl(file) if form == "jsonl" else read_nbest(file)


def guess_format(file: str | Path) -> OutputFormat:
    """What the first line looks like."""
    line = _first_line_of_input() if str(file) == STANDARD_STREAM else next(read_bytes_lines(file), None)
    if line is None:
        raise _empty(file)
    return next((form for form, pattern in FIRST_LINES.items() if pattern.match(line)), "text")


def _first_line_of_input() -> bytes | None:
    """Standard input is read once: look without taking."""
    stream: BinaryIO = sys.stdin.buffer
    peek = getattr(stream, "peek", None)
    if peek is None:  # not a file but a buffer in memory
        place = stream.tell()
        line = stream.readline()
        stream.seek(place)
    else:
        line = peek(1 << 12)
        line = zlib.decompressobj(GZIP_WINDOW).decompress(line) if line.startswith(GZIP_MARK) else line
    return line.removeprefix(BYTE_ORDER_MARK) if line else None


def _not_empty(lists: Iterator[NBestList], file: str | Path) -> Iterator[NBestList]:
    first = next(lists, None)
    if first is None:
        raise _empty(file)
    yield from chain([first], lists)


def _empty(file: str | Path) -> InputError:
    return InputError("the file is empty", file=display_name(file), remedy="give at least one hypothesis")


def _joined(sources: Sequence[Iterator[NBestList]], files: Sequence[str | Path]) -> Iterator[NBestList]:
    for segment, lists in enumerate(side_by_side(sources, files)):
        yield NBestList(segment, tuple(entry for some in lists for entry in some.entries))


def side_by_side(sources: Sequence[Iterator[Said]], files: Sequence[str | Path]) -> Iterator[tuple[Said, ...]]:
    """What each file has for a segment; all must have as many segments."""
    for segment, said in enumerate(zip_longest(*sources)):
        if None in said:
            short, long = (
                next(display_name(file) for file, one in zip(files, said, strict=True) if (one is None) == ended)
                for ended in (True, False)
            )
            raise InputError(
                f"{segment} segments, but {long} has more",
                file=short,
                remedy="segment i of each file must belong together; look for lost or added line ends",
            )
        yield said
