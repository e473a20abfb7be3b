"""Where `toledo translate` puts what it found: all files of one run, each whole or not there at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, require_output, require_output_directory
from toledo.forest.constructors import from_lattice
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.pruning import prune_to_density
from toledo.forest.saving import DESCRIPTION
from toledo.formats import plf
from toledo.formats.forest_files import MARKER, WriteForest, forest_writer, guess_output_format
from toledo.formats.hypotheses import Entry, NBestList, nbest_list, phrase_spans
from toledo.formats.jsonl import jsonl_writer
from toledo.formats.nbest import links_text, marked_text, nbest_writer
from toledo.model import Model
from toledo.reports.scores import trace
from toledo.search.steps import word_links
from toledo.translation import TranslatedLine

SEGMENTS_AT_ONCE = 4

Write = Callable[[int, Sequence[TranslatedLine]], None]


@dataclass(frozen=True)
class Wanted:
    """What to write and where to."""

    output: str = STANDARD_STREAM
    n_best: Path | None = None
    n_best_size: int = 100
    distinct: bool = False
    n_best_alignments: bool = False
    segmentation: bool = False
    alignments: Path | None = None
    forest: Path | None = None
    lattice: str | None = None
    search_graph: str | None = None
    density: float | None = None
    plf_values: plf.Values = "probabilities"
    trace: str | None = None
    forced: bool = False
    decided: bool = False

    @property
    def forests(self) -> bool:
        """Whether the best translations alone are not enough."""
        return any(one is not None for one in (self.n_best, self.forest, self.lattice, self.search_graph, self.trace))

    @property
    def n_best_phrases(self) -> bool:
        """Whether n-best lists have the phrases of their entries."""
        return self.n_best is not None and (self.n_best_alignments or self.segmentation or is_json(self.n_best))

    def check(self) -> None:
        """Refuse what cannot be written, before any work is done for it."""
        self._require_different()
        for path in (self.output, self.n_best, self.alignments, self.trace):
            if path is not None:
                require_output(path)
        if self.forest is not None:
            require_output_directory(self.forest, DESCRIPTION)
        for graph in (self.lattice, self.search_graph):
            if graph is not None and graph.endswith("/"):
                require_output_directory(graph, MARKER)
            elif graph is not None:
                require_output(graph)
        if self.lattice is not None:
            lattice_format(self.lattice)
        if self.density is not None and not (self.forest or self.lattice or self.search_graph):
            raise InputError(
                "--density prunes forests and lattices, and none are written",
                remedy="name one, such as --forest DIR; for the choice say --decide-density",
            )
        if self.decided and (self.alignments or self.segmentation):
            raise InputError(
                "a rule chooses a text, which has no phrases", remedy="leave out --alignments and --segmentation"
            )
        if self.forced and self.segmentation and self.n_best is None:
            raise InputError("--force writes scores, not text", remedy="ask for --n-best FILE to see the phrases")

    def require_no_phrases(self) -> None:
        """Refuse what lists of samples cannot have: these are whole derivations."""
        if self.trace or self.n_best_phrases:
            raise InputError(
                "lists of samples do not know the phrases of their derivations",
                remedy="leave out --trace, --n-best-alignments and JSON lists, or use another --search",
            )

    def _require_different(self) -> None:
        outputs = (self.output, self.n_best, self.alignments, self.forest, self.lattice, self.search_graph)
        traces = () if self.trace in (None, STANDARD_STREAM) else (self.trace,)  # that one is standard error
        names = [str(path) for path in (*outputs, *traces) if path is not None]
        places = [name if name == STANDARD_STREAM else os.path.realpath(name) for name in names]
        if twice := next((name for name, place in zip(names, places, strict=True) if places.count(place) > 1), None):
            what = "standard output" if twice == STANDARD_STREAM else twice
            raise InputError(f"two results would go to {what}", remedy="name another file for one of them")


def is_json(path: Path) -> bool:
    """Whether lists of this name are JSON."""
    return path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))


def lattice_format(path: str) -> str:
    """PLF or SLF, by the name."""
    form = "slf" if path.endswith("/") else guess_output_format(path)
    if form not in ("plf", "slf"):
        raise InputError("is not a name for lattices", file=path, remedy="name it .plf, .slf, or DIR/")
    return form


@contextmanager
def opened(wanted: Wanted, model: Model, threads: int | None) -> Iterator[Write]:
    """Takes blocks of what was found, with the number of their first segment. An error or Ctrl-C leaves no file."""
    with ExitStack() as stack:
        writers = list(_writers(stack, wanted, model, threads))

        def write(first: int, block: Sequence[TranslatedLine]) -> None:
            for one in writers:
                one(first, block)

        yield write


def _writers(stack: ExitStack, wanted: Wanted, model: Model, threads: int | None) -> Iterator[Write]:
    yield _text(stack, wanted)
    if wanted.alignments is not None:
        yield _alignments(stack, wanted.alignments, model)
    if wanted.n_best is not None:
        yield _lists(stack, wanted, wanted.n_best, model, threads)
    graphs = []
    if wanted.forest is not None:
        graphs.append(stack.enter_context(forest_writer(wanted.forest, "toledo")))
    if wanted.search_graph is not None:
        graphs.append(stack.enter_context(forest_writer(wanted.search_graph, "hypergraph")))
    if wanted.lattice is not None:
        form = lattice_format(wanted.lattice)
        write = stack.enter_context(forest_writer(wanted.lattice, form, plf_values=wanted.plf_values))
        graphs.append(_with_empty_ones(write))
    if graphs:
        yield _graphs(graphs, wanted.density, model)
    if wanted.trace is not None:
        yield _traces(stack, wanted.trace, model)


def _text(stack: ExitStack, wanted: Wanted) -> Write:
    stream = stack.enter_context(atomic_writer(wanted.output))
    marked = wanted.segmentation and not wanted.forced

    def write(_: int, block: Sequence[TranslatedLine]) -> None:
        for found in block:
            entry = Entry([word for step in found.steps for word in step.words], phrases=phrase_spans(found.steps))
            stream.write((marked_text(entry) if marked else found.line) + "\n")
        stream.flush()  # somebody may wait for it

    return write


def _alignments(stack: ExitStack, path: Path, model: Model) -> Write:
    stream = stack.enter_context(atomic_writer(path))

    def write(_: int, block: Sequence[TranslatedLine]) -> None:
        stream.writelines(links_text(word_links(model.table, found.steps)) + "\n" for found in block)

    return write


def _lists(stack: ExitStack, wanted: Wanted, path: Path, model: Model, threads: int | None) -> Write:
    as_json = is_json(path)
    add = stack.enter_context(jsonl_writer(path) if as_json else nbest_writer(path, marked=wanted.segmentation))
    table = model.table if as_json or wanted.n_best_alignments or wanted.segmentation else None

    def write(first: int, block: Sequence[TranslatedLine]) -> None:
        def work(begin: int, end: int) -> list[NBestList]:
            return [
                nbest_list(
                    forest, model.weights, wanted.n_best_size, first + place, distinct=wanted.distinct, table=table
                )
                for place in range(begin, end)
                if (forest := block[place].forest) is not None
            ]

        for part in map_chunks(work, len(block), chunk=SEGMENTS_AT_ONCE, threads=threads):
            for some in part:
                add(some)

    return write


def _graphs(graphs: Sequence[WriteForest], density: float | None, model: Model) -> Write:
    def write(_: int, block: Sequence[TranslatedLine]) -> None:
        for found in block:
            if found.forest is not None:
                forest = found.forest
                if density is not None and forest.edges:
                    forest = prune_to_density(forest, forest.scores(model.weights), density)
                for one in graphs:
                    one(forest)

    return write


def _with_empty_ones(write: WriteForest) -> WriteForest:
    """Formats for lattices cannot say that there is no translation: an empty one stands for it."""

    def write_any(forest: Forest) -> None:
        write(forest if forest.edges else from_lattice([], 0, [0], forest.feature_names, forest.vocabulary))

    return write_any


def _traces(stack: ExitStack, path: str, model: Model) -> Write:
    stream = sys.stderr if path == STANDARD_STREAM else stack.enter_context(atomic_writer(path))

    def write(first: int, block: Sequence[TranslatedLine]) -> None:
        for number, found in enumerate(block, start=first):
            if found.forest is not None:
                (best,) = viterbi(found.forest, found.forest.scores(model.weights))
                stream.write(trace(number, found.source, best, model.weights, found.counts) + "\n")
        stream.flush()

    return write
