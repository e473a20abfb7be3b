"""Translate a file block by block, and write what was found: each file appears whole or not at all."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from toledo.api.model import Decoding, Model
from toledo.compiled.kernels import map_chunks
from toledo.consensus.choice import json_line
from toledo.errors import InputError
from toledo.files import (
    STANDARD_STREAM,
    atomic_writer,
    read_lines,
    require_different,
    require_output,
    require_output_directory,
)
from toledo.forest.assemble import prune_to_density
from toledo.forest.constructors import from_lattice
from toledo.forest.forest import DESCRIPTION, Forest
from toledo.formats.forest_files import MARKER, WriteForest, forest_writer, guess_output_format
from toledo.formats.hypotheses import Entry, NBestList, nbest_list, phrase_spans
from toledo.formats.jsonl import jsonl_lines
from toledo.formats.nbest import links_text, marked_text, nbest_lines
from toledo.formats.settings import TranslationFiles
from toledo.search.gibbs.diagnostics import Diagnostics
from toledo.search.settings import SEARCHES, Gibbs
from toledo.search.steps import word_links
from toledo.settings import refuse_unused
from toledo.text.rare_words import given_links
from toledo.translation import ForcedTranslator, Speed, TranslatedLine, Translator

log = logging.getLogger(__name__)

SEGMENTS_AT_ONCE = 4
DEFAULT_SIZE = 100  # of n-best lists

Write = Callable[[int, Sequence[TranslatedLine]], None]


def translate_file(
    model: Model,
    source: str,
    output: str = STANDARD_STREAM,
    *,
    files: TranslationFiles,
    decoding: Decoding,
    score_target: str | None = None,
    as_json: bool = False,
) -> list[Diagnostics]:
    """Translate the lines of a file as they come; return what a sampler has noted about its chains.

    With `score_target`, a file of translations, these are scored instead. `as_json` writes everything that is known of
    a translation.
    """
    _check(files, output, sampled=isinstance(SEARCHES.make(decoding.search), Gibbs))
    if score_target is not None:
        _check_scoring(files, decoding)
        made = model.translator(Decoding("viterbi", weights=decoding.weights, tokenized=decoding.tokenized))
        given = read_lines(score_target)
        translator: Translator = ForcedTranslator(
            made.search, given, name=score_target, text=made.text, threads=decoding.threads, progress=decoding.progress
        )
    else:
        complete = files.write_diagnostics is not None
        translator = model.translator(decoding, forests=files.forests or as_json, complete=complete)
    if translator.rule is not None and (files.write_alignment or files.mark_phrases):
        raise InputError(
            "a rule chooses a text, which has no phrases",
            remedy="leave out `write_alignment` and `mark_phrases`, or give `rule=viterbi`",
        )
    speed, lines, words = Speed(), 0, 0
    with ExitStack() as stack:
        writers = list(_Writers(stack, files, translator).all(output, as_json))
        for block in translator.blocks(source):
            for write in writers:
                write(lines, block)
            lines += len(block)
            words += sum(len(found.source) for found in block)
    rate = speed.report(lines, words)
    translator.report()
    log.info("%s", rate)
    return translator.diagnostics


def _check(files: TranslationFiles, output: str, *, sampled: bool) -> None:
    """Refuse what cannot be written or would be ignored, before any work is done for it."""
    single = (output, files.write_nbest, files.write_alignment, files.write_diagnostics)
    graphs = (files.write_forest, files.write_lattice, files.write_search_graph)
    trace = None if files.write_trace == STANDARD_STREAM else files.write_trace  # that one is standard error
    require_different(*single, trace, *graphs)
    for path in (*single, trace):
        if path is not None:
            require_output(path)
    if files.write_forest is not None:
        require_output_directory(files.write_forest, DESCRIPTION)
    for graph in (files.write_lattice, files.write_search_graph):
        if graph is not None and graph.endswith("/"):
            require_output_directory(graph, MARKER)
        elif graph is not None:
            require_output(graph)
    if files.write_nbest is None:
        refuse_unused(files, "without `write_nbest` there are no lists", "nbest", "distinct", "nbest_alignments")
    if files.write_lattice is None or _lattice_format(files.write_lattice) != "plf":
        refuse_unused(files, "`write_lattice` names no PLF file", "plf_values")
    if not any(graphs):
        refuse_unused(files, "no forests or lattices are written", "density")
    if not sampled:
        refuse_unused(files, "only for `search=gibbs`", "write_diagnostics")
    if files.write_diagnostics is not None and Path(files.write_diagnostics).suffix not in (".json", ".html"):
        raise InputError("not a name for diagnostics", file=files.write_diagnostics, remedy="name it .json or .html")
    if sampled and (files.write_trace or _with_phrases(files)):
        raise InputError(
            "lists of samples do not know the phrases of their derivations",
            remedy="leave out `write_trace`, `nbest_alignments` and JSON lists, or use another `search`",
        )


def _check_scoring(files: TranslationFiles, decoding: Decoding) -> None:
    if decoding.search != "beam":
        raise InputError("`score_target` follows the rules of beam search", remedy="leave out `search`")
    if (decoding.rule, decoding.metric, decoding.scale) != (None, None, None):
        raise InputError("`score_target` scores translations, `rule` chooses them", remedy="choose one of them")
    if files.mark_phrases and files.write_nbest is None:
        raise InputError("`score_target` writes scores, not text", remedy="give `write_nbest` to see the phrases")


def _is_json(path: str) -> bool:
    return path.removesuffix(".gz").endswith((".jsonl", ".ndjson"))


def _with_phrases(files: TranslationFiles) -> bool:
    """Return whether n-best lists have the phrases of their entries."""
    path = files.write_nbest
    return path is not None and (files.nbest_alignments or files.mark_phrases or _is_json(path))


def _lattice_format(path: str) -> str:
    form = "slf" if path.endswith("/") else guess_output_format(path)
    if form not in ("plf", "slf"):
        raise InputError("not a name for lattices", file=path, remedy="name it .plf, .slf, or DIR/")
    return form


@dataclass(frozen=True)
class _Writers:
    """Functions that take blocks of what was found, with the number of their first segment."""

    stack: ExitStack
    files: TranslationFiles
    translator: Translator

    def all(self, output: str, as_json: bool) -> Iterator[Write]:
        """Yield a function for each file."""
        files, enter = self.files, self.stack.enter_context
        yield self._text(output, as_json)
        if files.write_alignment is not None:
            yield self._alignments(files.write_alignment)
        if files.write_nbest is not None:
            yield self._lists(files.write_nbest)
        graphs = []
        if files.write_forest is not None:
            graphs.append(enter(forest_writer(files.write_forest, "toledo")))
        if files.write_search_graph is not None:
            graphs.append(enter(forest_writer(files.write_search_graph, "hypergraph")))
        if files.write_lattice is not None:
            values = files.plf_values or "probabilities"
            form = _lattice_format(files.write_lattice)
            graphs.append(_with_empty_ones(enter(forest_writer(files.write_lattice, form, plf_values=values))))
        if graphs:
            yield self._graphs(graphs)
        if files.write_trace is not None:
            yield self._traces(files.write_trace)

    def _text(self, path: str, as_json: bool) -> Write:
        stream = self.stack.enter_context(atomic_writer(path))
        marked = self.files.mark_phrases and not isinstance(self.translator, ForcedTranslator)
        translator = self.translator

        def line(found: TranslatedLine, segment: int) -> str:
            if as_json:
                if isinstance(translator, ForcedTranslator):  # whose line is the score
                    found = replace(found, line=" ".join(word for step in found.steps for word in step.words))
                return json_line(translator.result(found, segment))
            if not marked:
                return f"{found.line}\n"
            words = [word for step in found.steps for word in step.words]
            return marked_text(Entry(words, phrases=phrase_spans(found.steps, found.source))) + "\n"

        def write(first: int, block: Sequence[TranslatedLine]) -> None:
            stream.writelines(line(found, segment) for segment, found in enumerate(block, start=first))
            stream.flush()  # a reader may be waiting

        return write

    def _alignments(self, path: str) -> Write:
        stream, table = self.stack.enter_context(atomic_writer(path)), self.translator.model.table

        def write(_: int, block: Sequence[TranslatedLine]) -> None:
            links = (given_links(found.source, word_links(table, found.steps)) for found in block)
            stream.writelines(links_text(one) + "\n" for one in links)

        return write

    def _lists(self, path: str) -> Write:
        files, model = self.files, self.translator.model
        lines = jsonl_lines if _is_json(path) else nbest_lines(marked=files.mark_phrases)
        stream = self.stack.enter_context(atomic_writer(path))
        table = model.table if _with_phrases(files) else None
        size, distinct = files.nbest or DEFAULT_SIZE, files.distinct

        def write(first: int, block: Sequence[TranslatedLine]) -> None:
            def work(begin: int, end: int) -> list[NBestList]:
                kept = [(place, found, found.forest) for place, found in enumerate(block[begin:end], first + begin)]
                return [
                    nbest_list(forest, model.weights, size, place, distinct=distinct, table=table, source=found.source)
                    for place, found, forest in kept
                    if forest is not None
                ]

            for part in map_chunks(work, len(block), chunk=SEGMENTS_AT_ONCE, threads=self.translator.threads):
                stream.writelines(f"{line}\n" for some in part for line in lines(some))

        return write

    def _graphs(self, graphs: Sequence[WriteForest]) -> Write:
        density, weights = self.files.density, self.translator.model.weights

        def write(_: int, block: Sequence[TranslatedLine]) -> None:
            for found in block:
                if (forest := found.forest) is not None:
                    if density is not None and forest.edges:
                        forest = prune_to_density(forest, forest.scores(weights), density)
                    for one in graphs:
                        one(forest)

        return write

    def _traces(self, path: str) -> Write:
        stream = sys.stderr if path == STANDARD_STREAM else self.stack.enter_context(atomic_writer(path))
        weights = self.translator.model.weights

        def write(first: int, block: Sequence[TranslatedLine]) -> None:
            for segment, found in enumerate(block, start=first):
                stream.write(f"{found.trace(segment, weights)}\n\n")
            stream.flush()

        return write


def _with_empty_ones(write: WriteForest) -> WriteForest:
    """Return a writer that writes an empty lattice where there is no translation, which formats cannot express."""

    def write_any(forest: Forest) -> None:
        write(forest if forest.edges else from_lattice([], 0, [0], forest.feature_names, forest.vocabulary))

    return write_any
