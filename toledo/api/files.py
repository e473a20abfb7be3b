"""Read and write lists, forests and documents; write models for Moses."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from toledo.api.inputs import Sample, Texts, read_list_files, read_rows, read_texts
from toledo.consensus.choosing import as_hypotheses
from toledo.errors import InputError
from toledo.files import require_output, require_output_directory, write_lines
from toledo.forest.forest import Forest
from toledo.formats import forest_files, moses_model
from toledo.formats.documents import DocumentText, write_translations
from toledo.formats.forest_files import Conversion, SegmentForest
from toledo.formats.hypotheses import Entry, NBestList
from toledo.formats.list_files import ListFiles
from toledo.formats.moses_table import write_phrase_table, write_reordering_table
from toledo.formats.plf import Values
from toledo.formats.records import Reading, as_fields
from toledo.language_model.arpa import write_arpa
from toledo.model import PhraseModel
from toledo.phrases.pruning import filter_for
from toledo.phrases.several import part_of, without_repetition
from toledo.progress import Progress, silent
from toledo.results import Hypothesis, SampleList
from toledo.text.corpus import encode_texts
from toledo.text.vocabulary import split_words

log = logging.getLogger(__name__)


def read_lists(
    path: str | Path | Iterable[Any],
    *,
    format: str | None = None,  # noqa: A002
    num_samples: int | None = None,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    requests: str | Path | None = None,
    strict: bool = False,
) -> list[SampleList]:
    """Read the samples of each segment from a file or a table, with ids and other keys; `format` may be guessed.

    Plain text has `num_samples` lines for each segment. `fields` names the keys or columns of `text` (several for
    several systems), `score`, `logprob` and `id`, if they are unusual, and each `feature`. Segments are put in the
    order of the ids in `requests`, the file of a batch. Samples that failed are left out with a warning, or refused if
    `strict`.
    """
    how = ListFiles(format, num_samples, Reading(as_fields(fields), strict), requests)
    return list(read_list_files([path], how) if isinstance(path, str | PathLike) else read_rows(path, how.reading))


def write_lists(path: str | Path, lists: Iterable[Sequence[Sample]], *, format: str | None = None) -> None:  # noqa: A002
    """Write the samples of each segment; by default the name of the file says the format, as for `read_lists`."""
    found = (as_hypotheses(samples, f"lists[{segment}]") for segment, samples in enumerate(lists))
    if format == "text":
        write_lines(path, (one.text for samples in found for one in samples))
        return
    form = forest_files.guess_output_format(path) if format is None else forest_files.named_format(format)
    if form not in forest_files.WRITTEN_LISTS:
        raise InputError(
            f"format {form} is not one of lists", argument="format", remedy="use nbest, cdec, jsonl or text"
        )
    entries = (NBestList(segment, tuple(map(_entry, samples))) for segment, samples in enumerate(found))
    forest_files.write_lists(entries, path, form)


def _entry(one: Hypothesis) -> Entry:
    score = one.logprob if one.score is None else one.score
    links = tuple(one.alignment or ())
    return Entry(split_words(one.text), one.features, score=score, links=links, system=one.system, raw_text=one.text)


def read_forests(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    plf_values: Values = "probabilities",
) -> list[Forest]:
    """Read forests, lattices or lists, one forest for each segment.

    `format` is one of nbest, cdec, jsonl, plf, slf, hypergraph and toledo; by default it is guessed.
    """
    form = forest_files.guess_format(path) if format is None else forest_files.named_format(format)
    return [found.forest for found in forest_files.read_forests(path, form, plf_values=plf_values)]


def write_forests(
    path: str | Path,
    forests: Iterable[Forest],
    *,
    format: str | None = None,  # noqa: A002
    nbest: int | None = None,
    weights: Mapping[str, float] | None = None,
) -> None:
    """Write forests, or lists of the `nbest` best derivations by `weights`; the name of the file says the format."""
    form = forest_files.guess_output_format(path) if format is None else forest_files.named_format(format)
    found = (SegmentForest(segment, forest) for segment, forest in enumerate(forests))
    forest_files.write_segments(found, path, form, Conversion(nbest, weights=weights))


def write_documents(
    path: str | Path, documents: DocumentText, translations: Sequence[Sequence[str]] | None = None
) -> None:
    """Write documents, or their translations: XML into a file named .xml or .sgm, else one segment per line."""
    if translations is not None:
        write_translations(path, documents, translations)
        return
    texts = [[" ".join(segment.words) for segment in document.segments] for document in documents.documents]
    write_translations(path, documents, texts, kind="source")


def export_moses(
    model: str | Path | PhraseModel,
    output: str | Path | None = None,
    *,
    phrase_table: str | Path | None = None,
    reordering_table: str | Path | None = None,
    language_model: str | Path | None = None,
    filter: Texts | None = None,  # noqa: A002
    progress: Progress = silent,
) -> None:
    """Write a model in Moses' formats: as the directory `output` with moses.ini, or single

    With `filter`, only phrase pairs whose source phrase occurs in these texts are written.
    """
    files = [path for path in (phrase_table, reordering_table, language_model) if path is not None]
    if output is None and not files:
        raise InputError("nothing to export", remedy="give `output`, or name a file to write")
    if output is not None:
        require_output_directory(output, moses_model.INI)
    for path in files:
        require_output(path)
    loaded = model if isinstance(model, PhraseModel) else PhraseModel.load(model)
    if loaded.preparation.source.rare is not None:
        log.warning("the model rewrites rare words, and other programs do not: give them `model.words(text)`")
    if language_model is not None and not loaded.language_models:
        raise InputError("the model has no language model", remedy="export something else")
    if filter is not None:
        given = filter
        if loaded.preparation.raw or loaded.preparation.source.rare is not None:
            given = [" ".join(loaded.preparation.source.words(text)) for text in read_texts(filter, "filter")]
        text = encode_texts(given, loaded.source_vocabulary, "filter", grow=False)
        loaded = replace(loaded, table=filter_for(loaded.table, text), sparse=None)
    if output is not None:
        moses_model.export_model(loaded, output, progress)
    if phrase_table is not None:
        write_phrase_table(phrase_table, part_of(loaded.table, 0), progress)
    if reordering_table is not None:
        write_reordering_table(reordering_table, without_repetition(loaded.table), progress)
    if language_model is not None:
        write_arpa(language_model, loaded.language_models[0], loaded.target_vocabulary, progress)
