"""Rows of files with keys or columns: JSON lines, JSON documents, CSV, TSV, fairseq's logs, Parquet and Arrow.

A row is (line, value): the line where it begins, counted from 1 (for tables without lines the number of the row), and
an object or array as JSON has it. Nothing is unpickled; documents and tables have a largest size.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import log
from pathlib import Path
from typing import Any, NoReturn

from toledo.errors import InputError, MissingExtraError
from toledo.files import STANDARD_STREAM, file_error, read_lines
from toledo.formats.fields import parse_number

Row = tuple[int, Any]
Rows = Iterator[Row]

MOST_BYTES = 1 << 30  # of a JSON document, or of a part of a table, which are read as a whole
ROWS_AT_ONCE = 1000
EMPTY = 'remove the line, or write {"id": N, "hypotheses": []} for a segment without hypotheses'
SCHEMA = (
    'write {"id": N, "text": "…", "score": …, "features": {…}} '
    'or {"id": N, "hypotheses": ["…", {"text": "…", "score": …}]}, where N is the number of the segment, from 0'
)
FAIRSEQ = re.compile(r"([STHDP])-(\d{1,9})\t(.*)", re.ASCII | re.DOTALL)
TABLE_FILES = (".parquet", ".arrow")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
PARQUET_MARK = b"PAR1"
ARROW_MARKS = (b"ARROW1", b"\xff\xff\xff\xff")  # of a file, of a stream
CUT_OFF = ("Unterminated string", "Expecting")  # messages about a text that ends too early


def json_rows(path: str | Path) -> Rows:
    """Yield the objects or arrays of JSON lines, or the items of one JSON document.

    A document has more than one line, or is an array of arrays or of objects with keys of their own. The items of an
    array in a file named `.json` are rows, whatever they are.
    """
    lines = _filled_lines(path)
    first = next(lines, None)
    if first is None:
        return
    line, text = first
    if _is_cut_off(text):
        whole = _whole_text(path, chain([first], lines))
        yield from document_rows(parse_json(whole, path, line), whole=True)
        return
    value = parse_json(text, path, line)
    rows = document_rows(value, whole=Path(path).name.removesuffix(".gz").endswith(".json"))
    if isinstance(value, list) and rows != [(1, value)]:
        yield from rows
        if more := next(lines, None):
            raise file_error(path, more[0], "a line after the end of the JSON document", "remove it")
        return
    yield from ((line, item) for _, item in rows)
    for number, text in lines:
        yield number, parse_json(text, path, number)


def document_rows(value: Any, *, whole: bool) -> list[Row]:
    """Return the rows of a JSON value; an array that is not a `whole` document may be the samples of one segment."""
    if isinstance(value, Mapping):
        return list(enumerate(_by_segment(value) or [value], start=1))
    items = value if isinstance(value, list) else [value]
    samples = (isinstance(item, str | None) or _is_pipeline_sample(item) for item in items)
    if not isinstance(value, list) or (not whole and all(samples)):
        return [(1, value)]
    return [(number, [item] if isinstance(item, str | None) else item) for number, item in enumerate(items, start=1)]


def parse_json(text: str, path: str | Path, line: int) -> Any:
    """Return the value of a line or document; refuse repeated keys, NaN, and nesting deeper than Python can follow."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except (ValueError, RecursionError) as error:
        place = line + error.lineno - 1 if isinstance(error, json.JSONDecodeError) else line
        raise file_error(path, place, f"not valid JSON: {json_problem(error)}", SCHEMA) from None


def json_problem(error: Exception) -> str:
    """Return what is wrong and in which column; Python does not know the line of the file."""
    if isinstance(error, RecursionError):
        return "too many brackets within each other"
    if isinstance(error, UnicodeEncodeError):
        return "half of a surrogate pair, which is not a character"
    if "int_max_str_digits" in str(error):  # what Python says is about its own settings
        return "a number with thousands of digits"
    return f"{error.msg} (column {error.colno})" if isinstance(error, json.JSONDecodeError) else str(error)


def begins_json_array(line: str) -> bool:
    """Return whether a line is a JSON array or the beginning of one, rather than text such as `[Applause] Thanks`."""
    if not line.lstrip().startswith("["):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return _is_cut_off(line)
    return True


def _is_cut_off(text: str) -> bool:
    """Return whether a line is JSON that goes on in the next one."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return ends and error.msg.startswith(CUT_OFF)
    except (ValueError, RecursionError):
        pass
    return False


def _filled_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file; empty ones may only be at its end."""
    empty = None
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            empty = empty or line
            continue
        if empty is not None:
            raise file_error(path, empty, "empty line", EMPTY)
        yield line, text


def _whole_text(path: str | Path, lines: Iterable[tuple[int, str]]) -> str:
    found, size = [], 0
    for _, text in lines:
        found.append(text)
        size += len(text)
        if size > MOST_BYTES:
            remedy = "write one JSON object per line"
            raise file_error(path, None, f"a JSON document of more than {MOST_BYTES:,} characters", remedy)
    return "\n".join(found)


def _is_pipeline_sample(item: Any) -> bool:
    """Return whether an object is one text of a Hugging Face pipeline, which has no key for its segment."""
    keys = {"generated_text", "translation_text", "summary_text"}
    return isinstance(item, Mapping) and bool(keys & set(item)) and not {"id", "details"} & set(item)


def _by_segment(document: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return the rows of COMET's document `{file: [{"src": …, "mt": …, "COMET": …}, …]}`: one for each segment."""
    systems = list(document.values())
    if not systems or not all(isinstance(rows, list) and rows and all(map(_is_scored, rows)) for rows in systems):
        return None
    if len({len(rows) for rows in systems}) > 1:
        counts = ", ".join(f"{name}: {len(rows)}" for name, rows in document.items())
        raise InputError(f"systems with different numbers of segments ({counts})", remedy="score all systems again")
    return [_side_by_side(dict(zip(document, rows, strict=True))) for rows in zip(*systems, strict=True)]


def _is_scored(row: Any) -> bool:
    return isinstance(row, Mapping) and "mt" in row


def _side_by_side(row_of: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    first = next(iter(row_of.values()))
    extra = {key: value for key, value in first.items() if key in ("src", "ref")}
    samples = [
        {"text": row["mt"], "system": name, **({"score": row["COMET"]} if "COMET" in row else {})}
        for name, row in row_of.items()
    ]
    return {"hypotheses": samples, **extra}


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that repeats a key, as cdec's forests do."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name in names if names[name] > 1)!r} occurs twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def csv_rows(path: str | Path) -> Rows:
    """Yield an object for each row of a table whose first line names the columns; tabs or commas separate them."""
    lines = (f"{line}\n" for line in read_lines(path))
    header = next(lines, None)
    if header is None:
        return
    tabs = Path(path).name.removesuffix(".gz").endswith(".tsv") or header.count("\t") > header.count(",")
    reader = csv.reader(chain([header], lines), strict=True, delimiter="\t" if tabs else ",")
    try:
        names = next(reader)
        if len(set(names)) < len(names):
            raise file_error(path, 1, "two columns have the same name", "name each column")
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(names):
                remedy = "quote cells with separators, quotation marks or line ends as RFC 4180 says"
                raise file_error(path, line, f"{len(cells)} cells for {len(names)} columns", remedy)
            if cells:
                yield line, {name: cell or None for name, cell in zip(names, cells, strict=True)}
            line = reader.line_num + 1
    except csv.Error as error:
        remedy = "quote cells with separators, quotation marks or line ends as RFC 4180 says"
        raise file_error(path, reader.line_num, f"not a table: {error}", remedy) from None


def fairseq_rows(path: str | Path) -> Rows:
    """Yield the hypotheses of fairseq's log in the order of their numbers: detokenized ones (D-) if there are any.

    Scores stay as they are. The base of their logarithms is 2, so probabilities of tokens (P-) are converted.
    """
    found: dict[str, dict[int, list[Row]]] = {kind: defaultdict(list) for kind in "STHDP"}
    for line, text in enumerate(read_lines(path), start=1):
        if match := FAIRSEQ.fullmatch(text):
            found[match[1]][int(match[2])].append((line, match[3]))
    kind = "D" if found["D"] else "H"
    if not found[kind]:
        raise file_error(path, None, "no hypotheses (lines H-0, H-1, …)", "give the whole log of fairseq-generate")
    for number in sorted(found[kind]):
        tokens = found["P"][number]
        for place, (line, rest) in enumerate(found[kind][number]):
            try:
                row = _fairseq_row(number, rest, tokens[place][1] if place < len(tokens) else None)
            except ValueError as error:
                raise file_error(path, line, str(error), "write: H-0 TAB score TAB text") from None
            yield line, row


def _fairseq_row(number: int, rest: str, tokens: str | None) -> dict[str, Any]:
    score, tab, text = rest.partition("\t")
    if not tab:
        raise ValueError("no score and text")
    row: dict[str, Any] = {"id": number, "text": text, "score": parse_number(score)}
    if tokens is not None:
        row["logprobs"] = [parse_number(value) * log(2.0) for value in tokens.split()]
    return row


def table_rows(path: str | Path) -> Rows:
    """Yield the rows of a Parquet or Arrow file, or of the files of a data set in a folder."""
    files = table_files(path) if Path(path).is_dir() else [Path(path)]
    number = 0
    for file in files:
        for row in _batches(file):
            number += 1
            yield number, row


def table_files(folder: str | Path) -> list[Path]:
    """Return the files of a data set in a folder, as `save_to_disk` of Hugging Face writes them, in order."""
    found = sorted(one for one in Path(folder).iterdir() if one.suffix in TABLE_FILES and one.is_file())
    if not found:
        parts = sorted(one.name for one in Path(folder).iterdir() if one.is_dir())
        remedy = f"name one of its folders: {', '.join(parts)}" if parts else "name a file"
        raise InputError("a folder without Parquet or Arrow files", file=folder, remedy=remedy)
    return found


def is_table(beginning: bytes) -> bool:
    """Return whether the first bytes of a file are those of Parquet or Arrow."""
    return beginning.startswith((PARQUET_MARK, *ARROW_MARKS))


def _batches(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError as error:
        remedy = 'pip install "toledo-mt[tables]"'
        raise MissingExtraError("Parquet and Arrow files need pyarrow", remedy=remedy) from error
    if str(file) == STANDARD_STREAM:
        raise InputError("tables cannot be read from standard input", remedy="name the file")
    try:
        with file.open("rb") as stream:
            beginning = stream.read(8)
        if beginning.startswith(PARQUET_MARK):
            with parquet.ParquetFile(file) as table:
                _require_small_parts(file, table.metadata)
                for batch in table.iter_batches(batch_size=ROWS_AT_ONCE):
                    yield from batch.to_pylist()
            return
        open_table: Callable[[Any], Any] = ipc.open_file if beginning.startswith(ARROW_MARKS[0]) else ipc.open_stream
        with pyarrow.OSFile(str(file)) as source, open_table(source) as reader:
            count = getattr(reader, "num_record_batches", None)
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise file_error(file, None, f"not a table that can be read: {reason}", "write it again") from None


def _require_small_parts(file: Path, metadata: Any) -> None:
    """Refuse a Parquet file that would unpack to more than fits into memory."""
    largest = max((metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)), default=0)
    if largest > MOST_BYTES:
        remedy = f"write row groups of at most {MOST_BYTES:,} bytes"
        raise file_error(file, None, f"a row group of {largest:,} bytes", remedy)


def rows_of_table(table: Any) -> Iterable[Any]:
    """Return the rows of a DataFrame (pandas, Polars), of a table of Arrow, or of anything that yields rows."""
    if hasattr(table, "to_pylist") and hasattr(table, "column_names"):
        rows: Iterable[Any] = table.to_pylist()
    elif hasattr(table, "to_dicts"):
        rows = table.to_dicts()
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        rows = table.to_dict("records")
    else:
        rows = table
    return map(_plain, rows)


def _plain(value: Any) -> Any:
    """Return arrays as lists, and None for what pandas takes for missing; other things stay as they are."""
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if type(value) is list:
        return [_plain(one) for one in value]
    missing = type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    return None if missing else value
