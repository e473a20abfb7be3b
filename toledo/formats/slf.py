"""Lattices in HTK's standard lattice format (SLF), as recognizers, SRILM and Moses write them.

    VERSION=1.1
    UTTERANCE=0
    base=2.718281828459045
    N=3 L=3
    I=0
    I=1
    I=2
    J=0 S=0 E=1 W=the a=-1.5 l=-0.2
    J=1 S=0 E=1 W=a a=-2.5 l=-0.1
    J=2 S=1 E=2 W=house a=-0.5 l=-0.3

Words are on links or on the nodes that links lead to; `!NULL` and sentence boundaries are no words. Numbers on links
are features: `a`, `l`, `n`, `r`, `x1`, `x2` … are logarithms to the base that the header names (e by default, 0 for
probabilities) and become natural ones, any other name stays as it is. The scales of the header are the weights of
the system that wrote the lattice.

The syntax is that of the HTK Book, chapter "HTK Standard Lattice Format". A value may be in quotes of either kind; a
backslash makes the next character an ordinary one, or stands with three octal digits for one byte of UTF-8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toledo.errors import InputError
from toledo.files import file_error, read_lines
from toledo.forest.constructors import Arc, from_lattice
from toledo.forest.forest import Forest
from toledo.formats.fields import (
    WordLattice,
    dense_names,
    lattice_of,
    number_text,
    parse_number,
    without_base,
    words_text,
)
from toledo.text.vocabulary import Vocabulary, split_words

FIELD = re.compile(
    r"""\s*([^\s=]+)=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?:[^\s"'\\]|\\.)(?:[^\s\\]|\\.)*|(?=\s|$))(?=\s|$)"""
)
ESCAPE = re.compile(r"((?:\\[0-7]{3})+)|\\(.)")
NEEDS_QUOTES = re.compile(r"[\s\"'\\]")

LONG_NAMES = {
    "VERSION": "V", "UTTERANCE": "U", "NODES": "N", "LINKS": "L", "START": "S", "END": "E", "WORD": "W",
    "time": "t", "var": "v", "div": "d", "acoustic": "a", "language": "l", "ngram": "n",
}  # fmt: skip

NO_WORDS = {"!NULL", "!SENT_START", "!SENT_END", "<s>", "</s>"}
RESERVED = re.compile(rf"^({'|'.join(map(re.escape, sorted(NO_WORDS)))})$")
WORD_COUNT = "words"  # the feature that the word penalty weighs
LOWEST = -100.0  # for the logarithm of 0
SCALES = {"acscale": "a", "lmscale": "l", "ngscale": "n", "prscale": "r"}
LOGARITHMS = re.compile(r"[alnr]|x\d+")
NOT_FEATURES = {*"IJSEWtvdsLk"}  # places, times, variants, semantics, sub-lattices
SIZES = "the header must say N=nodes L=links"

Fields = dict[str, str]


@dataclass
class _SLFBlock:
    """One lattice: the lines of fields of its header, nodes and links with their line numbers, and what they mean."""

    file: str | Path
    line: int
    header: Fields = field(default_factory=dict)
    node_lines: list[tuple[int, Fields]] = field(default_factory=list)
    links: list[tuple[int, Fields]] = field(default_factory=list)
    nodes: dict[int, Fields] = field(default_factory=dict)
    scale: float | None = 1.0

    def error(self, line: int, message: str, remedy: str) -> InputError:
        """Return an error in this file."""
        return file_error(self.file, line, message, remedy)

    def read(self) -> tuple[list[Arc], int, list[int], dict[str, float]]:
        self.scale = self.log_scale()
        if "SUBLAT" in self.header:
            raise self.error(self.line, "a sub-lattice", "expand sub-lattices first")
        size, count = (self.whole(self.header, key, self.line, SIZES) for key in "NL")
        if count != len(self.links):
            raise self.error(self.line, f"{len(self.links)} links instead of {count}", "is the file complete?")
        if len(self.node_lines) > size:
            raise self.error(self.line, f"{len(self.node_lines)} nodes instead of {size}", "is the file complete?")
        for line, fields in self.node_lines:
            self.add_node(line, fields, size)
        penalty = self.header_number("wdpenalty", 0.0) * (self.scale or 1.0)
        arcs = [self.arc(line, fields, size, bool(penalty)) for line, fields in self.links]
        start, finals = self.ends(arcs, size)
        weights = self.weights(arcs) | ({WORD_COUNT: penalty} if penalty else {})
        opening = _words(self.nodes.get(start, {}).get("W"))
        if opening:  # a word on the start node comes before all others
            features = {WORD_COUNT: float(len(opening))} if penalty else {}
            arcs.append(Arc(size, start, opening, features))
            start = size
        return arcs, start, finals, weights

    def log_scale(self) -> float | None:
        """Return the factor from the file's logarithms to natural ones; None for probabilities."""
        base = self.header_number("base", math.e)
        if base < 0 or base == 1:
            raise self.error(self.line, f"base={base}", "write base=2.718281828459045, 10, … or 0")
        if base == 0:
            return None
        return 1.0 if math.isclose(base, math.e, rel_tol=1e-6) else math.log(base)

    def add_node(self, line: int, fields: Fields, size: int) -> None:
        number = self.whole(fields, "I", line, "number the nodes 0, 1, 2, …")
        if number >= size:
            raise self.error(line, f"node {number} of {size}", "nodes are numbered from 0")
        if number in self.nodes:
            raise self.error(line, f"node {number} is defined twice", "give each node a unique number")
        if "L" in fields:
            raise self.error(line, "a sub-lattice", "expand sub-lattices first")
        self.nodes[number] = fields

    def arc(self, line: int, fields: Fields, size: int, count_words: bool) -> Arc:
        start, end = (self.whole(fields, key, line, "a link needs S=start E=end") for key in "SE")
        if max(start, end) >= size:
            raise self.error(line, f"a link to node {max(start, end)} of {size}", "nodes are numbered from 0")
        if start == end:
            raise self.error(line, f"a link from node {start} to itself", "a lattice has no cycles")
        merged = {**self.nodes.get(end, {}), **fields}
        features, base = without_base(self.features(line, merged))
        words = _words(merged.get("W"))
        if count_words and words:
            features = {**features, WORD_COUNT: float(len(words))}
        return Arc(start, end, words, features, base)

    def features(self, line: int, fields: Fields) -> dict[str, float]:
        features = {}
        for name, text in fields.items():
            if name in NOT_FEATURES:
                continue
            try:
                value = parse_number(text)
            except ValueError as error:
                raise self.error(line, f"{name}: {error}", "features are finite numbers") from None
            features[name] = self.natural(line, value) if LOGARITHMS.fullmatch(name) else value
        return features

    def natural(self, line: int, value: float) -> float:
        if self.scale is not None:
            return value * self.scale
        if value < 0:
            remedy = "base=0 means that numbers are not logarithms"
            raise self.error(line, f"{value} is not a probability", remedy)
        return math.log(value) if value else LOWEST

    def ends(self, arcs: list[Arc], size: int) -> tuple[int, list[int]]:
        """Return the start and the ends: from the header, or else the nodes without a link to or from them."""
        heads, tails = {arc.end for arc in arcs}, {arc.start for arc in arcs}
        used = heads | tails or {0}
        starts, finals = sorted(used - heads), sorted(used - tails)
        header, line = self.header, self.line
        if "start" in header:
            starts = [self.whole(header, "start", line, "write start=0")]
        if "end" in header:
            finals = [self.whole(header, "end", line, "write end=9")]
        if len(starts) != 1:
            found = "no node" if not starts else f"nodes {', '.join(map(str, starts[:5]))}"
            raise self.error(line, f"no one start: {found} without a link to it", "say start=… in the header")
        if not finals:
            raise self.error(line, "every node has a link from it", "a lattice has no cycles; say end=…")
        if not {*starts, *finals} <= used:
            raise self.error(line, "the start or the end has no link", f"there are {size} nodes, from 0")
        return starts[0], finals

    def weights(self, arcs: list[Arc]) -> dict[str, float]:
        """Return weights as HTK and SRILM do: likelihoods weigh 1 unless the header has a scale; `x1` … weigh 0."""
        present = {name for arc in arcs for name in arc.features}
        weights = {name: self.header_number(scale, 1.0) for scale, name in SCALES.items() if name in present}
        for name in present:
            if re.fullmatch(r"x\d+", name):
                weights[name] = self.header_number(f"{name}scale", 0.0)
        return weights

    def header_number(self, key: str, default: float) -> float:
        if key not in self.header:
            return default
        try:
            return parse_number(self.header[key])
        except ValueError as error:
            raise self.error(self.line, f"{key}: {error}", "write a number") from None

    def whole(self, fields: Fields, key: str, line: int, remedy: str) -> int:
        text = fields.get(key, "")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise self.error(line, f"{key}={text}" if text else f"no {key}=", remedy)
        return int(text)


def _read_blocks(path: str | Path) -> Iterator[_SLFBlock]:
    """Read the lattices of a file; a header after links begins the next one."""
    block = _SLFBlock(path, 1)
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line, path, number)
        if "I" in fields:
            block.node_lines.append((number, fields))
        elif "J" in fields:
            block.links.append((number, fields))
        else:
            if block.node_lines or block.links:
                yield block
                block = _SLFBlock(path, number)
            block.header.update(fields)
    if block.header or block.node_lines or block.links:
        yield block


def _fields(line: str, file: str | Path, number: int) -> Fields:
    fields: Fields = {}
    place = 0
    text = line.rstrip()
    while place < len(text):
        match = FIELD.match(text, place)
        if not match:
            message = f"{text[place:].strip()[:40]!r} is not a field"
            raise file_error(file, number, message, "write name=value with white space between")
        key = LONG_NAMES.get(match[1], match[1])
        if key in fields:
            raise file_error(file, number, f"{match[1]} occurs twice", "keep one of them")
        fields[key] = _unquoted(match[2], file, number)
        place = match.end()
    return fields


def _unquoted(text: str, file: str | Path, number: int) -> str:
    def replace(match: re.Match[str]) -> str:
        if not match[1]:
            return str(match[2])
        codes = [int(code, 8) for code in match[1].split("\\")[1:]]
        try:
            return bytes(codes).decode("utf-8")
        except ValueError:
            raise file_error(file, number, f"{match[1]} is not UTF-8", "write the character itself") from None

    if text[:1] in ("'", '"'):
        text = text[1:-1]
    return ESCAPE.sub(replace, text) if "\\" in text else text


@dataclass(frozen=True)
class SlfLattice:
    """A lattice and the weights that its header gives to its features; none if it knows none of them."""

    name: str
    forest: Forest
    weights: dict[str, float]


def read_slf(
    path: str | Path, vocabulary: Vocabulary, feature_names: Sequence[str] | None = None
) -> Iterator[SlfLattice]:
    """Read the lattices of a file, mostly one. Without names, the features of the first lattice are dense."""
    names = None if feature_names is None else tuple(feature_names)
    for block in _read_blocks(path):
        arcs, start, finals, weights = block.read()
        if names is None:
            names = dense_names(arc.features for arc in arcs)
        try:
            forest = from_lattice(arcs, start, finals, names, vocabulary)
        except InputError as error:
            raise block.error(block.line, error.message, error.remedy or "") from None
        yield SlfLattice(block.header.get("U", ""), forest, {**dict.fromkeys(names, 0.0), **weights} if weights else {})


def slf_text(forest: Forest, number: int = 0) -> str:
    """Return the lines of one lattice, named by its number."""
    return "".join(f"{line}\n" for line in _lines(lattice_of(forest), str(number)))


def _words(text: str | None) -> list[str]:
    return [] if text is None or text in NO_WORDS else split_words(text)


def _lines(lattice: WordLattice, name: str) -> Iterator[str]:
    yield from ("VERSION=1.1", f"UTTERANCE={name}", f"base={math.e!r}", "start=0", f"end={lattice.states - 1}")
    yield f"N={lattice.states} L={len(lattice.arcs)}"
    yield from (f"I={state}" for state in range(lattice.states))
    for number, arc in enumerate(lattice.arcs):
        word = "!NULL" if arc.word is None else words_text([arc.word], "SLF", RESERVED)
        if NEEDS_QUOTES.search(word):
            word = '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
        features = "".join(f" {_field(key)}={number_text(value)}" for key, value in arc.features.items())
        yield f"J={number} S={arc.start} E={arc.end} W={word}{features}"


def _field(name: str) -> str:
    if name in NOT_FEATURES or name in LONG_NAMES or re.search(r"[\s=]", name) or not name:
        raise InputError(f"SLF has no field for a feature named {name!r}", remedy="give the feature another name")
    return name
