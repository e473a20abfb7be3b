"""Runs on disk: which kind of run a file tells of, by its content, and what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import display_name, read_lines
from toledo.reports.documents import Course, Point

TRACE = 'write it with toledo document translate --trace: {"document": "…", "step": 0, "score": …, "features": {…}}'


def read_trace(path: str | Path) -> list[Course]:
    """The courses of all documents of a trace."""
    points: dict[str, list[Point]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        try:
            found = json.loads(text)
            point = Point(int(found["step"]), float(found["score"]), _numbers(found["features"]), _bleu(found))
            name = str(found["document"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"no state of a document: {_told(error)}", file=path, line=line, remedy=TRACE) from None
        known = points.setdefault(name, [])
        if known and known[-1].step >= point.step:
            raise InputError(f"step {point.step} of {name} comes twice or too late", file=path, line=line, remedy=TRACE)
        known.append(point)
    if not points:
        raise InputError("the file is empty", file=display_name(path), remedy=TRACE)
    return [Course(name, 0, tuple(own)) for name, own in points.items()]


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in table.items()}


def _bleu(found: Mapping[str, Any]) -> float | None:
    return float(found["bleu"]) if "bleu" in found else None


def _told(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else str(error)
