"""Forests from and to files of any format that Toledo knows, segment by segment.

N-best lists become forests of one node. What a file says about scores (model scores of hypotheses, scales in the
header of an SLF lattice) goes along as weights.

Forests to files of any format, one segment after the other.

From one format of forests or n-best lists to another.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar, get_args

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_directory, atomic_writer, read_lines
from toledo.forest.assemble import join, split
from toledo.forest.constructors import ForestBuilder, ListEntry, from_nbest
from toledo.forest.forest import Forest, Scores
from toledo.forest.kbest import k_best
from toledo.forest.saving import DESCRIPTION, load_forest, save_forest
from toledo.formats import plf
from toledo.formats.fields import dense_names, fill_gaps, numbered_files
from toledo.formats.hypergraph import hypergraph_text, read_hypergraphs
from toledo.formats.hypotheses import NBestList, from_forest, to_forest
from toledo.formats.jsonl import read_jsonl, write_jsonl
from toledo.formats.nbest import read_nbest, write_nbest
from toledo.formats.plf import Values, plf_text, read_plf
from toledo.formats.slf import read_slf, slf_text
from toledo.settings import unknown_name
from toledo.text.vocabulary import Vocabulary

MARKER = "0.gz"

WriteForest = Callable[[Forest], None]


@contextmanager
def forest_writer(path: str | Path, form: str, *, plf_values: plf.Values = "probabilities") -> Iterator[WriteForest]:
    """Takes one forest after the other. `path` may end with `/` for one file for each segment (SLF, hypergraph).

    Toledo's own directories hold all forests together, so they are written at the end.
    """
    if form == "toledo":
        forests: list[Forest] = []
        yield forests.append
        if not forests:
            raise InputError("nothing to write: there are no segments", remedy="look at the input")
        save_forest(join(forests), path)
    elif form != "plf" and str(path).endswith("/"):
        with atomic_directory(path, MARKER) as directory:
            yield _files(directory, form)
    else:
        with atomic_writer(path) as stream:
            text = _texts(form, plf_values)
            yield lambda forest: _ignore(stream.write(text(forest)))


def _texts(form: str, plf_values: plf.Values) -> Callable[[Forest], str]:
    """What writes the text of each forest in turn."""
    if form == "plf":
        return lambda forest: plf_text(forest, plf_values)
    if form == "hypergraph":
        return hypergraph_text
    number = -1

    def slf(forest: Forest) -> str:
        nonlocal number
        number += 1
        return slf_text(forest, number)

    return slf


def _files(directory: Path, form: str) -> WriteForest:
    text, number = _texts(form, "probabilities"), -1

    def write(forest: Forest) -> None:
        nonlocal number
        number += 1
        with atomic_writer(directory / f"{number}.gz") as stream:
            stream.write(text(forest))

    return write


def _ignore(_: object) -> None:
    return None


Format = Literal["nbest", "cdec", "jsonl", "plf", "slf", "hypergraph", "toledo"]

FORMATS: tuple[Format, ...] = get_args(Format)
LISTS = {"nbest", "cdec", "jsonl"}
NAMES: dict[Format, str] = {
    "jsonl": r"\.(jsonl|ndjson)$", "plf": r"\.plf$", "slf": r"\.(slf|lat)$", "hypergraph": r"\.(hg|hypergraph)$",
    "cdec": r"\.cdec$", "nbest": r"best",
}  # fmt: skip
FIRST_LINES: dict[Format, str] = {
    "hypergraph": re.escape("# target |||"), "jsonl": r"\s*\{", "plf": r"\s*\(", "nbest": r"\s*\d+ \|\|\|",
    "slf": r"(#.*|\w+=.*)$",
}  # fmt: skip


@dataclass(frozen=True)
class SegmentForest:
    """A segment's forest, and the weights that its file implies: None if the file says nothing about scores."""

    segment: int
    forest: Forest
    weights: Mapping[str, float] | None = None


def named_format(name: str) -> Format:
    """Return a format by its name."""
    if name not in FORMATS:
        raise unknown_name("format", name, list(FORMATS))
    return FORMATS[FORMATS.index(name)]


def guess_format(path: str | Path) -> Format:
    """Return the format of a file that exists: by its name, or else by its first line."""
    if str(path) == STANDARD_STREAM:
        raise InputError("the format of standard input is not known", remedy=f"name the format: {', '.join(FORMATS)}")
    if Path(path).is_dir():
        if (Path(path) / DESCRIPTION).exists():
            return "toledo"
        return guess_format(numbered_files(path)[0][1])
    return _by_name(path) or _by_first_line(path)


def guess_output_format(path: str | Path) -> Format:
    """Return the format to write: by the name of the file; a directory if the name has no ending."""
    found = None if str(path) == STANDARD_STREAM else _by_name(path)
    if found:
        return found
    if str(path) != STANDARD_STREAM and not Path(path).suffix and not str(path).endswith("/"):
        return "toledo"
    raise InputError("the format to write is not known", file=path, remedy=f"name the format: {', '.join(FORMATS)}")


def read_lists(path: str | Path, form: Format) -> Iterator[NBestList]:
    """The n-best lists of a file in one of the formats for lists."""
    return read_jsonl(path) if form == "jsonl" else read_nbest(path)


def write_lists(lists: Iterable[NBestList], path: str | Path, form: Format) -> None:
    """Write n-best lists."""
    if form == "jsonl":
        write_jsonl(lists, path)
    else:
        write_nbest(lists, path, "cdec" if form == "cdec" else "moses")


def score_with(found: SegmentForest, weights: Mapping[str, float] | None) -> Scores:
    """Scores of edges by the weights given, or else by what the file says, or else by base scores alone."""
    chosen = found.weights if weights is None else weights
    if chosen is None:
        chosen = dict.fromkeys(found.forest.feature_names, 0.0)
    return found.forest.scores(chosen)


def read_forests(
    path: str | Path, form: Format, *, model_scores: bool = False, plf_values: plf.Values = "probabilities"
) -> Iterator[SegmentForest]:
    """The forests of a file, segment by segment from 0; all share a vocabulary and the names of dense features.

    With `model_scores`, n-best lists are scored by the scores of the file where it has them, not by features.
    """
    vocabulary = Vocabulary()
    if form in LISTS:
        yield from _list_forests(read_lists(path, form), vocabulary, model_scores)
    elif form == "toledo":
        for segment, (forest, _, _) in enumerate(split(load_forest(path))):
            yield SegmentForest(segment, forest)
    elif form == "plf":
        for segment, forest in enumerate(read_plf(path, vocabulary, None, plf_values)):
            yield SegmentForest(segment, forest)
    elif Path(path).is_dir():
        yield from _from_directory(path, form, vocabulary)
    else:
        yield from _graphs(path, form, vocabulary, None, 0)


def write_forests(
    forests: Iterable[Forest], path: str | Path, form: Format, *, plf_values: plf.Values = "probabilities"
) -> None:
    """Write forests of segments, not n-best lists. `path` may end with `/` for one file for each segment."""
    with forest_writer(path, form, plf_values=plf_values) as write:
        for forest in forests:
            write(forest)


def _by_name(path: str | Path) -> Format | None:
    name = Path(path).name.removesuffix(".gz")
    return next((form for form, pattern in NAMES.items() if re.search(pattern, name)), None)


def _by_first_line(path: str | Path) -> Format:
    first = next(iter(read_lines(path)), "")
    for form, pattern in FIRST_LINES.items():
        if re.match(pattern, first):
            return form
    raise InputError("the format is not known", file=path, remedy=f"name the format: {', '.join(FORMATS)}")


def _list_forests(lists: Iterable[NBestList], vocabulary: Vocabulary, model_scores: bool) -> Iterator[SegmentForest]:
    """Dense features are those of the first list that has hypotheses. Without any, model scores are all there is."""
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
    scored = bool(some.entries) and all(entry.score is not None for entry in some.entries)
    wanted = model_scores or not (names or any(entry.features for entry in some.entries))
    use_scores = scored and wanted
    forest = to_forest(some.entries, names, vocabulary, use_scores=use_scores)
    return SegmentForest(some.segment, forest, {} if use_scores else None)


def _graphs(
    path: str | Path, form: Format, vocabulary: Vocabulary, names: tuple[str, ...] | None, first: int
) -> Iterator[SegmentForest]:
    if form == "slf":
        for segment, lattice in enumerate(read_slf(path, vocabulary, names), start=first):
            yield SegmentForest(segment, lattice.forest, lattice.weights or None)
    else:
        for segment, forest in enumerate(read_hypergraphs(path, vocabulary, names), start=first):
            yield SegmentForest(segment, forest)


def _from_directory(path: str | Path, form: Format, vocabulary: Vocabulary) -> Iterator[SegmentForest]:
    """One file for each segment, named by number, as Moses writes them."""
    names: tuple[str, ...] | None = None

    def numbered() -> Iterator[tuple[int, SegmentForest]]:
        nonlocal names
        for number, file in numbered_files(path):
            found = list(_graphs(file, form, vocabulary, names, number))
            if len(found) != 1:
                raise InputError(f"{len(found)} graphs", file=file, remedy="a file named by segment holds one graph")
            names = found[0].forest.feature_names
            yield number, found[0]

    def empty(segment: int) -> SegmentForest:
        builder = ForestBuilder(vocabulary, names or ())
        return SegmentForest(segment, builder.build(builder.node()))

    return fill_gaps(numbered(), empty, path)


Item = TypeVar("Item")

log = logging.getLogger(__name__)

DEFAULT_SIZE = 100


@dataclass(frozen=True)
class Conversion:
    """What to do on the way: keep only so many derivations (or distinct translations), the best by these weights."""

    size: int | None = None
    distinct: bool = False
    weights: Mapping[str, float] | None = None
    plf_values: Values = "probabilities"


def convert(
    source: str | Path, source_format: Format, target: str | Path, target_format: Format, how: Conversion
) -> int:
    """Convert a file; gives the number of segments.

    N-best lists stay what they are on the way to another format for lists, unless weights are to choose anew. A forest
    becomes a list of its best 100 derivations if no number is given; with a number, it is cut down to that many.
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
        return segments
    forests = read_forests(source, source_format, plf_values=how.plf_values)
    write_segments(counted(forests), target, target_format, how)
    return segments


def write_segments(forests: Iterable[SegmentForest], path: str | Path, form: Format, how: Conversion) -> None:
    """Write forests in any format, lists among them."""
    if form in LISTS:
        write_lists(_best(forests, how), path, form)
    else:
        kept = (found.forest for found in forests) if how.size is None else _cut(forests, how)
        write_forests(kept, path, form, plf_values=how.plf_values)


def _best(forests: Iterable[SegmentForest], how: Conversion) -> Iterator[NBestList]:
    size = DEFAULT_SIZE if how.size is None else how.size
    arbitrary = False
    for found in forests:
        if how.weights is None and found.weights is None and found.forest.base is None and not arbitrary:
            log.warning("no weights: all derivations score 0, and which of them are kept is arbitrary")
            arbitrary = True
        yield from_forest(found.forest, score_with(found, how.weights), size, found.segment, distinct=how.distinct)


def _cut(forests: Iterable[SegmentForest], how: Conversion) -> Iterator[Forest]:
    """Forests of one node: the best derivations, with their features and what base scores come to."""
    for found in forests:
        forest = found.forest
        derivations = islice(k_best(forest, score_with(found, how.weights), distinct=how.distinct), how.size)
        entries = [ListEntry(one.words, one.features, one.base) for one in derivations]
        yield from_nbest(entries, forest.feature_names, forest.vocabulary)
