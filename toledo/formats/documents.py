"""Documents to translate, with references: from XML test sets, or from lines of text with document ids; and back.

Test sets are in NIST's form (mteval) or in that of WMT since 2021.

    <mteval><srcset setid srclang>                    <dataset id>
      <doc docid genre><p><seg id="1">…                 <doc id origlang><src lang><p><seg id="1">…
    <refset setid srclang trglang refid>                  <ref lang translator>…
    <tstset setid srclang trglang sysid>                  <hyp lang system>…

The root `mteval` may be missing. Several references are several sets, or, as in old files, documents of one set with a
`sysid` each. Elements between documents and segments (p, hl, …) are ignored. Files named .sgm are read as SGM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any, Literal, cast
from xml.sax.saxutils import escape, quoteattr, unescape

from lxml import etree

from toledo.errors import InputError
from toledo.files import (
    STANDARD_STREAM,
    display_name,
    file_error,
    read_blocks,
    read_segment_lines,
    read_whole,
    write_lines,
)
from toledo.text.corpus import Document, Segment, documents_of, read_segments
from toledo.text.vocabulary import split_words

Kind = Literal["source", "reference", "translation"]
Form = Literal["nist", "wmt"]

XML, SGM = (".xml",), (".sgm", ".sgml")
NIST: dict[str, Kind] = {"srcset": "source", "refset": "reference", "tstset": "translation"}
WMT: dict[str, Kind] = {"src": "source", "ref": "reference", "hyp": "translation"}
NAMES = {"refset": "refid", "tstset": "sysid", "ref": "translator", "hyp": "system"}  # whose text it is
TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)((?:\s[^<>]*)?)>")
LAST_LINE = (1 << 16) - 1  # that lxml can note; errors in later ones name the file alone
TAGS = {*NIST, *WMT, "dataset", "doc", "p", "seg"}  # of SGM; others are passed over
ATTRIBUTE = re.compile(r"""(?<![\w.-])([A-Za-z][\w.-]*)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""")
DEFINITION = re.compile(rb"<!ENTITY\s+(?:%\s+)?([^\s>]*)")
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
XML_NAMESPACE = "{http://www.w3.org/XML/1998/namespace}"
FORMS = "give an XML file with srcset, refset or tstset (NIST), or with dataset (WMT)"
INCOMPLETE = "check that the file is complete"
SET = {"setid": "", "srclang": "any", "trglang": "any"}  # attributes that scorers expect in NIST's form
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
            message = f"{display_name(source)} already has documents"
            raise file_error(document_ids, None, message, "leave the file of ids out")
        return _read_marked(source, references)
    if marked := [file for file in references if is_markup(file)]:
        message = f"its ids cannot be compared with {display_name(source)}, which is text"
        raise file_error(marked[0], None, message, "give the source as XML, too, or the reference as text")
    documents = documents_of(read_segments(source, references, document_ids))
    if document_ids is not None:
        _require_names(documents, document_ids)
    return DocumentText(documents)


def with_references(text: DocumentText, groups: Sequence[Sequence[str]]) -> DocumentText:
    """Return the same documents with these references for each segment of all documents."""
    references, documents = (tuple(tuple(split_words(one)) for one in group) for group in groups), []
    for document in text.documents:
        segments = tuple(replace(segment, references=next(references)) for segment in document.segments)
        documents.append(replace(document, segments=segments))
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
    as_xml = text.marked is not None if str(path) == STANDARD_STREAM else is_markup(path)
    if as_xml:
        write_text_sets(path, _marked(text, translations, system, kind))
    else:
        write_lines(path, chain.from_iterable(translations))


def _read_marked(source: str | Path, references: Sequence[str | Path]) -> DocumentText:
    """Read a test set; references in XML come before those in text."""
    marked = read_text_sets(source)
    original = _sets_of("source", marked, source)[0]
    documents, numbers = [], count()
    for document in original.documents:
        words = (tuple(split_words(part.text)) for part in document.segments)
        segments = tuple(Segment(next(numbers), one, (), document.identifier) for one in words)
        documents.append(Document(document.identifier, segments))
    size, sets, texts = next(numbers), list[list[str]](), list[list[str]]()
    for file in references:
        if is_markup(file):
            sets += [_in_order(one, original, file) for one in _sets_of("reference", read_text_sets(file), file)]
        else:
            texts.append(read_segment_lines(file, size))
    groups = list(zip(*sets, *texts, strict=True)) if references else [()] * size
    return with_references(DocumentText(documents, replace(marked, sets=(original,))), groups)


def _in_order(reference: TextSet, source: TextSet, file: str | Path) -> list[str]:
    """Return the texts of a reference for the segments of the source; both must have the same ids."""
    have, want = (
        {document.identifier: {part.identifier: part.text for part in document.segments} for document in one.documents}
        for one in (reference, source)
    )
    named = f"reference {reference.name}".rstrip()
    for one, other, owner in ((want, have, named), (have, want, "the source")):
        for document, segments in one.items():
            if document not in other:
                raise file_error(file, None, f"{owner} has no document {document}", SAME_IDS)
            if missing := [part for part in segments if part not in other[document]]:
                raise file_error(file, None, f"{owner} has no segment {missing[0]} of document {document}", SAME_IDS)
    return [have[document][part] for document, segments in want.items() for part in segments]


def _sets_of(kind: Kind, text: MarkedText, file: str | Path) -> list[TextSet]:
    """Return the one source, or all references, at least one."""
    sets = [one for one in text.sets if one.kind == kind]
    if not sets or (kind == "source" and len(sets) > 1):
        kinds = ", ".join(f"{one.kind} {one.name}".rstrip() for one in text.sets)
        message = f"has {len(sets) or 'no'} {kind}{'s' if sets else ''}, but {kinds}"
        remedy = "give a file with one source" if kind == "source" else "give a file with references"
        raise file_error(file, None, message, remedy)
    return sets


def _require_names(documents: Sequence[Document], file: str | Path) -> None:
    """Refuse documents without an id, and a document that comes back after another one."""
    begun = dict[str, int]()
    for document in documents:
        line = document.segments[0].index + 1
        if not document.identifier.strip():
            raise file_error(file, line, "no document id", "give one in each line")
        if first := begun.get(document.identifier):
            message = f"document {document.identifier} comes back after others (first in line {first})"
            remedy = "sort the lines of all files by document, or give the second part another id"
            raise file_error(file, line, message, remedy)
        begun[document.identifier] = line


def _marked(text: DocumentText, translations: Sequence[Sequence[str]], system: str, kind: Kind) -> MarkedText:
    """Return translations in the form of the source; without XML, segments are numbered from 1 in each document."""
    original = text.marked or _plain(text.documents)
    source = original.sets[0]
    documents = []
    for document, lines in zip(source.documents, translations, strict=True):
        pairs = zip(document.segments, lines, strict=True)
        documents.append(replace(document, segments=tuple(replace(segment, text=line) for segment, line in pairs)))
    nist = original.form == "nist"  # in the other one, the language of the source is not that of a translation
    about = {name: source.attributes.get(name, value) for name, value in SET.items()} if nist else {}
    return replace(original, sets=(TextSet(kind, tuple(documents), system, about),))


def _plain(documents: Sequence[Document]) -> MarkedText:
    marked = []
    for document in documents:
        segments = tuple(MarkedSegment(str(number), "") for number in range(1, len(document.segments) + 1))
        marked.append(MarkedDocument(document.identifier or "1", segments))
    return MarkedText("nist", (TextSet("source", tuple(marked)),))


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
    content = read_whole(path, read_blocks(path))
    declared = content.find(b"<!DOCTYPE")
    if declared >= 0 and (definition := DEFINITION.search(content, declared)):
        name = definition[1].decode("utf-8", "replace")
        remedy = "write characters themselves, and &amp; &lt; &gt; for the three that must not stand alone"
        raise file_error(path, None, f"defines the entity {name}, which is not allowed", remedy)
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        message = f"not well-formed XML: {str(error.msg).partition(', line ')[0].strip()}"
        remedy = f"correct this line; {INCOMPLETE}; if it is SGM, which is less strict, name it .sgm"
        raise file_error(path, error.lineno or 1, message, remedy) from None
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
    text = FORBIDDEN.sub("\ufffd", read_whole(path, read_blocks(path)).decode("utf-8"))
    root = etree.Element("sgm")
    opened, place, line = [root], 0, 1
    waiting: list[str] = []  # texts between tags that are passed over, to be joined at once
    for tag in TAG.finditer(text):
        waiting.append(text[place : tag.start()])
        line += text.count("\n", place, tag.start())
        name = tag[2].lower()
        if name in TAGS and not (opened[-1].tag == "seg" and not tag[1] and name != "seg"):
            _add_text(opened[-1], unescape("".join(waiting), {"&quot;": '"', "&apos;": "'"}))
            waiting = []
            if tag[1]:
                _close(opened, name, path, line)
            else:
                if opened[-1].tag == name == "p":
                    opened.pop()
                attributes = {key.lower(): value.strip("\"'") for key, value in ATTRIBUTE.findall(tag[3])}
                opened.append(etree.SubElement(opened[-1], name, attributes))
                if line <= LAST_LINE:
                    opened[-1].sourceline = line
        line += tag[0].count("\n")
        place = tag.end()
    if any(element.tag not in ("sgm", "dataset", "p") for element in opened):
        raise file_error(path, None, "ends inside a document", INCOMPLETE)
    return root


def _add_text(element: Any, text: str) -> None:
    last = next(element.iterchildren(reversed=True), None)  # lxml counts all children for element[-1]
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        element.text = (element.text or "") + text


def _close(opened: list[Any], name: str, path: str | Path, line: int) -> None:
    """End an element of SGM, with paragraphs that are open in it; ends of unopened elements are ignored."""
    if name not in [element.tag for element in opened]:
        if name == "seg":
            raise file_error(path, line, "</seg> without <seg>", "remove it")
        return
    while name != "p" and opened[-1].tag == "p":
        opened.pop()
    if opened[-1].tag == "seg" != name:
        raise file_error(path, opened[-1].sourceline, "a segment that does not end", "write </seg> after it")
    if opened[-1].tag != name:
        raise file_error(path, line, "ends inside a document", INCOMPLETE)
    opened.pop()


def read_text_sets(path: str | Path) -> MarkedText:
    """Read all sets of a file; `.gz` is unpacked, `-` is standard input."""
    root = _read_sgm(path) if _ends(path, SGM) else read_tree(path)
    return _TextSetReader(path).read(root)


def write_text_sets(path: str | Path, text: MarkedText) -> None:
    """Write sets to a file atomically; `-` is standard output."""
    write_lines(path, _wmt_lines(text) if text.form == "wmt" else _nist_lines(text))


class _TextSetReader:
    """Collects the sets of a tree; elements between documents and segments are ignored."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
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
            raise file_error(self._path, None, "has no documents", FORMS)
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
            remedy = "give each document a unique id, and each reference a unique name (refid)"
            raise self._error(f"a second document {identifier} in {f'{kind} {name}'.rstrip()}", element, remedy)
        attributes = _without(document.attrib, "docid", "id", "sysid")
        documents[identifier] = MarkedDocument(identifier, self._segments(element), attributes)

    def _segments(self, element: Any) -> tuple[MarkedSegment, ...]:
        found: dict[str, MarkedSegment] = {}
        numbers = {paragraph: number for number, paragraph in enumerate(element.iter("p"), start=1)}
        for part in element.iter("seg"):
            identifier = self._required(part, "id")
            if identifier in found:
                raise self._error(f"a second segment {identifier} in one document", part, "give each a unique id")
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
        return file_error(self._path, element.sourceline, message, remedy)


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
    """Replace control characters, which XML cannot hold even escaped."""
    return FORBIDDEN.sub("\ufffd", text)
