"""Lines of Moses' tables, block by block: words, probabilities and links as arrays, errors with line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import display_name, read_blocks
from toledo.formats.moses_fields import (
    NONE,
    Fields,
    Tokens,
    number_words,
    parse_links,
    parse_numbers,
    split_fields,
    split_tokens,
    take_field,
)
from toledo.hashing import slots_for
from toledo.phrases.checks import LONGEST_PHRASE
from toledo.phrases.table import LOWEST_SCORE
from toledo.progress import Progress, silent
from toledo.vocabulary import END, RESERVED, Vocabulary

SOURCE, TARGET, SCORES, ALIGNMENT, COUNTS, SPARSE = range(6)
LARGEST = 1e38  # what single precision holds
LAYOUT = "write: source ||| target ||| scores"


@dataclass(frozen=True)
class LineBlock:
    """Consecutive lines of a file, cut into fields; `before` lines came earlier."""

    path: str | Path
    before: int
    data: NDArray[np.uint8]
    tokens: Tokens
    fields: Fields

    def __len__(self) -> int:
        return self.fields.per_line.size

    def field(self, number: int) -> Tokens:
        """The tokens of one field of each line."""
        return take_field(self.tokens, self.fields.first[number], self.fields.stop[number])

    def phrases(
        self, number: int, vocabulary: Vocabulary, grow: bool = True
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The words of a field as ids, and where each line begins; new words join the vocabulary if it may grow."""
        tokens = self.field(number)
        self._check_lengths(number, np.diff(tokens.offsets))
        numbers, first = number_words(self.data, tokens, slots_for(tokens.begin.size))
        content = self.data.tobytes()
        places = zip(tokens.begin[first].tolist(), tokens.end[first].tolist(), strict=True)
        ids, _ = vocabulary.encode_lines([b" ".join([content[begin:end] for begin, end in places])], grow)
        words = ids[numbers]
        if grow:
            self._refuse_reserved(tokens, words)
        return words, tokens.offsets

    def log_probabilities(self, number: int, columns: int) -> NDArray[np.float32]:
        """The natural logarithms of `columns` probabilities in each line, at least LOWEST_SCORE."""
        tokens = self.field(number)
        wrong = np.flatnonzero(np.diff(tokens.offsets) != columns)
        if wrong.size:
            found = int(tokens.offsets[wrong[0] + 1] - tokens.offsets[wrong[0]])
            raise self.error(
                int(wrong[0]), f"{found} scores instead of {columns}", "give the same scores in every line"
            )
        values = self.numbers(tokens)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(values), LOWEST_SCORE)
        return logs.astype(np.float32).reshape(-1, columns)

    def numbers(self, tokens: Tokens) -> NDArray[np.float64]:
        """Numbers from 0 up to LARGEST."""
        values = parse_numbers(self.data, tokens)
        bad = np.flatnonzero(~((values >= 0) & (values <= LARGEST)))
        if bad.size:
            value = values[bad[0]]
            what = "not a number" if np.isnan(value) else "too large" if value > 0 else "negative"
            raise self.token_error(tokens, int(bad[0]), f"is {what}", "every score and count is a number from 0 up")
        return values

    def links(
        self, source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The links of all lines, and their number in each; `source` and `target` are the lengths of the phrases."""
        tokens = self.field(ALIGNMENT)
        links, counts = parse_links(self.data, tokens), np.diff(tokens.offsets)
        malformed = np.flatnonzero(links[:, 0] == NONE)
        if malformed.size:
            raise self.token_error(
                tokens, int(malformed[0]), "is not a link", "write links as source-target positions from 0: 0-0 1-2"
            )
        lengths = np.repeat(np.stack((source, target), axis=1), counts, axis=0)
        outside = np.flatnonzero((links >= lengths).any(axis=1))
        if outside.size:
            raise self.token_error(
                tokens, int(outside[0]), "links a word outside the phrases", "positions count from 0, source first"
            )
        return links.astype(np.uint8), counts

    def error(self, line: int, message: str, remedy: str) -> InputError:
        """An error in a line of this block, counted from 0."""
        return InputError(message, file=display_name(self.path), line=self.before + line + 1, remedy=remedy)

    def token_error(self, tokens: Tokens, token: int, message: str, remedy: str) -> InputError:
        """An error that quotes a token."""
        line = int(np.searchsorted(tokens.offsets, token, side="right")) - 1
        text = self.data[tokens.begin[token] : tokens.end[token]].tobytes().decode("utf-8")
        return self.error(line, f"{text!r} {message}", remedy)

    def _check_lengths(self, number: int, lengths: NDArray[np.int64]) -> None:
        side = ("source", "target")[number]
        if (empty := np.flatnonzero(lengths == 0)).size:
            raise self.error(int(empty[0]), f"the {side} phrase is empty", "remove the line")
        if (long := np.flatnonzero(lengths > LONGEST_PHRASE)).size:
            raise self.error(int(long[0]), f"the {side} phrase has more than {LONGEST_PHRASE} words", "remove the line")

    def _refuse_reserved(self, tokens: Tokens, words: NDArray[np.int32]) -> None:
        reserved = np.flatnonzero(words <= END)
        if reserved.size:
            remedy = f"remove the line: {' '.join(RESERVED)} are never words of a phrase"
            raise self.token_error(tokens, int(reserved[0]), "is a reserved word", remedy)


def read_line_blocks(path: str | Path, least: int, most: int, progress: Progress = silent) -> Iterator[LineBlock]:
    """Read a table whose lines have `least` to `most` fields."""
    before = 0
    for content in read_blocks(path, progress):
        data = np.frombuffer(content, np.uint8)
        tokens = split_tokens(data)
        block = LineBlock(path, before, data, tokens, split_fields(data, tokens, most))
        _check_fields(block, least, most)
        yield block
        before += len(block)


def _check_fields(block: LineBlock, least: int, most: int) -> None:
    if block.fields.glued != NONE:
        raise block.token_error(block.tokens, block.fields.glued, "has ||| inside a word", "put spaces around |||")
    wrong = np.flatnonzero((block.fields.per_line < least) | (block.fields.per_line > most))
    if wrong.size:
        found, expected = int(block.fields.per_line[wrong[0]]), f"{least}" if least == most else f"{least} to {most}"
        raise block.error(int(wrong[0]), f"{found} fields instead of {expected}", LAYOUT)
