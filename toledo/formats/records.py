"""Rows of files or tables → lists of hypotheses, one for each segment.

Integer ids of Toledo's own objects are numbers of segments, from 0; other ids are handed through. Samples that failed
are left out, and named in one warning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import ValidationError

from toledo.errors import InputError
from toledo.files import display_name
from toledo.formats.fields import fill_gaps
from toledo.formats.hypotheses import Entry, NBestList, SegmentId, in_lists
from toledo.formats.responses import Fields, RowContent, content_of
from toledo.formats.rows import SCHEMA, Row

log = logging.getLogger(__name__)

FIELDS = ("text", "score", "logprob", "id", "feature")
FAILURES_SHOWN = 5


@dataclass(frozen=True)
class Reading:
    """How rows are read: keys or paths of `text` (several are systems), `score`, `logprob`, `id` and `feature`.

    A feature is a number for each hypothesis, known by its key; there may be several. Samples that failed are left out
    with a warning, unless reading is `strict`.
    """

    fields: Fields = field(default_factory=dict)
    strict: bool = False

    def __post_init__(self) -> None:
        for name, paths in self.fields.items():
            if name not in FIELDS:
                raise InputError(f"no field {name!r}", argument="fields", remedy=f"name {', '.join(FIELDS)}")
            if len(paths) > 1 and name in ("logprob", "id"):
                raise InputError(f"field {name!r} is given twice", argument="fields", remedy="give it once")


def as_fields(given: Mapping[str, str | Sequence[str]] | None) -> Fields:
    """Return fields with all their paths, of which one may be given alone."""
    return {name: (one,) if isinstance(one, str) else tuple(one) for name, one in (given or {}).items()}


def parse_fields(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return fields that are written as NAME=PATH; a name may occur several times."""
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        name, sign, path = one.partition("=")
        if not sign or not path:
            raise InputError(
                f"{one!r} is not NAME=KEY", argument="field", remedy="write text=KEY, score=KEY, id=KEY or feature=KEY"
            )
        found[name] = (*found.get(name, ()), path)
    return found


def lists_of_rows(rows: Iterable[Row], path: str | Path | None, reading: Reading) -> Iterator[NBestList]:
    """Yield a list for each segment; errors name the line of the file, or the segment if there is no file."""
    failures = _Failures(path, reading.strict)
    records = ((line, _read_row(line, value, path, reading, failures)) for line, value in rows)
    first = next(records, None)
    if first is None:
        return
    together = chain([first], records)
    if first[1].numbered:
        yield from _by_number(together, first[1].whole, path)
    elif first[1].whole:
        yield from _whole_segments(together, path)
    elif first[1].id is None:
        yield from _continued(together)
    else:
        yield from _collected(together)
    failures.warn()


def row_error(path: str | Path | None, line: int, message: str, remedy: str) -> InputError:
    """Return an error at a row of a file, or of what was given in Python."""
    if path is None:
        return InputError(f"lists[{line - 1}]: {message}", argument="lists", segment=line - 1, remedy=remedy)
    return InputError(message, file=display_name(path), line=line, remedy=remedy)


class _Failures:
    """Counts samples that failed, and says so once."""

    def __init__(self, path: str | Path | None, strict: bool) -> None:
        self.path, self.strict = path, strict
        self.good = self.failed = 0
        self.shown: list[str] = []

    def add(self, line: int, record: RowContent) -> None:
        self.good += len(record.entries)
        if not record.failures:
            return
        name = f"line {line}" if record.id is None else str(record.id)
        reason = "; ".join(dict.fromkeys(record.failures.values()))
        if self.strict:
            raise row_error(self.path, line, f"{name}: {reason}", "leave out `strict` to go on without it")
        self.failed += len(record.failures)
        if len(self.shown) <= FAILURES_SHOWN:
            self.shown.append(f"{name} ({reason})" if len(self.shown) < FAILURES_SHOWN else "…")

    def warn(self) -> None:
        if self.failed and not self.good:
            raise row_error(self.path, 1, f"no row has a text: {self.shown[0]}", "name the key: `fields=text=KEY`")
        if self.failed:
            place = "" if self.path is None else f"{display_name(self.path)}: "
            log.warning("%ssamples that failed are left out: %d: %s", place, self.failed, ", ".join(self.shown))


def _read_row(line: int, value: Any, path: str | Path | None, reading: Reading, failures: _Failures) -> RowContent:
    try:
        record = content_of(value, reading.fields)
    except ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $.")
        raise row_error(path, line, f"{place}: {message[0].lower()}{message[1:]}", SCHEMA) from None
    except ValueError as error:
        message, remedy = (error.message, error.remedy) if isinstance(error, InputError) else (str(error), None)
        raise row_error(path, line, message, remedy or SCHEMA) from None
    failures.add(line, record)
    return record


def _by_number(records: Iterable[tuple[int, RowContent]], whole: bool, path: str | Path | None) -> Iterator[NBestList]:
    """Yield lists by number, empty ones for segments without a row; rows must be in order."""
    name = "lists" if path is None else display_name(path)
    if whole:
        return fill_gaps(_rising(records, path), lambda segment: NBestList(segment, ()), name)
    return in_lists(_numbered_entries(records, path), name)


def _rising(records: Iterable[tuple[int, RowContent]], path: str | Path | None) -> Iterator[tuple[int, NBestList]]:
    last = -1
    for line, record in records:
        segment = last + 1 if record.id is None else record.id
        if not record.numbered or not isinstance(segment, int):
            raise row_error(path, line, "not the number of a segment, as in the first line", SCHEMA)
        if segment <= last:
            raise row_error(path, line, f"segment {segment} follows segment {last}", SCHEMA)
        if not record.whole:
            raise row_error(path, line, "no list of hypotheses, as in the first line", SCHEMA)
        yield segment, NBestList(segment, tuple(record.entries), extra=record.extra, failed=tuple(record.failures))
        last = segment


def _numbered_entries(
    records: Iterable[tuple[int, RowContent]], path: str | Path | None
) -> Iterator[tuple[int, int, Entry]]:
    for line, record in records:
        if not isinstance(record.id, int) or record.whole:
            raise row_error(path, line, "no number of a segment and text, as in the first line", SCHEMA)
        yield from ((line, record.id, entry) for entry in record.entries)


def _whole_segments(records: Iterable[tuple[int, RowContent]], path: str | Path | None) -> Iterator[NBestList]:
    """Yield a list for each row, at once."""
    seen: set[SegmentId | None] = set()
    for segment, (line, record) in enumerate(records):
        is_key = record.is_key and record.id is not None
        if is_key and record.id in seen:
            remedy = "keep one of them, or give the rows of each run in a file of its own"
            raise row_error(path, line, f"the id {record.id!r} occurs twice", remedy)
        seen.add(record.id)
        yield NBestList(segment, tuple(record.entries), record.id, is_key, record.extra, tuple(record.failures))


def _continued(records: Iterable[tuple[int, RowContent]]) -> Iterator[NBestList]:
    """Yield lists of which each row has one hypothesis: those of a segment follow each other."""
    segment, first, entries = 0, RowContent([]), list[Entry]()
    for number, (_, record) in enumerate(records):
        if number and not record.continues:
            yield NBestList(segment, tuple(entries), extra=first.extra)
            segment, entries = segment + 1, []
        first = first if entries else record
        entries += record.entries
    yield NBestList(segment, tuple(entries), extra=first.extra)


def _collected(records: Iterable[tuple[int, RowContent]]) -> Iterator[NBestList]:
    """Yield lists of which each row has one hypothesis, wherever it is, in the order in which ids come first."""
    found: dict[SegmentId | None, RowContent] = {}
    for _, record in records:
        first = found.setdefault(record.id, record._replace(entries=[]))
        first.entries.extend(record.entries)
    for segment, (name, record) in enumerate(found.items()):
        yield NBestList(segment, tuple(record.entries), name, True, record.extra)
