"""The syntax of HTK's standard lattice format: lines of fields `name=value`, quotes and escapes, comments.

The HTK Book, chapter "HTK Standard Lattice Format". A value may be in quotes of either kind; a backslash makes the next
character an ordinary one, or stands with three octal digits for one byte of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from toledo.errors import InputError
from toledo.files import display_name, read_lines

FIELD = re.compile(
    r"""\s*([^\s=]+)=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?:[^\s"'\\]|\\.)(?:[^\s\\]|\\.)*|(?=\s|$))(?=\s|$)"""
)
ESCAPE = re.compile(r"((?:\\[0-7]{3})+)|\\(.)")
NEEDS_QUOTES = re.compile(r"[\s\"'\\]")

LONG_NAMES = {
    "VERSION": "V", "UTTERANCE": "U", "NODES": "N", "LINKS": "L", "START": "S", "END": "E", "WORD": "W",
    "time": "t", "var": "v", "div": "d", "acoustic": "a", "language": "l", "ngram": "n",
}  # fmt: skip

Fields = dict[str, str]


@dataclass
class Block:
    """One lattice as lines of fields: the header, nodes and links with their line numbers."""

    file: str
    line: int
    header: Fields = field(default_factory=dict)
    nodes: list[tuple[int, Fields]] = field(default_factory=list)
    links: list[tuple[int, Fields]] = field(default_factory=list)

    def error(self, line: int, message: str, remedy: str) -> InputError:
        """An error in this file."""
        return InputError(message, file=self.file, line=line, remedy=remedy)


def read_slf_blocks(path: str | Path) -> Iterator[Block]:
    """The lattices of a file; a header after links begins the next one."""
    name = display_name(path)
    block = Block(name, 1)
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line, name, number)
        if "I" in fields:
            block.nodes.append((number, fields))
        elif "J" in fields:
            block.links.append((number, fields))
        else:
            if block.nodes or block.links:
                yield block
                block = Block(name, number)
            block.header.update(fields)
    if block.header or block.nodes or block.links:
        yield block


def quoted(text: str) -> str:
    """A value as it stands in a file."""
    if text and not NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(line: str, file: str, number: int) -> Fields:
    fields: Fields = {}
    place = 0
    text = line.rstrip()
    while place < len(text):
        match = FIELD.match(text, place)
        if not match:
            rest = text[place:].strip()
            raise InputError(
                f"{rest[:40]!r} is not a field",
                file=file,
                line=number,
                remedy="write name=value with white space between",
            )
        key = LONG_NAMES.get(match[1], match[1])
        if key in fields:
            raise InputError(f"{match[1]} is there twice", file=file, line=number, remedy="keep one of them")
        fields[key] = _unquoted(match[2], file, number)
        place = match.end()
    return fields


def _unquoted(text: str, file: str, number: int) -> str:
    def replace(match: re.Match[str]) -> str:
        if not match[1]:
            return str(match[2])
        codes = [int(code, 8) for code in match[1].split("\\")[1:]]
        try:
            return bytes(codes).decode("utf-8")
        except ValueError:
            raise InputError(
                f"{match[1]} is not UTF-8", file=file, line=number, remedy="write the character itself"
            ) from None

    if text[:1] in ("'", '"'):
        text = text[1:-1]
    return ESCAPE.sub(replace, text) if "\\" in text else text
