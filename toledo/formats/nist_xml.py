"""Test sets in XML: NIST's form (mteval) and that of WMT since 2021, in and out.

    <mteval><srcset setid srclang>                    <dataset id>
      <doc docid genre><p><seg id="1">…                 <doc id origlang><src lang><p><seg id="1">…
    <refset setid srclang trglang refid>                  <ref lang translator>…
    <tstset setid srclang trglang sysid>                  <hyp lang system>…

The root `mteval` may be missing. Several references are several sets, or, as in old files, documents of one set with a
`sysid` each. Elements between documents and segments (p, hl, …) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name
from toledo.formats.markup import read_markup
from toledo.formats.text_sets import Kind, MarkedDocument, MarkedSegment, MarkedText, TextSet
from toledo.vocabulary import split_words

NIST: dict[str, Kind] = {"srcset": "source", "refset": "reference", "tstset": "translation"}
WMT: dict[str, Kind] = {"src": "source", "ref": "reference", "hyp": "translation"}
NAMES = {"refset": "refid", "tstset": "sysid", "ref": "translator", "hyp": "system"}  # whose text it is
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
FORMS = "give an XML file with srcset, refset or tstset (NIST), or with dataset (WMT)"


def read_text_sets(path: str | Path) -> MarkedText:
    """Read all sets of a file; `.gz` is unpacked, `-` is standard input."""
    collector = _Collector(path)
    read_markup(path, collector)
    return collector.finished()


def write_text_sets(path: str | Path, text: MarkedText) -> None:
    """Write sets to a file atomically; `-` is standard output."""
    lines = _wmt_lines(text) if text.form == "wmt" else _nist_lines(text)
    with atomic_writer(path) as stream:
        for line in lines:
            stream.write(line + "\n")


@dataclass
class _OpenDocument:
    attributes: Mapping[str, str]
    line: int
    segments: dict[str, MarkedSegment] = field(default_factory=dict)
    paragraph: int = 0
    inside: bool = False  # of a paragraph


@dataclass
class _OpenSet:
    kind: Kind
    name: str
    attributes: Mapping[str, str]
    documents: dict[str, _OpenDocument] = field(default_factory=dict)


class _Collector:
    """Puts sets together from elements."""

    def __init__(self, file: str | Path) -> None:
        self._file = display_name(file)
        self._sets: dict[tuple[str, str], _OpenSet] = {}
        self._root: Mapping[str, str] | None = None  # of a dataset
        self._side: tuple[str, Mapping[str, str]] | None = None  # the set of NIST's form that is open
        self._about: Mapping[str, str] | None = None  # the document of WMT's form that is open
        self._document: _OpenDocument | None = None
        self._segment: tuple[str, int, list[str]] | None = None

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if name == "dataset":
            self._root = attributes
        elif name in NIST:
            self._side = name, attributes
        elif name == "doc":
            self._start_document(attributes, line)
        elif name in WMT and self._about is not None:
            self._open(name, attributes, self._about, self._required(self._about, "id", "doc", line), line)
        elif name == "p" and self._document is not None:
            self._document.paragraph += 1
            self._document.inside = True
        elif name == "seg":
            self._start_segment(attributes, line)

    def data(self, text: str) -> None:
        if self._segment is not None:
            self._segment[2].append(text)

    def end(self, name: str, line: int) -> None:
        if name == "seg":
            self._end_segment(line)
        elif name == "p" and self._document is not None:
            self._document.inside = False
        elif name == "doc" or (name in WMT and self._about is not None):
            self._end_document(line)
            self._about = None if name == "doc" else self._about
        elif name in NIST:
            self._side = None

    def finished(self) -> MarkedText:
        """All sets; a file that ends too early is refused (in XML, the parser has done so)."""
        if self._segment or self._document or self._about or self._side:
            raise self._error("ends inside a document", None, "is the file complete?")
        if not self._sets:
            raise self._error("has no documents", None, FORMS)
        form, root = ("nist", {}) if self._root is None else ("wmt", self._root)
        return MarkedText(form, tuple(_closed(one) for one in self._sets.values()), root)  # type: ignore[arg-type]

    def _start_document(self, attributes: Mapping[str, str], line: int) -> None:
        if self._document is not None or self._about is not None:
            raise self._error("a document inside another one", line, "end the first with </doc>")
        if self._side is not None:
            name, about = self._side
            self._open(name, about, attributes, self._required(attributes, "docid", "doc", line), line)
        elif self._root is not None:
            self._about = attributes
        else:
            raise self._error("a document outside of a set", line, FORMS)

    def _open(
        self, element: str, about: Mapping[str, str], attributes: Mapping[str, str], identifier: str, line: int
    ) -> None:
        """Begin a document in its set, a new one or one from before."""
        kind: Kind = {**NIST, **WMT}[element]
        key = NAMES.get(element, "")
        name = "" if kind == "source" else about.get(key) or attributes.get("sysid", "")
        found = self._sets.setdefault((kind, name), _OpenSet(kind, name, _without(about, key)))
        if identifier in found.documents:
            raise self._error(
                f"a second document {identifier} in {f'{kind} {name}'.rstrip()}",
                line,
                "give each document an id, and each reference a name (refid) of its own",
            )
        self._document = _OpenDocument(_without(attributes, "docid", "id", "sysid"), line)
        found.documents[identifier] = self._document

    def _end_document(self, line: int) -> None:
        if self._document is not None and not self._document.segments:
            raise self._error(
                "a document without segments", self._document.line, "write <seg id=…> in it, or remove it"
            )
        if self._segment is not None:
            raise self._error("a segment that does not end", self._segment[1], "write </seg> after it")
        self._document = None

    def _start_segment(self, attributes: Mapping[str, str], line: int) -> None:
        if self._document is None:
            raise self._error("a segment outside of a document", line, FORMS)
        if self._segment is not None:
            raise self._error("a segment that does not end", self._segment[1], "write </seg> after it")
        identifier = self._required(attributes, "id", "seg", line)
        if identifier in self._document.segments:
            raise self._error(f"a second segment {identifier} in one document", line, "give each an id of its own")
        self._segment = identifier, line, []

    def _end_segment(self, line: int) -> None:
        if self._segment is None or self._document is None:
            raise self._error("</seg> without <seg>", line, "remove it")
        identifier, _, pieces = self._segment
        paragraph = self._document.paragraph if self._document.inside else 0
        self._document.segments[identifier] = MarkedSegment(identifier, _one_line(pieces), paragraph)
        self._segment = None

    def _required(self, attributes: Mapping[str, str], key: str, element: str, line: int) -> str:
        if not attributes.get(key):
            raise self._error(f"<{element}> without {key}", line, f'write <{element} {key}="…">')
        return attributes[key]

    def _error(self, message: str, line: int | None, remedy: str) -> InputError:
        return InputError(message, file=self._file, line=line, remedy=remedy)


def _one_line(pieces: Sequence[str]) -> str:
    return " ".join(split_words("".join(pieces)))


def _without(attributes: Mapping[str, str], *keys: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in keys}


def _closed(one: _OpenSet) -> TextSet:
    documents = (
        MarkedDocument(identifier, tuple(document.segments.values()), document.attributes)
        for identifier, document in one.documents.items()
    )
    return TextSet(one.kind, tuple(documents), one.name, one.attributes)


def _nist_lines(text: MarkedText) -> Iterator[str]:
    elements = {kind: name for name, kind in NIST.items()}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<mteval>"
    for one in text.sets:
        element = elements[one.kind]
        named = {NAMES[element]: one.name} if element in NAMES else {}
        yield _tag(element, {**one.attributes, **named})
        author = {"sysid": one.name} if one.kind == "translation" else {}  # old scorers want it here
        for document in one.documents:
            yield _tag("doc", {"docid": document.identifier, **document.attributes, **author})
            yield from _segment_lines(document)
            yield "</doc>"
        yield f"</{element}>"
    yield "</mteval>"


def _wmt_lines(text: MarkedText) -> Iterator[str]:
    elements = {kind: name for name, kind in WMT.items()}
    sides = [(one, {document.identifier: document for document in one.documents}) for one in text.sets]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield _tag("dataset", text.attributes)
    for identifier in dict.fromkeys(name for _, documents in sides for name in documents):
        there = [(one, documents[identifier]) for one, documents in sides if identifier in documents]
        yield _tag("doc", {"id": identifier, **there[0][1].attributes})
        for one, document in there:
            element = elements[one.kind]
            yield _tag(element, {**one.attributes, **({NAMES[element]: one.name} if element in NAMES else {})})
            yield from _segment_lines(document)
            yield f"</{element}>"
        yield "</doc>"
    yield "</dataset>"


def _segment_lines(document: MarkedDocument) -> Iterator[str]:
    for paragraph, segments in groupby(document.segments, key=lambda segment: segment.paragraph):
        if paragraph:
            yield "<p>"
        for segment in segments:
            yield f"<seg id={quoteattr(_allowed(segment.identifier))}>{escape(_allowed(segment.text))}</seg>"
        if paragraph:
            yield "</p>"


def _tag(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{' '.join([name, *(f'{key}={quoteattr(_allowed(value))}' for key, value in attributes.items())])}>"


def _allowed(text: str) -> str:
    """XML has no place for control characters, not even escaped."""
    return FORBIDDEN.sub("\ufffd", text)
