"""Lists in files as other programs write them: recognize the format, and join the lists of several files.

A file is recognized by its first bytes and lines. What looks like markup is never taken for plain text: it is read as
what it is, or refused.
"""

from __future__ import annotations

import logging
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from toledo.errors import InputError
from toledo.files import (
    BYTE_ORDER_MARK,
    GZIP_MARK,
    STANDARD_STREAM,
    display_name,
    file_error,
    open_to_read,
    read_lines,
    system_name,
)
from toledo.formats.forest_files import FORMATS, LISTS, read_lists, side_by_side
from toledo.formats.hypotheses import NBestList, SegmentId
from toledo.formats.nbest import read_plain_nbest
from toledo.formats.records import Reading
from toledo.formats.responses import USUAL
from toledo.formats.rows import FAIRSEQ, begins_json_array, is_table, parse_json, table_files
from toledo.settings import unknown_name

log = logging.getLogger(__name__)

TEXT = "text"
LOOK_AT = 1 << 16  # bytes
GZIP_WINDOW = 16 + zlib.MAX_WBITS
MARKUP = re.compile(r"\s*<(\?xml|!doctype|html|mteval|srcset|refset|tstset|dataset|tmx)\b", re.IGNORECASE)
COLUMNS = {name for names in USUAL.values() for name in names.split()} | {"src", "ref", "source", "reference", "system"}
SHOWN_IDS = 5


@dataclass(frozen=True)
class ListFiles:
    """What is known about list files: a format, lines per segment of plain text, fields, and requests for the order.

    `requests` is a file of the requests that the lists answer: JSON lines with ids, or an id per line.
    """

    form: str | None = None
    size: int | None = None
    reading: Reading = Reading()  # noqa: RUF009  (frozen)
    requests: str | Path | None = None

    def __post_init__(self) -> None:
        known = [*sorted(LISTS), TEXT]
        if self.form is not None and self.form not in known:
            raise unknown_name("format", self.form, known)


def guess_list_format(path: str | Path) -> str:
    """Return the format of lists by the beginning of a file, which is not taken from standard input."""
    if Path(path).is_dir():
        table_files(path)
        return "parquet"
    return format_of_beginning(_beginning_of_input() if str(path) == STANDARD_STREAM else _beginning(path), path)


def format_of_beginning(start: bytes, path: str | Path) -> str:
    """Return the format of lists by their first bytes, and by the name of the file if these do not tell."""
    if not start:
        raise _empty_file(path)
    if is_table(start):
        return "parquet"
    lines = start.removeprefix(BYTE_ORDER_MARK).decode("utf-8", errors="replace").splitlines() or [""]
    if MARKUP.match(lines[0]):
        raise file_error(path, 1, "markup, not lists or plain text", "write a text per line, or JSON lines")
    if re.match(FORMATS["jsonl"].first_line, lines[0]) or begins_json_array(lines[0]):
        return "jsonl"
    if re.match(FORMATS["nbest"].first_line, lines[0]):
        return "nbest"
    if any(map(FAIRSEQ.fullmatch, lines)):
        return "fairseq"
    ending = Path(path).name.removesuffix(".gz").rpartition(".")[2]
    named = next((form for form in ("json", "csv", "parquet") if re.search(FORMATS[form].name, f".{ending}")), None)
    return named or ("csv" if _names_columns(lines[0]) else TEXT)


def _names_columns(line: str) -> bool:
    """Return whether a line has the usual names of columns, and nothing else."""
    cells = [cell.strip('" ') for cell in re.split(r"[\t,]", line)]
    return len(cells) > 1 and len(COLUMNS & set(cells)) > 1 and all(re.fullmatch(r"[\w .-]+", cell) for cell in cells)


def _beginning(path: str | Path) -> bytes:
    with open_to_read(path) as stream:
        return _unpacked(stream.read(LOOK_AT))


def _beginning_of_input() -> bytes:
    """Return the beginning of standard input without consuming it, since it can be read only once."""
    stream: BinaryIO = sys.stdin.buffer
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return _unpacked(peek(LOOK_AT))
    place = stream.tell()  # not a file but a buffer in memory
    start = stream.read(LOOK_AT)
    stream.seek(place)
    return _unpacked(start)


def _unpacked(start: bytes) -> bytes:
    return zlib.decompressobj(GZIP_WINDOW).decompress(start, LOOK_AT) if start.startswith(GZIP_MARK) else start


def _empty_file(path: str | Path) -> InputError:
    return file_error(path, None, "the file is empty", "give at least one hypothesis")


def read_list(path: str | Path, how: ListFiles = ListFiles()) -> Iterator[NBestList]:
    """Read the lists of one file, whatever its format."""
    form = how.form or guess_list_format(path)
    lists = read_plain_nbest(path, how.size or 1) if form == TEXT else read_lists(path, form, how.reading)
    first = next(lists, None)
    if first is None:
        raise _empty_file(path)
    return chain([first], lists)


def read_outputs(systems: Mapping[str, str | Path], how: ListFiles) -> Iterator[NBestList]:
    """Read the hypotheses of each segment from 0, joined over the files of all systems; `-` is standard input.

    Lists with ids are joined by their ids, others by their order. Plain text has `size` lines for each segment, by
    default one: then each file is the output of one system.
    """
    files = list(systems.values())
    if [str(file) for file in files].count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    forms = [how.form or guess_list_format(file) for file in files]
    if forms == [TEXT] and how.size is None:
        remedy = 'give `num_samples`, a file for each system, or write lines of JSON: {"hypotheses": ["…", "…"]}'
        raise file_error(files[0], None, "one file of plain text: how many lines belong to a segment?", remedy)
    if how.size is not None and TEXT not in forms:
        raise InputError(
            f"a number of lines per segment, but {display_name(files[0])} is not plain text",
            remedy="leave the number out, or name the format: text",
        )
    parts = [read_list(file, replace(how, form=form)) for file, form in zip(files, forms, strict=True)]
    if len(files) > 1:
        parts = [_of_system(name, lists) for name, lists in zip(systems, parts, strict=True)]
    return _joined(parts, files, how)


def name_files(files: Sequence[str | Path]) -> dict[str, str | Path]:
    """Return files by the names of their systems; files with the same name keep their paths as names."""
    names = [system_name(file) for file in files]
    return {
        name if names.count(name) == 1 else f"{file} ({place})" if files.count(file) > 1 else str(file): file
        for place, (name, file) in enumerate(zip(names, files, strict=True), start=1)
    }


def _of_system(name: str, lists: Iterable[NBestList]) -> Iterator[NBestList]:
    """Yield lists whose entries know their system."""
    for some in lists:
        entries = (entry if entry.system is not None else replace(entry, system=name) for entry in some.entries)
        yield replace(some, entries=tuple(entries))


def _joined(parts: list[Iterator[NBestList]], files: Sequence[str | Path], how: ListFiles) -> Iterator[NBestList]:
    order = None if how.requests is None else read_ids(how.requests)
    firsts = [next(part) for part in parts]
    parts = [chain([first], part) for first, part in zip(firsts, parts, strict=True)]
    have_keys = all(first.is_key for first in firsts)
    if order is not None and not have_keys:
        unnamed = files[[first.is_key for first in firsts].index(False)]
        raise file_error(unnamed, None, "no ids to put in the order of the requests", "name them: `fields=id=KEY`")
    if order is None and (len(parts) == 1 or not have_keys):
        rows = enumerate(side_by_side(parts, files))
        return (_together(segment, some) for segment, some in rows)
    return _by_id([{str(some.id): some for some in part} for part in parts], files, order)


def _together(segment: int, lists: Sequence[NBestList]) -> NBestList:
    entries = tuple(entry for some in lists for entry in some.entries)
    extra = {key: value for some in reversed(lists) for key, value in some.extra.items()}
    return NBestList(segment, entries, lists[0].id, lists[0].is_key, extra, _all_failed(lists))


def _all_failed(lists: Sequence[NBestList]) -> tuple[int, ...]:
    """Return the places of failed samples when lists are put one after the other."""
    found: list[int] = []
    before = 0
    for some in lists:
        found += [before + place for place in some.failed]
        before += len(some.entries) + len(some.failed)
    return tuple(found)


def _by_id(
    parts: Sequence[Mapping[str, NBestList]], files: Sequence[str | Path], order: Sequence[SegmentId] | None
) -> Iterator[NBestList]:
    """Yield lists in the order of ids; without one, in that of the first file and of what only others have."""
    wanted = dict.fromkeys(chain.from_iterable(parts)) if order is None else {str(one): one for one in order}
    for file, part in zip(files, parts, strict=True):
        if unknown := next((some for name, some in part.items() if name not in wanted), None):
            raise file_error(file, None, f"the id {unknown.id!r} is not among the requests", "give the right requests")
        if missing := [name for name in wanted if name not in part]:
            shown = ", ".join(missing[:SHOWN_IDS]) + (", …" if len(missing) > SHOWN_IDS else "")
            log.warning("%s: %d segments are missing: %s", display_name(file), len(missing), shown)
    for segment, name in enumerate(wanted):
        found = [part[name] for part in parts if name in part]
        yield _together(segment, found) if found else NBestList(segment, (), name, True)


def read_ids(path: str | Path) -> list[SegmentId]:
    """Return the ids of requests: JSON lines with `custom_id` or another usual name of ids, or an id per line."""
    found: list[SegmentId] = []
    for line, text in enumerate(read_lines(path), start=1):
        name: SegmentId | None = text.strip() or None
        if text.lstrip().startswith("{"):
            row = parse_json(text, path, line)
            name = next((row[key] for key in ("custom_id", *USUAL["id"].split()) if key in row), None)
        if not isinstance(name, str | int):
            raise file_error(path, line, "no id", 'write {"custom_id": "…"}, or an id on each line')
        found.append(name)
    if twice := next((name for name in found if found.count(name) > 1), None) if len(set(found)) < len(found) else None:
        raise file_error(path, None, f"the id {twice!r} occurs twice", "keep one of them")
    return found


def systems_of_folder(path: str | Path) -> dict[str, Path]:
    """Return the outputs of systems in a folder of mt-metrics-eval, or in that of one of its language pairs."""
    folder = Path(path) / "system-outputs" if (Path(path) / "system-outputs").is_dir() else Path(path)
    pairs = sorted(one for one in folder.iterdir() if one.is_dir())
    if folder.name == "system-outputs":
        if len(pairs) != 1:
            remedy = f"name one of its folders: {', '.join(one.name for one in pairs)}"
            raise InputError(f"{len(pairs)} language pairs", file=folder, remedy=remedy)
        folder = pairs[0]
    found = {one.stem: one for one in sorted(folder.glob("*.txt"))}
    if not found:
        raise InputError("no outputs of systems (NAME.txt)", file=folder, remedy="name the folder of a language pair")
    return found


def is_system_folder(path: str | Path) -> bool:
    """Return whether a path is a folder of mt-metrics-eval with outputs of systems."""
    folder = Path(path)
    named = "system-outputs" in (folder.name, folder.parent.name)
    return folder.is_dir() and (named or (folder / "system-outputs").is_dir())


def references_among(files: Iterable[str | Path]) -> list[str | Path]:
    """Return files of mt-metrics-eval that are copies of references, which must not vote."""
    found = []
    for file in files:
        folder = Path(file).parent
        references = folder.parent.parent / "references"
        if folder.parent.name == "system-outputs" and (references / f"{folder.name}.{Path(file).name}").exists():
            found.append(file)
    return found
