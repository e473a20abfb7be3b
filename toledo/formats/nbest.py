"""N-best lists as lines: Moses, cdec, Joshua, Marian; and plain text with a fixed number of lines per segment.

    0 ||| the house ||| LM0= -1.2 TM0= -1 -2 -3 ||| -4.5 ||| 0=0 1=1 ||| 0-0 1-1
    0 ||| the house ||| lm: -1.2 tm: -1 -2 -3 ||| -4.5
    0 ||| the house ||| lm=-1.2 tm_0=-2 ||| -4.5

A label with several values stands for several features, TM0_1, TM0_2 …, which is also what Moses calls them in its
hypergraphs. All fields after the second may be missing; a lone third field with one bare number is the score.

The source words of a hypothesis are written in three ways: `|0-1|` after each phrase of the text
(-report-segmentation), `0-1=0-2` for each phrase in a field, and `0-0` for each pair of linked words in another.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Literal

from toledo.errors import InputError
from toledo.files import display_name, file_error, read_bytes_lines, whole_number, write_lines
from toledo.forest.constructors import FeatureValues
from toledo.formats.fields import LARGEST, number_text, parse_number, words_text
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan, in_lists

log = logging.getLogger(__name__)

Links = tuple[tuple[int, int], ...]
Phrases = tuple[PhraseSpan, ...]
Style = Literal["moses", "cdec"]

SEPARATOR = b" ||| "
UNLABELED = b"feature"
LABEL_ENDS = b"=:"
EQUALS = ord("=")
LAYOUT = "write: segment ||| words ||| Name= value … ||| score"

BARS = re.compile(r"\|\|\|")
FIRST_OF_SEVERAL = re.compile(r"(.+)_1")
MARK = re.compile(r"\|(\d{1,9})-(\d{1,9})\|", re.ASCII)
NOT_MARKED = re.compile(r"\|\|\||(^|\s)\|\d+-\d+\|(\s|$)")
NOT_TEXT = re.compile(r"\|\|\||(^|\s)\|\d+-\d+\|$")  # the latter would be a mark of segmentation
NO_BLANK = re.compile(rb"\s*\d+(?=\|\|\| )")  # Moses' tools read a number without a blank behind it, too
LINKS = re.compile(rb"\s*(\d{1,9}-\d{1,9}(\s+|$))*")
PHRASES = re.compile(rb"\s*(\d{1,9}(-\d{1,9})?=(\d{1,9}(-\d{1,9})?)?(\s+|$))*")


def split_marks(words: list[str]) -> tuple[list[str], Phrases]:
    """Return words and phrases from text with |i-j| after each phrase; other text has no marks."""
    if not words or words[-1][-1] != "|" or not MARK.fullmatch(words[-1]):
        return words, ()
    plain: list[str] = []
    phrases = []
    start = 0
    for token in words:
        if match := MARK.fullmatch(token):
            phrases.append(PhraseSpan(range(int(match[1]), int(match[2]) + 1), range(start, len(plain))))
            start = len(plain)
        else:
            plain.append(token)
    return plain, tuple(phrases)


def marked_text(entry: Entry) -> str:
    """Return text with |i-j| after each phrase; refuse words that look like such marks."""
    parts = []
    for source, target in entry.phrases:
        words = words_text(entry.words[target.start : target.stop], "text with segmentation", NOT_MARKED)
        parts.append(f"{words} |{source[0]}-{source[-1]}|")
    return " ".join(parts)


def parse_links(field: bytes) -> Links | None:
    """Return word links, or None if the field is something else."""
    if not LINKS.fullmatch(field):
        return None
    return tuple((int(source), int(target)) for source, _, target in (t.partition(b"-") for t in field.split()))


def parse_phrases(field: bytes) -> Phrases | None:
    """Return phrases, or None if the field is something else; nothing after `=` is an empty target side."""
    if not PHRASES.fullmatch(field):
        return None
    pairs = (token.split(b"=") for token in field.split())
    return tuple(PhraseSpan(_positions(source), _positions(target)) for source, target in pairs)


def links_text(links: Links) -> str:
    """Return word links as a field."""
    return " ".join(f"{source}-{target}" for source, target in links)


def phrases_text(phrases: Phrases) -> str:
    """Return phrases as a field."""
    return " ".join(f"{_positions_text(span.source)}={_positions_text(span.target)}" for span in phrases)


def _positions(text: bytes) -> range:
    """Return the positions of `1-4` or `1`."""
    if not text:
        return range(0)
    first, _, last = text.partition(b"-")
    return range(int(first), int(last or first) + 1)


def _positions_text(positions: range) -> str:
    if len(positions) < 2:
        return str(positions[0]) if positions else ""
    return f"{positions[0]}-{positions[-1]}"


def read_nbest(path: str | Path) -> Iterator[NBestList]:
    """Read the lists of a file, one segment at a time from 0; `-` is standard input, `.gz` is unpacked."""
    return in_lists(_entries(path), path)


def read_plain_nbest(path: str | Path, size: int) -> Iterator[NBestList]:
    """Read the lists of a file with `size` lines of text for each segment."""
    entries: list[Entry] = []
    segments = count()
    line = 0
    for line, text in enumerate(read_bytes_lines(path), start=1):  # noqa: B007 (for the error below)
        entries.append(Entry(_words(text), raw_text=text.decode()))
        if len(entries) == size:
            yield NBestList(next(segments), tuple(entries))
            entries = []
    if entries:
        message = f"has {line} lines, which is not a multiple of {size}"
        raise file_error(path, None, message, "check the number of hypotheses per segment")


def write_nbest(lists: Iterable[NBestList], path: str | Path, style: Style = "moses") -> None:
    """Write lists atomically; fields after the text only as far as something is known."""
    lines = nbest_lines(style)
    write_lines(path, (line for some in lists for line in lines(some)))


def nbest_lines(style: Style = "moses", *, marked: bool = False) -> Callable[[NBestList], Iterator[str]]:
    """Return a function for the lines of one list after the other.

    With `marked`, phrases are in the text (|i-j|), not in a separate field.
    """
    features_text = _MosesText() if style == "moses" else _cdec_text
    return lambda some: (_line(some.segment, entry, features_text, marked) for entry in some.entries)


def _entries(path: str | Path) -> Iterator[tuple[int, int, Entry]]:
    parser = _Parser(display_name(path))
    for line, content in enumerate(read_bytes_lines(path), start=1):
        try:
            yield line, *parser.parse(content, line)
        except ValueError as error:
            raise file_error(path, line, str(error), LAYOUT) from None


class _Parser:
    """Parses lines of one file; remembers how many values each label has, which must not change."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.names: dict[bytes, tuple[str, ...]] = {}
        self.ignored: set[int] = set()

    def parse(self, line: bytes, number: int) -> tuple[int, Entry]:
        if number_alone := NO_BLANK.match(line):
            line = number_alone[0] + b" " + line[number_alone.end() :]
        while b"||| |||" in line:  # an empty field with one space: make it two, so that each separator has its own
            line = line.replace(b"||| |||", b"|||  |||")
        fields = (b" " + line + b" ").split(SEPARATOR)
        segment = whole_number(fields[0].strip().decode())
        if segment is None:
            raise ValueError(f"{fields[0].strip().decode()!r} is not the number of a segment")
        if len(fields) < 2:
            raise ValueError("no text after the number of the segment")
        words, phrases = split_marks(_words(fields[1]))
        features, score = self.values(fields)
        links: Links = ()
        if len(fields) > 4:
            given, links = self.alignments(fields, number)
            phrases = given or phrases
        return segment, Entry(words, features, 0.0, score, phrases, links)

    def values(self, fields: list[bytes]) -> tuple[dict[str, float], float | None]:
        """Return features and score from the third and the fourth field."""
        if len(fields) < 3:
            return {}, None
        if len(fields) == 3:
            tokens = fields[2].split()
            if len(tokens) == 1 and EQUALS not in tokens[0]:
                return {}, parse_number(tokens[0].decode())
        features = self.features(fields[2])
        score = fields[3].strip() if len(fields) > 3 else b""
        return features, parse_number(score.decode()) if score else None

    def features(self, field: bytes) -> dict[str, float]:
        features: dict[str, float] = {}
        label, values, open_label = UNLABELED, list[float](), False
        tokens = field.split()
        try:
            for token in tokens:
                if token[-1] in LABEL_ENDS:
                    if values or open_label:
                        self.add(features, label, values)
                    label, values, open_label = token[:-1], [], True
                elif EQUALS in token:
                    name, _, value = token.rpartition(b"=")
                    self.add(features, name, [float(value)])
                else:
                    values.append(float(token))
            if values or open_label:
                self.add(features, label, values)
        except ValueError:
            _explain(tokens)
            raise
        if not -LARGEST <= sum(features.values()) <= LARGEST:
            _explain(tokens)
        return features

    def add(self, features: dict[str, float], label: bytes, values: list[float]) -> None:
        names = self.names.get(label)
        if names is None:
            names = self.names[label] = _names(label.decode(), len(values))
        if len(names) != len(values):
            raise ValueError(f"{label.decode()} has {len(values)} values, but {len(names)} before")
        if names[0] in features:
            raise ValueError(f"{label.decode()} occurs twice")
        if len(values) == 1:
            features[names[0]] = values[0]
        else:
            features.update(zip(names, values, strict=True))

    def alignments(self, fields: list[bytes], number: int) -> tuple[Phrases, Links]:
        """Return phrases and links from the fifth field on, in any order; other fields are ignored."""
        phrases: Phrases = ()
        links: Links = ()
        for place, field in enumerate(fields[4:], start=5):
            if (found_links := parse_links(field)) is not None:
                links = links or found_links
            elif (found_phrases := parse_phrases(field)) is not None:
                phrases = phrases or found_phrases
            elif place not in self.ignored:
                self.ignored.add(place)
                log.warning("%s:%d: field %d is not an alignment: such fields are ignored", self.file, number, place)
        return phrases, links


def _words(text: bytes) -> list[str]:
    """Return the words of a field, which is split at ASCII white space alone."""
    words = text.split()
    return b" ".join(words).decode("utf-8").split(" ") if words else []


def _names(label: str, size: int) -> tuple[str, ...]:
    if not label:
        raise ValueError("a value without a name")
    if not size:
        raise ValueError(f"{label} has no value")
    return (label,) if size == 1 else tuple(f"{label}_{place}" for place in range(1, size + 1))


def _explain(tokens: Iterable[bytes]) -> None:
    """Find the value that is not a finite number and say so."""
    for token in tokens:
        if token[-1] not in LABEL_ENDS:
            parse_number(token.rpartition(b"=")[2].decode())


def _line(segment: int, entry: Entry, features: Callable[[FeatureValues], str], marked: bool) -> str:
    text = marked_text(entry) if marked else words_text(entry.words, "an n-best list", NOT_TEXT)
    fields = [str(segment), text]
    phrases = "" if marked else phrases_text(entry.phrases)
    alignments = [text for text in (phrases, links_text(entry.links)) if text]
    if entry.all_features or entry.score is not None or alignments:
        fields.append(features(entry.all_features))
    if entry.score is not None or alignments:
        fields.append("" if entry.score is None else number_text(entry.score))
    return " ||| ".join((*fields, *alignments))


def _cdec_text(features: FeatureValues) -> str:
    words_text(features, "an n-best list as the name of a feature", BARS)
    return " ".join(f"{name}={number_text(value)}" for name, value in features.items())


class _MosesText:
    """Features with labels: TM0_1, TM0_2 … in a row become values of TM0, if they are always as many."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    def __call__(self, features: FeatureValues) -> str:
        words_text(features, "an n-best list as the name of a feature", BARS)
        return " ".join(f"{label}= {' '.join(map(number_text, values))}" for label, values in self.grouped(features))

    def grouped(self, features: FeatureValues) -> Iterator[tuple[str, list[float]]]:
        names = list(features)
        place = 0
        while place < len(names):
            match = FIRST_OF_SEVERAL.fullmatch(names[place])
            size = self.run(names, place, match[1]) if match else 1
            label = match[1] if match and size > 1 else names[place]
            if self.sizes.setdefault(label, size) != size:
                message = f"features {label}_1 and later {label}: both would be labels {label}= in an n-best list"
                raise InputError(message, remedy="rename one of them, or write JSON")
            yield label, [features[name] for name in names[place : place + size]]
            place += size

    def run(self, names: list[str], place: int, label: str) -> int:
        """Return the number of names from a place on that are values of a label; 1 if they cannot be grouped."""
        size = 0
        while place + size < len(names) and names[place + size] == f"{label}_{size + 1}":
            size += 1
        return size if self.sizes.get(label, size) == size and label not in names else 1
