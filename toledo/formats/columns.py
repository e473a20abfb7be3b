"""Columns of scores: those of a table with one row for each segment, and files with the scores of several systems.

A file of scores has lines SYSTEM TAB SCORE, as mt-metrics-eval writes them (`.seg.score`), the segments of a system in
order; or it is a table with a column for each system; or one number on each line, if there is only one system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, file_error, read_lines
from toledo.formats.fields import parse_number
from toledo.formats.list_files import guess_list_format
from toledo.formats.responses import USUAL
from toledo.formats.rows import Rows, csv_rows, json_rows
from toledo.metrics.given import ScoredTexts

Floats = NDArray[np.float64]
NUMBER = "write a finite number for each segment"
ONLY = ""  # the name of a system where there is only one


def read_scored_texts(path: str | Path, names: Sequence[str]) -> ScoredTexts:
    """Read a table with a row for each segment: columns of scores by their names, and texts if there are any."""
    if str(path) == STANDARD_STREAM:
        raise InputError("tables cannot be read from standard input", argument="metric", remedy="name the file")
    form = guess_list_format(path)
    rows: Rows | None = {"jsonl": json_rows, "csv": csv_rows}.get(form, lambda _: None)(path)
    if rows is None:
        remedy = "write a table with a header (TSV, CSV) or JSON lines, or give the scores as a file: column:FILE"
        raise file_error(path, None, f"plain text, which has no column {names[0]!r}", remedy)
    texts: list[str] = []
    columns: dict[str, list[float]] = {name: [] for name in names}
    for line, row in rows:
        if not isinstance(row, Mapping):
            raise file_error(path, line, "not an object with keys", f'write {{"text": "…", "{names[0]}": 0.5}}')
        for name in names:
            columns[name].append(_score(path, line, row, name))
        found = next((row[key] for key in USUAL["text"].split() if key in row), None)
        if isinstance(found, str):
            texts.append(found)
    size = len(columns[names[0]])
    if texts and len(texts) < size:
        raise file_error(path, None, f"{len(texts)} texts in {size} rows", "write a text in each row, or in none")
    return ScoredTexts(texts or None, columns)


def _score(path: str | Path, line: int, row: Mapping[str, Any], name: str) -> float:
    if name not in row:
        raise file_error(path, line, f"no column {name!r}", f"name one that is there: {', '.join(map(str, row))}")
    try:
        return parse_number(str(row[name]).strip())
    except ValueError:
        raise file_error(path, line, f"{row[name]!r} in column {name!r} is not a number", NUMBER) from None


def read_system_scores(path: str | Path) -> dict[str, Floats]:
    """Read the scores of all segments of some systems by name; the name is empty if there is only one system."""
    lines = [line.rstrip("\r") for line in read_lines(path)]
    if not lines:
        raise file_error(path, None, "the file is empty", NUMBER)
    first = lines[0].split("\t")
    if len(first) == 2 and (_is_number(first[1]) or first[1].strip() == "None"):  # no header: a system and its score
        return _by_lines(path, lines)
    if len(first) == 1 and _is_number(first[0]):
        return {ONLY: np.array([_number(path, line, text) for line, text in enumerate(lines, start=1)])}
    columns: dict[str, list[float]] = {}
    for line, row in csv_rows(path):
        for name, cell in row.items():
            columns.setdefault(name, []).append(_number(path, line, str(cell)))
    return {name: np.array(values) for name, values in columns.items()}


def _by_lines(path: str | Path, lines: Sequence[str]) -> dict[str, Floats]:
    found: dict[str, list[float]] = {}
    names = []
    for line, text in enumerate(lines, start=1):
        name, tab, score = text.partition("\t")
        if not tab:
            raise file_error(path, line, "no tab", "write SYSTEM TAB SCORE on each line")
        found.setdefault(name, []).append(_number(path, line, score))
        names.append(name)
    if sum(one != other for one, other in pairwise(names)) >= len(found) and len(found) > 1:
        raise file_error(path, None, "the segments of a system are not together", "sort the lines: sort -s -k 1,1")
    return {name: np.array(values) for name, values in found.items()}


def _number(path: str | Path, line: int, text: str) -> float:
    try:
        return parse_number(text.strip())
    except ValueError:
        remedy = "score all segments, or leave out those without a score, here and in all texts"
        raise file_error(path, line, f"{text.strip()!r} is not a score", remedy) from None


def _is_number(text: str) -> bool:
    try:
        parse_number(text.strip())
    except ValueError:
        return False
    return True
