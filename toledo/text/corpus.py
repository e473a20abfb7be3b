"""Text as the toolkit sees it: encoded sentences for training, segments with references and documents for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import Ragged
from toledo.errors import InputError
from toledo.files import count_lines, display_name, is_stream, read_blocks, read_lines, refuse_file_names
from toledo.text.encoding import Encoder
from toledo.text.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary, split_words


class Sentences(Ragged[np.int32]):
    """Encoded sentences: sentence i is `words[offsets[i]:offsets[i + 1]]`."""

    @property
    def words(self) -> NDArray[np.int32]:
        """The words of all sentences."""
        return self.values


@dataclass(frozen=True)
class ParallelCorpus:
    """Encoded sentence pairs with the vocabulary of each side; `lines[i]` is the line that pair i came from, from 1."""

    source: Sentences
    target: Sentences
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    lines: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not len(self.source) == len(self.target) == self.lines.size:
            raise ValueError("the two sides differ in length")

    def __len__(self) -> int:
        return len(self.source)

    def usable(self, max_length: int) -> NDArray[np.bool_]:
        """Return which pairs have 1 to `max_length` words on both sides."""
        longer = np.maximum(self.source.lengths, self.target.lengths)
        shorter = np.minimum(self.source.lengths, self.target.lengths)
        return (longer <= max_length) & (shorter > 0)

    def select(self, keep: NDArray[np.bool_]) -> ParallelCorpus:
        """Return the pairs where `keep` is true."""
        return ParallelCorpus(
            self.source.select(keep),
            self.target.select(keep),
            self.source_vocabulary,
            self.target_vocabulary,
            self.lines[keep],
        )


class WrittenWords(tuple[str, ...]):
    """The words of a text, and the `text` as it was written."""

    text: str

    def __new__(cls, words: Iterable[str], text: str) -> WrittenWords:  # noqa: D102
        made = super().__new__(cls, words)
        made.text = text
        return made


@dataclass(frozen=True)
class Segment:
    """One line to translate: its number from 0, its words, its references (if known) and its document."""

    index: int
    words: tuple[str, ...]
    references: tuple[tuple[str, ...], ...] = ()
    document: str = ""


@dataclass(frozen=True)
class Document:
    """Consecutive segments that belong together."""

    identifier: str
    segments: tuple[Segment, ...]


def read_sentences(path: str | Path, vocabulary: Vocabulary, grow: bool = True) -> Sentences:
    """Encode a text file, one sentence per line; new words join the vocabulary if it may grow."""
    blocks = list(read_sentence_blocks(path, vocabulary, grow))
    if not blocks:
        raise _empty(path)
    return Sentences.from_lengths(
        np.concatenate([block.words for block in blocks]), np.concatenate([block.lengths for block in blocks])
    )


def encode_texts(
    texts: Iterable[str] | Path | str, vocabulary: Vocabulary, name: str, *, grow: bool = True
) -> Sentences:
    """Encode a file or texts; new words join the vocabulary if it may grow. `name` is the argument, for messages."""
    if isinstance(texts, str | Path):
        return read_sentences(texts, vocabulary, grow)
    lines = [as_text(text, name, place) for place, text in enumerate(texts)]
    if not lines:
        raise InputError(f"{name} is empty", argument=name, remedy="give one text or more")
    refuse_file_names(lines, name)
    for place, line in enumerate(lines):
        if "\n" in line:
            raise InputError(
                f"{name}[{place}] contains a line end", argument=name, segment=place, remedy="give one segment per text"
            )
    words, lengths = Encoder(vocabulary, grow).encode("\n".join([*lines, ""]).encode())
    try:
        refuse_reserved_words(None, 0, words, lengths, UNKNOWN if grow else BEGIN)
    except InputError as error:
        segment = (error.line or 1) - 1
        message = f"{name}[{segment}]: {error.message}"
        raise InputError(message, argument=name, segment=segment, remedy=error.remedy) from None
    return Sentences.from_lengths(words, lengths)


def as_text(text: Any, name: str, place: int) -> str:
    """Return a text, or that of a result that stands for a text; refuse anything else."""
    if isinstance(text, str):
        return text
    if hasattr(text, "text") and isinstance(text.text, str):
        return str(text.text)
    raise TypeError(f"{name}[{place}] is {describe_value(text)}, expected str")


def describe_value(value: object) -> str:
    """Return what a value is, for messages about what it should be."""
    return repr(value) if value is None or isinstance(value, int | float) else f"a {type(value).__name__}"


def read_sentence_blocks(path: str | Path, vocabulary: Vocabulary, grow: bool = True) -> Iterator[Sentences]:
    """Encode a text file block by block, for files that need not fit in memory."""
    encoder, done = Encoder(vocabulary, grow), 0
    for block in read_blocks(path):
        words, lengths = encoder.encode(block)
        refuse_reserved_words(display_name(path), done, words, lengths, UNKNOWN if grow else BEGIN)
        yield Sentences.from_lengths(words, lengths)
        done += lengths.size


def read_parallel(
    source: str | Path, target: str | Path, vocabularies: tuple[Vocabulary, Vocabulary] | None = None
) -> ParallelCorpus:
    """Encode a source and a target text of the same number of lines; vocabularies that are given grow by new words."""
    require_parallel(source, target)
    vocabularies = vocabularies or (Vocabulary(), Vocabulary())
    sides = read_sentences(source, vocabularies[0]), read_sentences(target, vocabularies[1])
    _require_equal_counts({display_name(source): len(sides[0]), display_name(target): len(sides[1])})
    return ParallelCorpus(*sides, *vocabularies, np.arange(1, len(sides[0]) + 1))


def require_parallel(*paths: str | Path) -> None:
    """Refuse files that are missing, empty or of different lengths before a kernel is compiled to read them.

    Streams can be read only once, so they are not checked here.
    """
    counts = {display_name(path): count_lines(path) for path in paths if not is_stream(path)}
    for name, lines in counts.items():
        if not lines:
            raise _empty(name)
    _require_equal_counts(counts)


def read_line_pairs(source: str | Path, target: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of two files side by side, without keeping them."""
    counts = {display_name(source): 0, display_name(target): 0}
    for left, right in zip_longest(read_lines(source), read_lines(target)):
        counts[display_name(source)] += left is not None
        counts[display_name(target)] += right is not None
        if left is not None and right is not None:
            yield left, right
    _require_equal_counts(counts)


def read_segments(
    source: str | Path, references: Sequence[str | Path] = (), documents: str | Path | None = None
) -> list[Segment]:
    """Read lines to translate, with any number of references and a file of document ids, line by line."""
    lines = list(read_lines(source))
    reference_lines = [list(read_lines(path)) for path in references]
    identifiers = [""] * len(lines) if documents is None else list(read_lines(documents))
    counts = {display_name(source): len(lines)}
    counts.update({display_name(path): len(text) for path, text in zip(references, reference_lines, strict=True)})
    if documents is not None:
        counts[display_name(documents)] = len(identifiers)
    _require_equal_counts(counts)
    if not lines:
        raise _empty(source)
    split = [[tuple(split_words(line)) for line in text] for text in (lines, *reference_lines)]
    return [
        Segment(index, words, tuple(refs), identifier)
        for index, (identifier, words, *refs) in enumerate(zip(identifiers, *split, strict=True))
    ]


def documents_of(segments: Sequence[Segment]) -> list[Document]:
    """Group consecutive segments of the same document."""
    return [Document(name, tuple(group)) for name, group in groupby(segments, key=lambda segment: segment.document)]


def cut_documents(documents: Sequence[Document], size: int) -> list[Document]:
    """Cut each document into pieces of `size` segments, the last of which may have fewer."""
    return [
        Document(f"{one.identifier}:{number}", one.segments[begin : begin + size])
        for one in documents
        for number, begin in enumerate(range(0, len(one.segments), size), 1)
    ]


def _empty(path: str | Path) -> InputError:
    return InputError("the file is empty", file=display_name(path), remedy="give a text of one sentence per line")


def _require_equal_counts(counts: dict[str, int]) -> None:
    if len(set(counts.values())) > 1:
        listing = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(
            f"the files differ in their number of lines: {listing}",
            remedy="line i of each file must belong together; look for lost or added line ends",
        )


def refuse_reserved_words(
    file: str | None, done: int, words: NDArray[np.int32], lengths: NDArray[np.int64], first: int
) -> None:
    """Refuse words that have a meaning of their own in a text of which `done` lines came before.

    `first` is the first id to refuse: in a text that adds no words, UNKNOWN is any word not seen before.
    """
    reserved = np.flatnonzero((words >= first) & (words <= END))
    if not reserved.size:
        return
    line = int(np.searchsorted(np.cumsum(lengths), reserved[0], side="right"))
    raise InputError(
        f"the reserved word {RESERVED[words[reserved[0]]]} stands in the text",
        file=file,
        line=done + line + 1,
        remedy="remove or escape it (toledo text escape)",
    )
