"""Documents to translate, with references, from XML or from lines of text with a file of document ids; and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, read_segment_lines, write_lines
from toledo.formats.test_sets import (
    Kind,
    MarkedDocument,
    MarkedSegment,
    MarkedText,
    TextSet,
    is_markup,
    joined,
    read_text_sets,
    write_text_sets,
)
from toledo.text.corpus import Document, documents_of, read_segments
from toledo.text.vocabulary import split_words

SET = {"setid": "", "srclang": "any", "trglang": "any"}  # what scorers want to see in NIST's form


@dataclass(frozen=True)
class DocumentText:
    """Documents, and the XML file they came from, if it was one."""

    documents: Sequence[Document]
    marked: MarkedText | None = None


def read_documents(
    source: str | Path, references: Sequence[str | Path] = (), document_ids: str | Path | None = None
) -> DocumentText:
    """Read documents with any number of references.

    XML files have documents of their own. Text has one segment in each line, and the same line of `document_ids` says
    which document it belongs to; without that, the whole text is one document. Text may be a reference to XML, too.
    """
    if is_markup(source):
        if document_ids is not None:
            raise InputError(
                f"{display_name(source)} has documents of its own",
                file=document_ids,
                remedy="leave the file of ids out",
            )
        return _read_marked(source, references)
    if marked := [file for file in references if is_markup(file)]:
        raise InputError(
            f"its ids cannot be compared with {display_name(source)}, which is text",
            file=marked[0],
            remedy="give the source as XML, too, or the reference as text",
        )
    segments = read_segments(source, references, document_ids)
    documents = documents_of(segments)
    if document_ids is not None:
        _require_names(documents, document_ids)
    return DocumentText(documents)


def with_references(text: DocumentText, groups: Sequence[Sequence[str]]) -> DocumentText:
    """Return the same documents with these references for each segment of all documents."""
    rest = iter(groups)
    documents = [
        replace(
            document,
            segments=tuple(
                replace(segment, references=tuple(tuple(split_words(one)) for one in next(rest)))
                for segment in document.segments
            ),
        )
        for document in text.documents
    ]
    return replace(text, documents=documents)


def write_translations(
    path: str | Path,
    text: DocumentText,
    translations: Sequence[Sequence[str]],
    system: str = "toledo",
    kind: Kind = "translation",
) -> None:
    """Write the translations of documents, a text for each segment; `kind` says what they are in XML.

    A file called .xml or .sgm gets XML, of the form of the source; another one a line for each segment; standard output
    is XML if the source was.
    """
    wanted = text.marked is not None if str(path) == STANDARD_STREAM else is_markup(path)
    if wanted:
        write_text_sets(path, _marked(text, translations, system, kind))
    else:
        write_lines(path, chain.from_iterable(translations))


def _read_marked(source: str | Path, references: Sequence[str | Path]) -> DocumentText:
    marked = read_text_sets(source)
    original = marked.source(source)
    sets, files, texts = list[TextSet](), list[str | Path](), list[list[str]]()
    for file in references:
        if is_markup(file):
            found = read_text_sets(file).references(file)
            sets += found
            files += [file] * len(found)
        else:
            texts.append(read_segment_lines(file, sum(len(document.segments) for document in original.documents)))
    return DocumentText(joined(original, sets, files, texts), replace(marked, sets=(original,)))


def _require_names(documents: Sequence[Document], file: str | Path) -> None:
    """A document that comes back after another one is a mistake: its segments must follow each other."""
    begun = dict[str, int]()
    for document in documents:
        line = document.segments[0].index + 1
        if not document.identifier.strip():
            raise InputError("no document id", file=display_name(file), line=line, remedy="give one in each line")
        if document.identifier in begun:
            raise InputError(
                f"document {document.identifier} comes back after others (first in line {begun[document.identifier]})",
                file=display_name(file),
                line=line,
                remedy="sort the lines of all files by document, or give the second part an id of its own",
            )
        begun[document.identifier] = line


def _marked(text: DocumentText, translations: Sequence[Sequence[str]], system: str, kind: Kind) -> MarkedText:
    """The translations in the shape of the source; without one, segments are numbered from 1 in each document."""
    original = text.marked or _plain(text.documents)
    source = original.sets[0]
    documents = tuple(
        replace(
            document,
            segments=tuple(replace(segment, text=line) for segment, line in zip(document.segments, lines, strict=True)),
        )
        for document, lines in zip(source.documents, translations, strict=True)
    )
    nist = original.form == "nist"  # in the other one, the language of the source is not that of a translation
    about = {name: source.attributes.get(name, value) for name, value in SET.items()} if nist else {}
    return replace(original, sets=(TextSet(kind, documents, system, about),))


def _plain(documents: Sequence[Document]) -> MarkedText:
    marked = (
        MarkedDocument(
            document.identifier or "1",
            tuple(MarkedSegment(str(number), "") for number, _ in enumerate(document.segments, start=1)),
        )
        for document in documents
    )
    return MarkedText("nist", (TextSet("source", tuple(marked)),))
