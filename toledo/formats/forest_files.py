"""Forests and lists in files of any format: guess the format, read and write segment by segment, and convert.

N-best lists become forests of one node. Scores of a file (model scores of hypotheses, scales in the header of an SLF
lattice) become weights. To add a format, write a module for it and add a line to `FORMATS`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import TypeVar

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_directory, atomic_writer, display_name, file_error, read_lines
from toledo.forest.assemble import join, split
from toledo.forest.constructors import ForestBuilder, ListEntry, from_nbest
from toledo.forest.forest import DESCRIPTION, Forest, Scores
from toledo.forest.kbest import k_best
from toledo.formats.fields import dense_names, fill_gaps, numbered_files
from toledo.formats.hypergraph import hypergraph_text, read_hypergraphs
from toledo.formats.hypotheses import NBestList, from_forest, to_forest
from toledo.formats.jsonl import write_jsonl
from toledo.formats.nbest import read_nbest, write_nbest
from toledo.formats.plf import Values, plf_text, read_plf
from toledo.formats.records import Reading, lists_of_rows
from toledo.formats.rows import TABLE_FILES, Rows, csv_rows, fairseq_rows, json_rows, table_rows
from toledo.formats.slf import read_slf, slf_text
from toledo.settings import unknown_name
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

Item = TypeVar("Item")
WriteForest = Callable[[Forest], None]
Graph = tuple[Forest, Mapping[str, float] | None]  # a forest, and the weights that its file implies
DenseNames = tuple[str, ...] | None  # of features; None: those of the first graph
ReadGraphs = Callable[[str | Path, Vocabulary, DenseNames, Values], Iterator[Graph]]

MARKER = "0.gz"
DEFAULT_SIZE = 100
TOLEDO = "toledo"  # a directory with all forests together


@dataclass(frozen=True)
class FileFormat:
    """A file format of n-best lists or graphs: what its names and first lines look like, how to read and write it.

    Lists are read as such or from rows with keys. `text` writes a forest, given its segment and what the values of PLF
    are. Graphs of all formats but those with a `line` for each can also be in a directory, one file for each segment.
    """

    description: str
    name: str = "$^"  # regular expressions; this one matches nothing
    first_line: str = "$^"
    read_lists: Callable[[str | Path], Iterator[NBestList]] | None = None
    read_rows: Callable[[str | Path], Rows] | None = None
    write_lists: Callable[[Iterable[NBestList], str | Path], None] | None = None
    read_graphs: ReadGraphs | None = None
    text: Callable[[Forest, int, Values], str] | None = None
    line: bool = False


def _plf_graphs(path: str | Path, vocabulary: Vocabulary, names: DenseNames, values: Values) -> Iterator[Graph]:
    return ((forest, None) for forest in read_plf(path, vocabulary, names, values))


def _slf_graphs(path: str | Path, vocabulary: Vocabulary, names: DenseNames, values: Values) -> Iterator[Graph]:
    return ((lattice.forest, lattice.weights or None) for lattice in read_slf(path, vocabulary, names))


def _hypergraphs(path: str | Path, vocabulary: Vocabulary, names: DenseNames, values: Values) -> Iterator[Graph]:
    return ((forest, None) for forest in read_hypergraphs(path, vocabulary, names))


FORMATS: dict[str, FileFormat] = {  # names and first lines are tried in this order
    "jsonl": FileFormat(
        "Lists of hypotheses or responses of language models as JSON, one segment per line.",
        r"\.(jsonl|ndjson)$",
        r"\s*\{",
        read_rows=json_rows,
        write_lists=write_jsonl,
    ),
    "json": FileFormat("The same in one JSON document.", r"\.json$", read_rows=json_rows),
    "csv": FileFormat("Tables with names of columns in the first line.", r"\.(csv|tsv)$", read_rows=csv_rows),
    "parquet": FileFormat(
        "Tables in Parquet or Arrow files, folders of Hugging Face data sets.",
        rf"({'|'.join(map(re.escape, TABLE_FILES))})$",
        read_rows=table_rows,
    ),
    "fairseq": FileFormat("Logs of fairseq-generate.", first_line=r"[STHDP]-\d+\t", read_rows=fairseq_rows),
    "plf": FileFormat(
        "Lattices in the Python Lattice Format of Moses and cdec.",
        r"\.plf$",
        r"\s*\(",
        read_graphs=_plf_graphs,
        text=lambda forest, segment, values: plf_text(forest, values),
        line=True,
    ),
    "hypergraph": FileFormat(
        "Hypergraphs in the format of Moses.",
        r"\.(hg|hypergraph)$",
        re.escape("# target |||"),
        read_graphs=_hypergraphs,
        text=lambda forest, segment, values: hypergraph_text(forest),
    ),
    "slf": FileFormat(
        "Lattices in the Standard Lattice Format of HTK.",
        r"\.(slf|lat)$",
        r"(#.*|\w+=.*)$",
        read_graphs=_slf_graphs,
        text=lambda forest, segment, values: slf_text(forest, segment),
    ),
    "cdec": FileFormat(
        "N-best lists of cdec and Joshua (name=value).",
        r"\.cdec$",
        "$^",
        read_nbest,
        write_lists=partial(write_nbest, style="cdec"),
    ),
    "nbest": FileFormat(
        "N-best lists of Moses and Marian.", r"best", r"\s*\d+ \|\|\|", read_nbest, write_lists=write_nbest
    ),
    TOLEDO: FileFormat("Directories of forests, as written by Toledo."),
}
LISTS = {form for form, one in FORMATS.items() if one.read_lists or one.read_rows}
WRITTEN_LISTS = {form for form, one in FORMATS.items() if one.write_lists}


def named_format(name: str) -> str:
    """Return the name of a format as it is registered."""
    if name not in FORMATS:
        raise unknown_name("format", name, list(FORMATS))
    return name


def guess_format(path: str | Path) -> str:
    """Return the format of a file that exists: by its name, or else by its first line."""
    remedy = f"name the format: {', '.join(FORMATS)}"
    if str(path) == STANDARD_STREAM:
        raise InputError("the format of standard input is not known", remedy=remedy)
    if Path(path).is_dir():
        if any(one.suffix in TABLE_FILES for one in Path(path).iterdir()):
            return "parquet"
        return TOLEDO if (Path(path) / DESCRIPTION).exists() else guess_format(numbered_files(path)[0][1])
    form = _by_name(path) or _by_first_line(next(read_lines(path), ""))
    if form is None:
        raise InputError("the format is not known", file=path, remedy=remedy)
    return form


def guess_output_format(path: str | Path) -> str:
    """Return the format to write: by the name of the file; a directory if the name has no ending."""
    if str(path) != STANDARD_STREAM:
        if form := _by_name(path):
            return form
        if not Path(path).suffix and not str(path).endswith("/"):
            return TOLEDO
    raise InputError("the format to write is not known", file=path, remedy=f"name the format: {', '.join(FORMATS)}")


def _by_name(path: str | Path) -> str | None:
    name = Path(path).name.removesuffix(".gz")
    return next((form for form, one in FORMATS.items() if re.search(one.name, name)), None)


def _by_first_line(line: str) -> str | None:
    return next((form for form, one in FORMATS.items() if re.match(one.first_line, line)), None)


def side_by_side(sources: Sequence[Iterator[Item]], files: Sequence[str | Path]) -> Iterator[tuple[Item, ...]]:
    """Yield the items of all files for each segment; all must have the same number of segments."""
    for segment, row in enumerate(zip_longest(*sources)):
        if None in row:
            ended = [item is None for item in row]
            short, long = files[ended.index(True)], files[ended.index(False)]
            remedy = "segment i of each file must belong together; look for lost or added line ends"
            raise file_error(short, None, f"{segment} segments, but {display_name(long)} has more", remedy)
        yield row


def read_lists(path: str | Path, form: str, reading: Reading | None = None) -> Iterator[NBestList]:
    """Read the lists of a file in one of the formats for lists; `reading` is for those with keys."""
    if read_rows := FORMATS[form].read_rows:
        return lists_of_rows(read_rows(path), path, reading or Reading())
    if (read := FORMATS[form].read_lists) is None:
        raise InputError(f"{form} is not a format of lists", remedy=f"use one of {', '.join(sorted(LISTS))}")
    if reading is not None and reading.fields:
        raise InputError(f"lists of the format {form} have no keys", file=path, remedy="leave `fields` out")
    return read(path)


def write_lists(lists: Iterable[NBestList], path: str | Path, form: str) -> None:
    """Write n-best lists."""
    if (write := FORMATS[form].write_lists) is None:
        remedy = f"use one of {', '.join(sorted(WRITTEN_LISTS))}"
        raise InputError(f"lists cannot be written as {form}", remedy=remedy)
    write(lists, path)


@dataclass(frozen=True)
class SegmentForest:
    """A segment's forest, and the weights that its file implies: None if the file has no scores."""

    segment: int
    forest: Forest
    weights: Mapping[str, float] | None = None


def score_with(found: SegmentForest, weights: Mapping[str, float] | None) -> Scores:
    """Return scores of edges by the given weights, or else by those of the file, or else by base scores alone."""
    chosen = found.weights if weights is None else weights
    return found.forest.scores(dict.fromkeys(found.forest.feature_names, 0.0) if chosen is None else chosen)


def read_forests(
    path: str | Path, form: str, *, model_scores: bool = False, plf_values: Values = "probabilities"
) -> Iterator[SegmentForest]:
    """Read the forests of a file, segment by segment from 0; all share a vocabulary and the names of dense features.

    With `model_scores`, n-best lists are scored by the scores of the file where it has them, not by features.
    """
    vocabulary, read = Vocabulary(), FORMATS[form].read_graphs
    if form in LISTS:
        yield from _list_forests(read_lists(path, form), vocabulary, model_scores)
    elif read is None:
        for segment, (forest, _, _) in enumerate(split(Forest.load(path))):
            yield SegmentForest(segment, forest)
    elif Path(path).is_dir() and not FORMATS[form].line:
        yield from _from_directory(path, read, vocabulary, plf_values)
    else:
        for segment, graph in enumerate(read(path, vocabulary, None, plf_values)):
            yield SegmentForest(segment, *graph)


def _list_forests(lists: Iterable[NBestList], vocabulary: Vocabulary, model_scores: bool) -> Iterator[SegmentForest]:
    """Yield forests whose dense features are those of the first list that has hypotheses."""
    names: tuple[str, ...] | None = None
    waiting: list[NBestList] = []
    for some in lists:
        waiting.append(some)
        if names is None and some.entries:
            names = () if model_scores else dense_names(entry.features for entry in some.entries)
        if names is not None:
            yield from (_list_forest(one, names, vocabulary, model_scores) for one in waiting)
            waiting = []
    yield from (_list_forest(one, (), vocabulary, model_scores) for one in waiting)


def _list_forest(some: NBestList, names: tuple[str, ...], vocabulary: Vocabulary, model_scores: bool) -> SegmentForest:
    """Return the forest of a list; without features, only its model scores are left."""
    scored = bool(some.entries) and all(entry.score is not None for entry in some.entries)
    use_scores = scored and (model_scores or not (names or any(entry.features for entry in some.entries)))
    forest = to_forest(some.entries, names, vocabulary, use_scores=use_scores)
    return SegmentForest(some.segment, forest, {} if use_scores else None)


def _from_directory(
    path: str | Path, read: ReadGraphs, vocabulary: Vocabulary, values: Values
) -> Iterator[SegmentForest]:
    """Read one file for each segment, named by number, as Moses writes them."""
    names: tuple[str, ...] | None = None

    def numbered() -> Iterator[tuple[int, SegmentForest]]:
        nonlocal names
        for number, file in numbered_files(path):
            graphs = list(read(file, vocabulary, names, values))
            if len(graphs) != 1:
                raise InputError(f"{len(graphs)} graphs", file=file, remedy="a file named by segment holds one graph")
            names = graphs[0][0].feature_names
            yield number, SegmentForest(number, *graphs[0])

    def empty(segment: int) -> SegmentForest:
        builder = ForestBuilder(vocabulary, names or ())
        return SegmentForest(segment, builder.build(builder.node()))

    return fill_gaps(numbered(), empty, path)


@contextmanager
def forest_writer(path: str | Path, form: str, *, plf_values: Values = "probabilities") -> Iterator[WriteForest]:
    """Return a function that writes one forest after the other.

    `path` may end with `/` for one file for each segment (SLF, hypergraph). A directory of Toledo holds all forests
    together and is written at the end.
    """
    if form == TOLEDO:
        forests: list[Forest] = []
        yield forests.append
        if not forests:
            raise InputError("nothing to write: there are no segments", remedy="check the input")
        join(forests).save(path)
        return
    text, numbers = FORMATS[form].text, count()
    if text is None:
        raise InputError(f"{form} is a format of lists, not of forests", remedy="convert forests to lists first")
    if str(path).endswith("/") and not FORMATS[form].line:
        with atomic_directory(path, MARKER) as directory:

            def write_file(forest: Forest) -> None:
                number = next(numbers)
                with atomic_writer(directory / f"{number}.gz") as stream:
                    stream.write(text(forest, number, plf_values))

            yield write_file
        return
    with atomic_writer(path) as stream:

        def write(forest: Forest) -> None:
            stream.write(text(forest, next(numbers), plf_values))

        yield write


@dataclass(frozen=True)
class Conversion:
    """Options of a conversion: how many derivations (or distinct translations) to keep, the best by these weights."""

    size: int | None = None
    distinct: bool = False
    weights: Mapping[str, float] | None = None
    plf_values: Values = "probabilities"


def convert(source: str | Path, source_format: str, target: str | Path, target_format: str, how: Conversion) -> int:
    """Convert a file, and return the number of segments.

    N-best lists are copied to another format for lists, unless weights are given to rank them. A forest becomes a list
    of its best 100 derivations if no number is given; with a number, it is cut down to that many.
    """
    segments = 0

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        nonlocal segments
        for item in items:
            segments += 1
            yield item

    if {source_format, target_format} <= LISTS and how.weights is None and not how.distinct:
        lists = read_lists(source, source_format)
        write_lists(counted(NBestList(some.segment, some.entries[: how.size]) for some in lists), target, target_format)
    else:
        forests = read_forests(source, source_format, plf_values=how.plf_values)
        write_segments(counted(forests), target, target_format, how)
    return segments


def write_segments(forests: Iterable[SegmentForest], path: str | Path, form: str, how: Conversion) -> None:
    """Write forests in any format, as lists too. `path` may end with `/` for one file for each segment."""
    if form in LISTS:
        write_lists(_best(forests, how), path, form)
        return
    with forest_writer(path, form, plf_values=how.plf_values) as write:
        for found in forests:
            write(found.forest if how.size is None else _cut(found, how))


def _best(forests: Iterable[SegmentForest], how: Conversion) -> Iterator[NBestList]:
    size = DEFAULT_SIZE if how.size is None else how.size
    arbitrary = False
    for found in forests:
        if how.weights is None and found.weights is None and found.forest.base is None and not arbitrary:
            log.warning("no weights: all derivations score 0, and which of them are kept is arbitrary")
            arbitrary = True
        yield from_forest(found.forest, score_with(found, how.weights), size, found.segment, distinct=how.distinct)


def _cut(found: SegmentForest, how: Conversion) -> Forest:
    """Return a forest of one node: the best derivations, with their features and base scores."""
    forest = found.forest
    derivations = islice(k_best(forest, score_with(found, how.weights), distinct=how.distinct), how.size)
    entries = [ListEntry(one.words, one.features, one.base) for one in derivations]
    return from_nbest(entries, forest.feature_names, forest.vocabulary)
