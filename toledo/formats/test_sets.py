"""Test sets in XML: NIST's form (mteval) and that of WMT since 2021, in and out.

    <mteval><srcset setid srclang>                    <dataset id>
      <doc docid genre><p><seg id="1">…                 <doc id origlang><src lang><p><seg id="1">…
    <refset setid srclang trglang refid>                  <ref lang translator>…
    <tstset setid srclang trglang sysid>                  <hyp lang system>…

The root `mteval` may be missing. Several references are several sets, or, as in old files, documents of one set with a
`sysid` each. Elements between documents and segments (p, hl, …) are passed over. Files called .sgm are read as SGM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from typing import Any, Literal, cast
from xml.sax.saxutils import escape, quoteattr, unescape

from lxml import etree

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
NIST: dict[str, Kind] = {"srcset": "source", "refset": "reference", "tstset": "translation"}
WMT: dict[str, Kind] = {"src": "source", "ref": "reference", "hyp": "translation"}
NAMES = {"refset": "refid", "tstset": "sysid", "ref": "translator", "hyp": "system"}  # whose text it is
TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)((?:\s[^<>]*)?)>")
TAGS = {*NIST, *WMT, "dataset", "doc", "p", "seg"}  # of SGM; others are passed over
ATTRIBUTE = re.compile(r"""([A-Za-z][\w.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
DEFINITION = re.compile(rb"<!DOCTYPE.*?<!ENTITY\s+(?:%\s+)?([^\s>]*)", re.DOTALL)
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"
FORMS = "give an XML file with srcset, refset or tstset (NIST), or with dataset (WMT)"
INCOMPLETE = "check that the file is complete"


def is_markup(path: str | Path) -> bool:
    """Return whether a file is called .xml or .sgm, packed or not."""
    return _ends(path, (*XML, *SGM))


def _ends(path: str | Path, endings: tuple[str, ...]) -> bool:
    return str(path).lower().removesuffix(".gz").endswith(endings)


def read_tree(path: str | Path) -> Any:
    """Read an XML file as lxml's tree, with tags and attributes in lower case.

    The content is UTF-8, whatever the XML declaration says. Files that define entities, which can grow without end, are
    refused before they are parsed; no DTD is loaded and no other file opened.
    """
    content = b"".join(read_blocks(path))
    if found := DEFINITION.search(content):
        name = found[1].decode("utf-8", "replace")
        remedy = "write characters themselves, and &amp; &lt; &gt; for the three that must not stand alone"
        raise InputError(f"defines the entity {name}, which is not allowed", file=display_name(path), remedy=remedy)
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"not well-formed XML: {str(error.msg).partition(', line ')[0].strip()}",
            file=display_name(path),
            line=error.lineno or 1,
            remedy=f"correct this line; {INCOMPLETE}; if it is SGM, which is less strict, name it .sgm",
        ) from None
    for element in root.iter("*"):
        element.tag = element.tag.lower()
        attributes = [(key.replace(XML_NAMESPACE, "xml:").lower(), value) for key, value in element.items()]
        element.attrib.clear()
        for key, value in attributes:
            element.set(key, value)
    return root


def _read_sgm(path: str | Path) -> Any:
    """Read SGM: tags are what looks like one; all else is text, in which the five entities of XML are understood.

    SGM is not XML: old test sets have bare ampersands, tags in capitals and attributes without quotes, and leave out
    the ends of paragraphs.
    """
    text = FORBIDDEN.sub("\ufffd", b"".join(read_blocks(path)).decode("utf-8"))
    root = etree.Element("sgm")
    opened, place, line = [root], 0, 1
    for tag in TAG.finditer(text):
        _add_text(opened[-1], unescape(text[place : tag.start()], {"&quot;": '"', "&apos;": "'"}))
        line += text.count("\n", place, tag.start())
        name = tag[2].lower()
        if name in TAGS and not (opened[-1].tag == "seg" and not tag[1] and name != "seg"):
            if tag[1]:
                _close(opened, name, path, line)
            else:
                if opened[-1].tag == name == "p":
                    opened.pop()
                attributes = {key.lower(): value.strip("\"'") for key, value in ATTRIBUTE.findall(tag[3])}
                opened.append(etree.SubElement(opened[-1], name, attributes))
                opened[-1].sourceline = line
        line += tag[0].count("\n")
        place = tag.end()
    if any(element.tag not in ("sgm", "dataset", "p") for element in opened):
        raise InputError("ends inside a document", file=display_name(path), remedy=INCOMPLETE)
    return root


def _add_text(element: Any, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _close(opened: list[Any], name: str, path: str | Path, line: int) -> None:
    """End an element of SGM, with paragraphs that are open in it; ends of what was not begun are passed over."""
    if name not in [element.tag for element in opened]:
        if name == "seg":
            raise InputError("</seg> without <seg>", file=display_name(path), line=line, remedy="remove it")
        return
    while name != "p" and opened[-1].tag == "p":
        opened.pop()
    if opened[-1].tag == "seg" != name:
        raise _unfinished(opened[-1], path)
    if opened[-1].tag != name:
        raise InputError("ends inside a document", file=display_name(path), line=line, remedy=INCOMPLETE)
    opened.pop()


def _unfinished(segment: Any, path: str | Path) -> InputError:
    remedy = "write </seg> after it"
    return InputError("a segment that does not end", file=display_name(path), line=segment.sourceline, remedy=remedy)


def read_text_sets(path: str | Path) -> MarkedText:
    """Read all sets of a file; `.gz` is unpacked, `-` is standard input."""
    root = _read_sgm(path) if _ends(path, SGM) else read_tree(path)
    return _TextSetReader(path).read(root)


def write_text_sets(path: str | Path, text: MarkedText) -> None:
    """Write sets to a file atomically; `-` is standard output."""
    lines = _wmt_lines(text) if text.form == "wmt" else _nist_lines(text)
    with atomic_writer(path) as stream:
        for line in lines:
            stream.write(line + "\n")


class _TextSetReader:
    """Collects the sets of a tree; elements between documents and segments are passed over."""

    def __init__(self, path: str | Path) -> None:
        self._file = display_name(path)
        self._sets: dict[tuple[str, str], tuple[dict[str, str], dict[str, MarkedDocument]]] = {}

    def read(self, root: Any) -> MarkedText:
        dataset = next(root.iter("dataset"), None)
        for element in root.iter("doc", "seg"):
            above = [one.tag for one in element.iterancestors()]
            if element.tag == "seg" and "seg" in above:
                raise self._error("a segment that does not end", next(element.iterancestors("seg")), "write </seg>")
            if element.tag == "seg" and "doc" not in above:
                raise self._error("a segment outside of a document", element, FORMS)
            if element.tag == "doc" and "doc" in above:
                raise self._error("a document inside another one", element, "end the first with </doc>")
            if element.tag == "doc":
                self._document(element, next(element.iterancestors(*NIST), None), dataset)
        if not self._sets:
            raise self._error("has no documents", None, FORMS)
        sets = tuple(
            TextSet(cast(Kind, kind), tuple(documents.values()), name, attributes)
            for (kind, name), (attributes, documents) in self._sets.items()
        )
        return MarkedText("nist", sets) if dataset is None else MarkedText("wmt", sets, dict(dataset.attrib))

    def _document(self, element: Any, text_set: Any, dataset: Any) -> None:
        if text_set is not None:
            self._add(element, text_set, element, self._required(element, "docid"))
        elif dataset is None:
            raise self._error("a document outside of a set", element, FORMS)
        else:
            sides = list(element.iter(*WMT))
            for side in sides:
                self._add(side, side, element, self._required(element, "id"))
            if stray := [part for part in element.iter("seg") if next(part.iterancestors(*WMT), None) is None]:
                raise self._error("a segment outside of a document", stray[0], FORMS)

    def _add(self, element: Any, text_set: Any, document: Any, identifier: str) -> None:
        """Add the segments of an element to their set, a new one or one from before."""
        kind, key = {**NIST, **WMT}[text_set.tag], NAMES.get(text_set.tag, "")
        name = "" if kind == "source" else text_set.get(key) or document.get("sysid", "")
        _, documents = self._sets.setdefault((kind, name), (_without(text_set.attrib, key), {}))
        if identifier in documents:
            remedy = "give each document an id, and each reference a name (refid) of its own"
            raise self._error(f"a second document {identifier} in {f'{kind} {name}'.rstrip()}", element, remedy)
        attributes = _without(document.attrib, "docid", "id", "sysid")
        documents[identifier] = MarkedDocument(identifier, self._segments(element), attributes)

    def _segments(self, element: Any) -> tuple[MarkedSegment, ...]:
        found: dict[str, MarkedSegment] = {}
        numbers = {paragraph: number for number, paragraph in enumerate(element.iter("p"), start=1)}
        for part in element.iter("seg"):
            identifier = self._required(part, "id")
            if identifier in found:
                raise self._error(f"a second segment {identifier} in one document", part, "give each an id of its own")
            paragraph = numbers.get(next(part.iterancestors("p"), None), 0)
            found[identifier] = MarkedSegment(identifier, " ".join(split_words("".join(part.itertext()))), paragraph)
        if not found:
            raise self._error("a document without segments", element, "write <seg id=…> in it, or remove it")
        return tuple(found.values())

    def _required(self, element: Any, key: str) -> str:
        if not element.get(key):
            raise self._error(f"<{element.tag}> without {key}", element, f'write <{element.tag} {key}="…">')
        return str(element.get(key))

    def _error(self, message: str, element: Any, remedy: str) -> InputError:
        line = None if element is None else element.sourceline
        return InputError(message, file=self._file, line=line, remedy=remedy)


def _without(attributes: Mapping[str, str], *keys: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in keys}


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
