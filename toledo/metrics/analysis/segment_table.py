"""The scores of every segment as a table, and as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.results import DECIMALS, TableResult

FORMATS = (".tsv", ".json", ".jsonl")


@dataclass(frozen=True, repr=False)
class SegmentTable(TableResult):
    """A row for each segment and system: its scores and its text. Segments are numbered from 0."""

    scores: Mapping[str, Mapping[str, NDArray[np.float64]]]  # by system and metric
    texts: Mapping[str, Sequence[str]] = field(repr=False)

    def __len__(self) -> int:
        return sum(map(len, self.texts.values()))

    def __repr__(self) -> str:
        return f"SegmentTable({len(self)} rows; {', '.join(self.scores)})"

    def __str__(self) -> str:
        return "\n".join("\t".join(map(str, row)) for row in self._rows())

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each segment and system."""
        header, *rows = self._rows()
        return [dict(zip(header, row, strict=True)) for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": self.rows_as_dicts()}

    def save(self, path: str | Path) -> None:
        """Write the table as TSV with a header, as a JSON list, or as JSON lines, as the name ends; `.gz` is packed."""
        kind = table_format(path)
        with atomic_writer(path) as stream:
            if kind == ".tsv":
                csv.writer(stream, delimiter="\t", lineterminator="\n").writerows(self._rows())
            elif kind == ".json":
                stream.write(json.dumps(self.rows_as_dicts(), ensure_ascii=False, indent=1) + "\n")
            else:
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows_as_dicts())

    def _rows(self) -> Iterator[list[Any]]:
        """Yield the header, then the rows of each segment."""
        first = next(iter(self.scores.values()))
        yield ["segment", "system", *first, "text"]
        columns = {
            name: [np.round(own, DECIMALS).tolist() for own in by_metric.values()]
            for name, by_metric in self.scores.items()
        }
        for segment in range(len(next(iter(self.texts.values())))):
            for name, texts in self.texts.items():
                yield [segment, name, *(column[segment] for column in columns[name]), texts[segment]]


def table_format(path: str | Path) -> str:
    """Return the ending that says how a table is written; refuse others."""
    kind = Path(str(path).removesuffix(".gz")).suffix
    if kind not in FORMATS:
        raise InputError("the format is not known", file=str(path), remedy=f"end the name in {', '.join(FORMATS)}")
    return kind
