"""Forests from and to files of any format that Toledo knows, segment by segment.

N-best lists become forests of one node. What a file says about scores (model scores of hypotheses, scales in the
header of an SLF lattice) goes along as weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, read_lines
from toledo.forest import Forest, ForestBuilder, load_forest, split
from toledo.forest.saving import DESCRIPTION
from toledo.forest.structure import Scores
from toledo.formats import plf
from toledo.formats.features import dense_names
from toledo.formats.forest_writing import forest_writer
from toledo.formats.hypergraph import read_hypergraphs
from toledo.formats.hypotheses import NBestList, to_forest
from toledo.formats.jsonl import read_jsonl, write_jsonl
from toledo.formats.nbest import read_nbest, write_nbest
from toledo.formats.numbered import fill_gaps, numbered_files
from toledo.formats.plf import read_plf
from toledo.formats.slf import read_slf
from toledo.vocabulary import Vocabulary

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


def guess_format(path: str | Path) -> Format:
    """The format of a file that exists: by its name, or else by its first line."""
    if str(path) == STANDARD_STREAM:
        raise InputError("the format of standard input is not known", remedy=f"say --from: {', '.join(FORMATS)}")
    if Path(path).is_dir():
        if (Path(path) / DESCRIPTION).exists():
            return "toledo"
        return guess_format(numbered_files(path)[0][1])
    return _by_name(path) or _by_first_line(path)


def guess_output_format(path: str | Path) -> Format:
    """The format to write: by the name of the file; a directory if the name has no ending."""
    found = None if str(path) == STANDARD_STREAM else _by_name(path)
    if found:
        return found
    if str(path) != STANDARD_STREAM and not Path(path).suffix and not str(path).endswith("/"):
        return "toledo"
    raise InputError("the format to write is not known", file=path, remedy=f"say --to: {', '.join(FORMATS)}")


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
    raise InputError("the format is not known", file=path, remedy=f"say --from: {', '.join(FORMATS)}")


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
