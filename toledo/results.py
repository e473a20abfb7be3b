"""What functions return: frozen records that print as the text or the table that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from toledo.errors import MissingExtraError
from toledo.view.markup import join, tag
from toledo.view.tables import table as html_table

DECIMALS = 6  # of numbers in JSON
MOST_ROWS = 60  # of a table in a notebook


class Result:
    """Base of all results; subclasses are frozen dataclasses that say in `signature` how they came about."""

    signature: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values, numbers with six decimals."""
        found = {one.name: plain(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]
        if self.signature:
            found["signature"] = self.signature
        return found

    def _repr_html_(self) -> str:
        """Show the printed form in a notebook."""
        return tag("pre", str(self))


class TableResult(Result):
    """A result that is a table; subclasses give its rows."""

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each row."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Show the first rows as a table in a notebook."""
        rows = self.rows_as_dicts()
        header = list(dict.fromkeys(name for row in rows for name in row))
        cells = [[_cell(row.get(name)) for name in header] for row in rows[:MOST_ROWS]]
        more = tag("p", f"{len(cells)} of {len(rows):,} rows") if len(cells) < len(rows) else None
        return join(html_table(header, cells), more)

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`."""
        try:
            import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise MissingExtraError("to_pandas needs pandas", remedy="pip install pandas") from error
        return pandas.DataFrame(self.rows_as_dicts())


@dataclass(frozen=True)
class Hypothesis(Result):
    """One output for a segment, with score and features if they are known; `str` gives its text."""

    text: str
    score: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    logprob: float | None = None
    count: int = 1
    alignment: Sequence[tuple[int, int]] | None = None
    num_tokens: int | None = None
    system: str | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        known = (
            f", {name}={getattr(self, name):g}" for name in ("score", "logprob") if getattr(self, name) is not None
        )
        return f"Hypothesis({self.text!r}{''.join(known)})"


class SampleList(list[Hypothesis]):
    """Samples of one segment, with the id and the other keys that their file has for them.

    `failed` are the places of samples that are left out: indices of choices count them.
    """

    def __init__(
        self,
        samples: Iterable[Hypothesis] = (),
        id: int | str | None = None,  # noqa: A002
        extra: Mapping[str, Any] | None = None,
        failed: Sequence[int] = (),
    ) -> None:
        super().__init__(samples)
        self.id = id
        self.extra: Mapping[str, Any] = extra or {}
        self.failed = tuple(failed)


def _cell(value: Any) -> str | float | None:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return str(value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers with six decimals, arrays as lists, results as dictionaries."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, bool | str) or value is None:
        return value
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return plain(value.tolist())
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return value if isinstance(value, int) else str(value)


def table(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table: columns as wide as needed, two spaces apart, right-aligned except for `left`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = ["<" if place in left else ">" for place in range(len(widths))]
    cells = [[f"{one:{sign}{width}}" for one, sign, width in zip(row, signs, widths, strict=True)] for row in rows]
    return ["  ".join(row).rstrip() for row in cells]
