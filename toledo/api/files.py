"""Read and write sentence pairs, lists, forests and documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from toledo.api.inputs import Sample
from toledo.consensus.choosing import as_hypotheses
from toledo.errors import InputError
from toledo.files import display_name, read_lines, write_lines
from toledo.forest.forest import Forest
from toledo.formats import forest_files
from toledo.formats.documents import DocumentText, write_translations
from toledo.formats.forest_files import Conversion, OutputFormat, SegmentForest, read_outputs
from toledo.formats.hypotheses import Entry, NBestList
from toledo.formats.plf import Values
from toledo.results import Hypothesis
from toledo.settings import unknown_name
from toledo.text.vocabulary import split_words

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """Read sentence pairs from TSV or from JSON lines.

    A line of TSV has source and target, and columns after them are ignored. A line of JSON is as in the data sets of
    Hugging Face, the source first: {"translation": {"de": "das Haus", "en": "the house"}}.
    """
    is_json = str(path).removesuffix(".gz").endswith(JSON_ENDINGS)
    pairs = list(_json_pairs(path) if is_json else _tsv_pairs(path))
    if not pairs:
        raise InputError("the file is empty", file=display_name(path), remedy="give one sentence pair per line")
    return pairs


def _tsv_pairs(path: str | Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(
                "no tab between source and target",
                file=display_name(path),
                line=number,
                remedy="write TSV, or JSON lines into a file named .jsonl",
            )
        yield fields[0], fields[1]


def _json_pairs(path: str | Path) -> Iterator[tuple[str, str]]:
    languages: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        pair = _translation(line)
        languages = languages or list(pair)
        if len(pair) != 2 or {*pair} != {*languages} or not all(isinstance(text, str) for text in pair.values()):
            expected = (
                ", ".join(f'"{one}": "…"' for one in languages) if len(languages) == 2 else '"de": "…", "en": "…"'
            )
            raise InputError(
                "not a sentence pair",
                file=display_name(path),
                line=number,
                remedy=f'write {{"translation": {{{expected}}}}}',
            )
        yield pair[languages[0]], pair[languages[1]]


def _translation(line: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return {}
    inner = found.get("translation", found) if isinstance(found, dict) else {}
    return inner if isinstance(inner, dict) else {}


def read_lists(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    num_samples: int | None = None,
) -> list[list[Hypothesis]]:
    """Read the samples of each segment; plain text has `num_samples` lines for each.

    `format` is one of nbest, cdec, jsonl and text; by default it is guessed.
    """
    known: dict[str, OutputFormat] = {"nbest": "nbest", "cdec": "nbest", "jsonl": "jsonl", "text": "text"}
    if format is not None and format not in known:
        raise unknown_name("format", format, list(known))
    lists = read_outputs([path], None if format is None else known[format], num_samples)
    return [[entry.hypothesis() for entry in some.entries] for some in lists]


def write_lists(path: str | Path, lists: Iterable[Sequence[Sample]], *, format: str | None = None) -> None:  # noqa: A002
    """Write the samples of each segment; by default the name of the file says the format, as for `read_lists`."""
    found = (as_hypotheses(samples, f"lists[{segment}]") for segment, samples in enumerate(lists))
    if format == "text":
        write_lines(path, (one.text for samples in found for one in samples))
        return
    form = forest_files.guess_output_format(path) if format is None else forest_files.named_format(format)
    if form not in forest_files.LISTS:
        raise InputError(
            f"format {form} is not one of lists", argument="format", remedy="use nbest, cdec, jsonl or text"
        )
    entries = (NBestList(segment, tuple(map(_entry, samples))) for segment, samples in enumerate(found))
    forest_files.write_lists(entries, path, form)


def _entry(one: Hypothesis) -> Entry:
    score = one.logprob if one.score is None else one.score
    return Entry(split_words(one.text), one.features, score=score, links=tuple(one.alignment or ()), raw_text=one.text)


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
