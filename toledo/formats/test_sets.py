"""Test sets in XML: NIST's form (mteval) and that of WMT since 2021, in and out.

    <mteval><srcset setid srclang>                    <dataset id>
      <doc docid genre><p><seg id="1">…                 <doc id origlang><src lang><p><seg id="1">…
    <refset setid srclang trglang refid>                  <ref lang translator>…
    <tstset setid srclang trglang sysid>                  <hyp lang system>…

The root `mteval` may be missing. Several references are several sets, or, as in old files, documents of one set with a
`sysid` each. Elements between documents and segments (p, hl, …) are passed over.

Test sets as XML files give them: sources, references and translations, in documents and segments with ids.

Elements of XML and SGM files, one after the other, with the lines where they stand.

XML is read with defusedxml: files that define entities, which can grow without end, are refused. A DTD that a file
names (as NIST's do) is not fetched.
Files called .sgm are not XML: old test sets have bare ampersands, tags in capitals and attributes without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from typing import Any, Literal, Protocol
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape, quoteattr

from defusedxml import DefusedXmlException
from defusedxml.expatreader import create_parser

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_blocks
from toledo.text.corpus import Document, Segment
from toledo.text.vocabulary import split_words

Kind = Literal["source", "reference", "translation"]
Form = Literal["nist", "wmt"]

SAME_IDS = "documents and segments belong together by their ids; they must be the same in both files"


@dataclass(frozen=True)
class MarkedSegment:
    """A segment: its id, its text, and the number of its paragraph in the document (0: in none)."""

    identifier: str
    text: str
    paragraph: int = 0


@dataclass(frozen=True)
class MarkedDocument:
    """A document: its id, its segments, and what else is said of it (genre, origlang, …)."""

    identifier: str
    segments: tuple[MarkedSegment, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TextSet:
    """One side of a test set. `name` is that of a translator or system; `attributes` are languages and the set's id."""

    kind: Kind
    documents: tuple[MarkedDocument, ...]
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MarkedText:
    """A file of sets: NIST's form or that of WMT since 2021."""

    form: Form
    sets: tuple[TextSet, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)

    def source(self, file: str | Path) -> TextSet:
        """The one source."""
        return self._of("source", file)[0]

    def references(self, file: str | Path) -> list[TextSet]:
        """All references, at least one."""
        return self._of("reference", file)

    def _of(self, kind: Kind, file: str | Path) -> list[TextSet]:
        found = [one for one in self.sets if one.kind == kind]
        if not found or (kind == "source" and len(found) > 1):
            kinds = ", ".join(f"{one.kind} {one.name}".rstrip() for one in self.sets)
            raise InputError(
                f"has {len(found) or 'no'} {kind}{'s' if found else ''}, but {kinds}",
                file=display_name(file),
                remedy="give a file with one source" if kind == "source" else "give a file with references",
            )
        return found


def joined(
    source: TextSet, references: Sequence[TextSet], files: Sequence[str | Path], texts: Sequence[Sequence[str]] = ()
) -> list[Document]:
    """Documents of a source with the same segments of its references, each of which came from a file.

    `texts` are references without ids: a line for each segment.
    """
    for reference, file in zip(references, files, strict=True):
        _require_same_ids(source, reference, file)
    found = [{document.identifier: document for document in one.documents} for one in references]
    numbers, documents = count(), []
    for document in source.documents:
        sides = [[part.text for part in document.segments]]
        for by_document in found:
            by_id = {part.identifier: part.text for part in by_document[document.identifier].segments}
            sides.append([by_id[part.identifier] for part in document.segments])
        segments = []
        for (text, *others), number in zip(zip(*sides, strict=True), numbers, strict=False):
            others += [lines[number] for lines in texts]
            words, *given = (tuple(split_words(one)) for one in (text, *others))
            segments.append(Segment(number, words, tuple(given), document.identifier))
        documents.append(Document(document.identifier, tuple(segments)))
    return documents


def _require_same_ids(source: TextSet, reference: TextSet, file: str | Path) -> None:
    """Every segment of the source must have its reference, and the other way round."""
    have, want = (
        {document.identifier: [part.identifier for part in document.segments] for document in one.documents}
        for one in (reference, source)
    )
    named = f"reference {reference.name}".rstrip()
    for one, other, owner in ((want, have, named), (have, want, "the source")):
        for document, segments in one.items():
            if document not in other:
                raise InputError(f"{owner} has no document {document}", file=display_name(file), remedy=SAME_IDS)
            if missing := [part for part in segments if part not in set(other[document])]:
                raise InputError(
                    f"{owner} has no segment {missing[0]} of document {document}",
                    file=display_name(file),
                    remedy=SAME_IDS,
                )


XML, SGM = (".xml",), (".sgm", ".sgml")
TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)((?:\s[^<>]*)?)>")
ATTRIBUTE = re.compile(r"""([A-Za-z][\w.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
ENTITY = re.compile("&(amp|lt|gt|quot|apos);")
ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
ENTITY_REMEDY = "write characters themselves, and &amp; &lt; &gt; for the three that must not stand alone"


class Elements(Protocol):
    """What is made of a file: told of each element and of text, in order. Names are in lower case."""

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        """An element begins."""
        ...

    def data(self, text: str) -> None:
        """Text, in pieces of any size."""
        ...

    def end(self, name: str, line: int) -> None:
        """An element ends."""
        ...


def is_markup(path: str | Path) -> bool:
    """Whether a file is called .xml or .sgm, packed or not."""
    return _ends(path, (*XML, *SGM))


def read_markup(path: str | Path, elements: Elements, lax: bool = True) -> None:
    """Read a file: as SGM if it is called so and that may be, else as XML."""
    try:
        if lax and _ends(path, SGM):
            _read_sgm(path, elements)
        else:
            _read_xml(path, elements)
    except SAXParseException as error:
        raise InputError(
            f"not well-formed XML: {error.getMessage()}",
            file=display_name(path),
            line=error.getLineNumber(),
            remedy="correct this line; is the file complete? If it is SGM, which is laxer, name it .sgm",
        ) from None
    except DefusedXmlException as error:
        raise InputError(
            f"defines the entity {error.name}, which is not allowed", file=display_name(path), remedy=ENTITY_REMEDY
        ) from None


@dataclass
class Element:
    """An element with all that is in it; `text` is what stands between its tags, outside of other elements."""

    name: str
    attributes: Mapping[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        """Its children of this name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Element | None:
        """The first of them."""
        return next(iter(self.all(name)), None)


def read_tree(path: str | Path) -> Element:
    """A small XML file as a whole."""
    tree = _Tree()
    read_markup(path, tree, lax=False)
    return tree.open[0].children[0]


class _Tree:
    def __init__(self) -> None:
        self.open = [Element("", {}, 1)]

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        element = Element(name, attributes, line)
        self.open[-1].children.append(element)
        self.open.append(element)

    def data(self, text: str) -> None:
        self.open[-1].text += text

    def end(self, name: str, line: int) -> None:
        closed = self.open.pop()
        closed.text = closed.text.strip()


def _ends(path: str | Path, endings: tuple[str, ...]) -> bool:
    return str(path).lower().removesuffix(".gz").endswith(endings)


def _read_xml(path: str | Path, elements: Elements) -> None:
    parser = create_parser(forbid_external=False)  # it is told of other files, but follows none
    parser.setContentHandler(_Handler(elements, parser.getLineNumber))
    for text in _texts(path):
        parser.feed(text)
    parser.close()


def _read_sgm(path: str | Path, elements: Elements) -> None:
    """Tags are what looks like one; all else is text, in which the five entities of XML are understood."""
    text, place, line = "".join(_texts(path)), 0, 1
    for tag in TAG.finditer(text):
        elements.data(ENTITY.sub(lambda found: ENTITIES[found[1]], text[place : tag.start()]))
        line += text.count("\n", place, tag.start())
        place = tag.start()
        if tag[1]:
            elements.end(tag[2].lower(), line)
        else:
            attributes = {name.lower(): value.strip("\"'") for name, value in ATTRIBUTE.findall(tag[3])}
            elements.start(tag[2].lower(), attributes, line)
        line += tag[0].count("\n")
        place = tag.end()


def _texts(path: str | Path) -> Iterator[str]:
    """UTF-8, whatever an XML declaration says."""
    for block in read_blocks(path):
        yield block.decode("utf-8")


class _Handler(ContentHandler):
    def __init__(self, elements: Elements, line: Callable[[], int]) -> None:
        super().__init__()
        self._elements = elements
        self._line = line

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802 (names are SAX's)
        self._elements.start(name.lower(), {key.lower(): value for key, value in attrs.items()}, self._line())

    def characters(self, content: str) -> None:
        self._elements.data(content)

    def endElement(self, name: str) -> None:  # noqa: N802
        self._elements.end(name.lower(), self._line())

    def skippedEntity(self, name: str) -> None:  # noqa: N802
        self._elements.data(f"&{name};")


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
