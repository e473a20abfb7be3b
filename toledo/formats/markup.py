"""Elements of XML and SGM files, one after the other, with the lines where they stand.

XML is read with defusedxml: files that define entities, which can grow without end, are refused. A DTD that a file
names (as NIST's do) is not fetched.
Files called .sgm are not XML: old test sets have bare ampersands, tags in capitals and attributes without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml import DefusedXmlException
from defusedxml.expatreader import create_parser

from toledo.errors import InputError
from toledo.files import display_name, read_blocks

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
