"""Reading lines of n-grams: line by line where a file must be checked, block by block in compiled code elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import NOT_FOUND, PairIndex, find_pair
from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.files import display_name, read_blocks
from toledo.language_model.backoff import MOST_NEGATIVE
from toledo.progress import Progress
from toledo.text.byte_fields import Tokens, parse_numbers, split_tokens
from toledo.text.encoding import PaddedText, WordIndex, find_word, padded

REMEDY = "make or copy the file again"


@dataclass(frozen=True)
class ARPABlock:
    """Some whole lines, cut at white space."""

    text: PaddedText
    tokens: Tokens

    def __len__(self) -> int:
        return self.tokens.offsets.size - 1

    def words(self, line: int) -> list[bytes]:
        """The words of a line."""
        first, last = self.tokens.offsets[line : line + 2]
        return [self.word(token) for token in range(first, last)]

    def spellings(self, tokens: NDArray[np.int64]) -> list[bytes]:
        """The bytes of many tokens."""
        content, begin, end = self.text.bytes.tobytes(), self.tokens.begin[tokens], self.tokens.end[tokens]
        return [content[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]

    def word(self, token: int) -> bytes:
        """The bytes of a token."""
        return self.text.bytes[self.tokens.begin[token] : self.tokens.end[token]].tobytes()


@dataclass(frozen=True)
class NGramLines:
    """Lines of n-grams: their log10 probabilities and back-off weights, and the tokens that are their words."""

    block: ARPABlock
    first_line: int
    scores: NDArray[np.float32]
    words: NDArray[np.int64]
    backoffs: NDArray[np.float32]


class LineReader:
    """Goes through a file; `line` is the number of lines it has passed."""

    def __init__(self, path: str | Path, progress: Progress) -> None:
        self.line = 0
        self._path = path
        self._blocks = read_blocks(path, progress)
        self._block = _block(b"")
        self._next = 0

    def next_line(self, wanted: str) -> list[bytes]:
        """The words of the next line that has any."""
        while True:
            if not self._more():
                raise self.error(f"the file ends before {wanted}")
            self._next += 1
            self.line += 1
            if words := self._block.words(self._next - 1):
                return words

    def expect(self, text: bytes, place: str) -> None:
        """Pass a line that must be this."""
        found = b" ".join(self.next_line(text.decode()))
        if found != text:
            what = f"expected {text.decode()} {place}, found {found[:80].decode(errors='replace')!r}"
            raise self.error(what, "see that the header gives the true number of n-grams of each order")

    def expect_end(self) -> None:
        """Refuse any text that is left."""
        while self._more():
            self._next += 1
            self.line += 1
            if self._block.words(self._next - 1):
                raise self.error("there is text after the end of the model")

    def ngram_lines(self, order: int, count: int, highest: bool) -> Iterator[NGramLines]:
        """The next `count` lines, each of which must be an n-gram of this order."""
        while count > 0:
            if not self._more():
                raise self.error(f"the file ends within the {order}-grams: {count} more should follow")
            lines = min(count, len(self._block) - self._next)
            yield self._parse(order, lines, highest)
            self._next += lines
            self.line += lines
            count -= lines

    def error(self, message: str, remedy: str = REMEDY, line: int | None = None) -> InputError:
        """An error at a line, the last one passed unless given."""
        return InputError(message, file=display_name(self._path), line=line or max(self.line, 1), remedy=remedy)

    def _more(self) -> bool:
        while self._next == len(self._block):
            content = next(self._blocks, None)
            if content is None:
                return False
            self._block, self._next = _block(content), 0
        return True

    def _parse(self, order: int, lines: int, highest: bool) -> NGramLines:
        offsets = self._block.tokens.offsets[self._next : self._next + lines + 1]
        first, fields = offsets[:-1], np.diff(offsets)
        most = order + (1 if highest else 2)
        wrong = np.flatnonzero((fields < order + 1) | (fields > most))
        if wrong.size:
            raise self._wrong_line(int(wrong[0]), order, highest)
        scores = self._numbers(first, np.arange(lines), "log10 probability")
        positive = np.flatnonzero(scores > 0)
        if positive.size:
            what = f"the log10 probability {scores[positive[0]]:g} is positive"
            raise self.error(what, "the file is damaged or not in log10", self.line + int(positive[0]) + 1)
        backoffs = np.zeros(0 if highest else lines, np.float32)
        if not highest:
            given = np.flatnonzero(fields == most)
            backoffs[given] = self._numbers(offsets[given + 1] - 1, given, "back-off weight")
        words = first[:, None] + np.arange(1, order + 1)
        return NGramLines(self._block, self.line + 1, scores, words, backoffs)

    def _numbers(self, tokens: NDArray[np.int64], lines: NDArray[np.int64], name: str) -> NDArray[np.float32]:
        begin, end = self._block.tokens.begin[tokens], self._block.tokens.end[tokens]
        values = parse_numbers(self._block.text.bytes, Tokens(begin, end, tokens))
        bad = np.flatnonzero(~(np.abs(values) < -MOST_NEGATIVE))
        if bad.size:
            text = self._block.word(int(tokens[bad[0]])).decode(errors="replace")
            raise self.error(f"{text!r} is not a {name}", line=self.line + int(lines[bad[0]]) + 1)
        return values.astype(np.float32)

    def _wrong_line(self, line: int, order: int, highest: bool) -> InputError:
        words = self._block.words(self._next + line)
        number = self.line + line + 1
        if not words or words[0].startswith(b"\\"):
            return self.error(
                f"there are fewer {order}-grams than the header says",
                "correct the header or make the file again",
                number,
            )
        fields = f"a log10 probability and {order} words" + ("" if highest else ", perhaps a back-off weight")
        return self.error(f"a {order}-gram with {len(words)} fields: it should have {fields}", line=number)


def _block(content: bytes) -> ARPABlock:
    text = padded(content)
    return ARPABlock(text, split_tokens(text.bytes[: len(content)]))


@kernel
def find_words(
    index: WordIndex, text: PaddedText, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The ids of words of a text, MISSING where there is none."""
    ids = np.empty(begins.size, np.int32)
    for i in range(begins.size):
        ids[i] = find_word(index, text.bytes, begins[i], ends[i] - begins[i])
    return ids


@kernel
def find_places(index: PairIndex, contexts: NDArray[np.int32], words: NDArray[np.int32]) -> NDArray[np.int32]:
    """The places of n-grams, given those of their contexts; NOT_FOUND where there is none."""
    places = np.empty(words.size, np.int32)
    for i in range(words.size):
        places[i] = find_pair(index, contexts[i], words[i]) if contexts[i] != NOT_FOUND else NOT_FOUND
    return places
