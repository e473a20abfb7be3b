"""Language models in the ARPA format of KenLM, SRILM and IRSTLM, in and out.

    \\data\
    ngram 1=4
    …
    \1-grams:
    -1.2	<unk>	0
    …
    \\end\

A line is a log10 probability, the words, and, below the highest order, a log10 back-off weight, 0 if it is left out.
Lines of n-grams are read block by block and written by compiled code, numbers with as few digits as keep them the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import NOT_FOUND, PairIndex, build_pair_index, find_pair
from toledo.compiled.kernels import kernel
from toledo.compiled.sorting import sort_pairs
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, display_name, file_error, read_blocks, read_bytes_lines
from toledo.language_model.backoff import MOST_NEGATIVE, MOST_WORDS, BackoffModel, NGramTable
from toledo.language_model.model import LanguageModel
from toledo.progress import Progress, silent
from toledo.text.byte_fields import Tokens, parse_numbers, split_tokens
from toledo.text.encoding import MISSING, PaddedText, WordIndex, build_word_index, find_word, padded
from toledo.text.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary

log = logging.getLogger(__name__)

SCORE_WITHOUT_UNKNOWN = -100.0  # KenLM's choice for a model without <unk>
BINARY = b"mmap lm "  # how the binary files of KenLM begin
COUNT = re.compile(rb"ngram (\d{1,9}) ?= ?(\d{1,18})")
REMEDY = "make or copy the file again"

LINES_AT_ONCE = 50_000
TAB, NEW_LINE, BLANK, MINUS, POINT, ZERO, SMALL_E = 9, 10, 32, 45, 46, 48, 101
NUMBER_BYTES = 32  # more than any number takes
LEAST_DIGITS, MOST_DIGITS = 6, 9  # nine significant digits tell all numbers of single precision apart
SMALLEST = 1e-13  # what is closer to 0 is written as 0
FIRST_EXPONENT = 7  # from 9.…e-7 on numbers are written with an exponent, as lmplz does
MOST_DECIMALS = 22  # 10^22 is the largest power of ten that double precision has exactly
POWERS = tuple(float(10**exponent) for exponent in range(MOST_DECIMALS + 1))


def is_arpa(path: str | Path) -> bool:
    """Return whether a model is written to a path as ARPA rather than as a directory."""
    return str(path) == STANDARD_STREAM or str(path).endswith((".arpa", ".arpa.gz"))


@dataclass(frozen=True)
class _Section:
    """The n-grams of an order, and their places by (place of the context, word)."""

    ngrams: NGramTable
    places: PairIndex


def read_arpa(path: str | Path, vocabulary: Vocabulary, progress: Progress = silent) -> LanguageModel:
    """Read a model; words that are new join the vocabulary."""
    _refuse_binary(path)
    reader = LineReader(path, progress)
    counts = _read_counts(reader)
    sections = [_read_unigrams(reader, counts[0], len(counts) == 1, vocabulary)]
    words = build_word_index(vocabulary)
    for order, count in enumerate(counts[1:], start=2):
        reader.expect(b"\\%d-grams:" % order, f"after {counts[order - 2]} {order - 1}-grams")
        sections.append(_read_section(reader, order, count, order == len(counts), words, sections))
    reader.expect(b"\\end\\", f"after {counts[-1]} {len(counts)}-grams")
    reader.expect_end()
    return LanguageModel(BackoffModel(tuple(section.ngrams for section in sections)), vocabulary)


def _refuse_binary(path: str | Path) -> None:
    if Path(path).is_file() and next(read_bytes_lines(path), b"").startswith(BINARY):
        remedy = "give the ARPA file that it was made from (beside a moses.ini, too)"
        raise file_error(path, None, "a binary file of KenLM, not an ARPA file", remedy)


def _read_counts(reader: LineReader) -> list[int]:
    """Read the header and the line that opens the unigrams."""
    reader.expect(b"\\data\\", "at the beginning")
    counts: list[int] = []
    while (line := b" ".join(reader.next_line("\\1-grams:"))) != b"\\1-grams:":
        match = COUNT.fullmatch(line)
        if not match or int(match[1]) != len(counts) + 1:
            found = line[:80].decode(errors="replace")
            what = f"expected the number of {len(counts) + 1}-grams or \\1-grams:, found {found!r}"
            raise reader.error(what, f"write in the header: ngram {len(counts) + 1}=...")
        counts.append(int(match[2]))
    if not 1 <= len(counts) <= MOST_WORDS:
        raise reader.error(f"a model of order {len(counts)}", f"only orders from 1 to {MOST_WORDS} can be read")
    return counts


def _read_unigrams(reader: LineReader, count: int, highest: bool, vocabulary: Vocabulary) -> _Section:
    start, parts, ids = reader.line, [], []
    for lines in reader.ngram_lines(1, count, highest):
        content, places, column = lines.block.text.bytes.tobytes(), lines.block.tokens, lines.words[:, 0]
        bounds = zip(places.begin[column].tolist(), places.end[column].tolist(), strict=True)
        ids.append(vocabulary.encode_lines([b" ".join([content[begin:end] for begin, end in bounds])])[0])
        parts.append(lines)
    words = np.concatenate([np.empty(0, np.int32), *ids])
    scores, backoffs = _joined(parts)
    missing = [RESERVED[word] for word in (BEGIN, END) if word not in words]
    if missing:
        raise reader.error(f"the model has no unigram {missing[0]}", "estimate it with sentence boundaries")
    if UNKNOWN not in words:
        log.warning(
            "the language model has no <unk>: unknown words get the log10 probability %g", SCORE_WITHOUT_UNKNOWN
        )
        words, scores = np.append(words, np.int32(UNKNOWN)), np.append(scores, np.float32(SCORE_WITHOUT_UNKNOWN))
        backoffs = backoffs if highest else np.append(backoffs, np.float32(0))
    return _section(reader, start, 1, np.zeros_like(words), words, scores, backoffs)


def _read_section(
    reader: LineReader, order: int, count: int, highest: bool, index: WordIndex, sections: list[_Section]
) -> _Section:
    start, parts, contexts, words = reader.line, [], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for lines in reader.ngram_lines(order, count, highest):
        ids = _known_words(reader, lines, index)
        contexts.append(_places_of_contexts(reader, lines, ids, sections))
        words.append(ids[:, -1])
        parts.append(lines)
    return _section(reader, start, order, np.concatenate(contexts), np.concatenate(words), *_joined(parts))


def _known_words(reader: LineReader, lines: NGramLines, index: WordIndex) -> NDArray[np.int32]:
    tokens, flat = lines.block.tokens, lines.words.ravel()
    ids = find_words(index, lines.block.text, tokens.begin[flat], tokens.end[flat])
    missing = np.flatnonzero(ids == MISSING)
    if missing.size:
        word = lines.block.word(int(flat[missing[0]])).decode()
        line = lines.first_line + int(missing[0]) // lines.words.shape[1]
        raise reader.error(f"the word {word!r} is not among the unigrams", line=line)
    return ids.reshape(lines.words.shape)


def _places_of_contexts(
    reader: LineReader, lines: NGramLines, ids: NDArray[np.int32], sections: list[_Section]
) -> NDArray[np.int32]:
    places = np.zeros(len(ids), np.int32)
    for section, column in zip(sections, ids.T, strict=False):
        places = find_places(section.places, places, np.ascontiguousarray(column))
    lost = np.flatnonzero(places == NOT_FOUND)
    if lost.size:
        order = ids.shape[1]
        what = f"the first {order - 1} words of this {order}-gram are not among the {order - 1}-grams"
        raise reader.error(
            what, "estimate or prune the model with a tool that keeps contexts", lines.first_line + int(lost[0])
        )
    return places


def _joined(parts: list[NGramLines]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    empty = np.empty(0, np.float32)
    scores, backoffs = [part.scores for part in parts], [part.backoffs for part in parts]
    return np.concatenate([empty, *scores]), np.concatenate([empty, *backoffs])


def _section(
    reader: LineReader,
    start: int,
    order: int,
    contexts: NDArray[np.int32],
    words: NDArray[np.int32],
    scores: NDArray[np.float32],
    backoffs: NDArray[np.float32],
) -> _Section:
    """Sort n-grams that stood in the lines after `start`."""
    by_place = sort_pairs(contexts, words)
    contexts, words = contexts[by_place], words[by_place]
    twice = np.flatnonzero((contexts[1:] == contexts[:-1]) & (words[1:] == words[:-1]))
    if twice.size:
        raise reader.error(
            f"this {order}-gram stands here twice", "remove one", start + int(by_place[twice[0] + 1]) + 1
        )
    ngrams = NGramTable(contexts, words, scores[by_place], backoffs[by_place] if backoffs.size else backoffs)
    return _Section(ngrams, build_pair_index(contexts, words))


@dataclass(frozen=True)
class ARPABlock:
    """Some whole lines, cut at white space."""

    text: PaddedText
    tokens: Tokens

    def __len__(self) -> int:
        return self.tokens.offsets.size - 1

    def words(self, line: int) -> list[bytes]:
        """Return the words of a line."""
        first, last = self.tokens.offsets[line : line + 2]
        return [self.word(token) for token in range(first, last)]

    def word(self, token: int) -> bytes:
        """Return the bytes of a token."""
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

    def next_line(self, name: str) -> list[bytes]:
        """Return the words of the next line that has any; `name` is the line that must come."""
        while self._more():
            self._next += 1
            self.line += 1
            if words := self._block.words(self._next - 1):
                return words
        raise self.error(f"the file ends before {name}")

    def expect(self, text: bytes, place: str) -> None:
        """Pass a line that must be this."""
        line = b" ".join(self.next_line(text.decode()))
        if line != text:
            what = f"expected {text.decode()} {place}, found {line[:80].decode(errors='replace')!r}"
            raise self.error(what, "see that the header gives the true number of n-grams of each order")

    def expect_end(self) -> None:
        """Refuse any text that is left."""
        while self._more():
            self._next += 1
            self.line += 1
            if self._block.words(self._next - 1):
                raise self.error("there is text after the end of the model")

    def ngram_lines(self, order: int, count: int, highest: bool) -> Iterator[NGramLines]:
        """Yield the next `count` lines, each of which must be an n-gram of this order."""
        while count > 0:
            if not self._more():
                raise self.error(f"the file ends within the {order}-grams: {count} more should follow")
            lines = min(count, len(self._block) - self._next)
            yield self._parse(order, lines, highest)
            self._next += lines
            self.line += lines
            count -= lines

    def error(self, message: str, remedy: str = REMEDY, line: int | None = None) -> InputError:
        """Return an error at a line, by default the last line read."""
        return file_error(self._path, line or max(self.line, 1), message, remedy)

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
    """Return the ids of words of a text, MISSING where there is none."""
    ids = np.empty(begins.size, np.int32)
    for i in range(begins.size):
        ids[i] = find_word(index, text.bytes, begins[i], ends[i] - begins[i])
    return ids


@kernel
def find_places(index: PairIndex, contexts: NDArray[np.int32], words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the places of n-grams, given those of their contexts; NOT_FOUND where there is none."""
    places = np.empty(words.size, np.int32)
    for i in range(words.size):
        places[i] = find_pair(index, contexts[i], words[i]) if contexts[i] != NOT_FOUND else NOT_FOUND
    return places


def write_arpa(path: str | Path, model: LanguageModel, vocabulary: Vocabulary, progress: Progress = silent) -> None:
    """Write a model with as many digits as it takes to read the same numbers back."""
    orders = model.ngrams.orders
    with progress(f"writing {display_name(path)}", sum(map(len, orders))) as advance, atomic_writer(path) as stream:
        stream.write("\\data\\\n")
        stream.writelines(f"ngram {order}={len(ngrams)}\n" for order, ngrams in enumerate(orders, start=1))
        for order in range(1, len(orders) + 1):
            stream.write(f"\n\\{order}-grams:\n")
            for lines, text in ngram_lines(model.ngrams, order, vocabulary):
                stream.write(text)
                advance(lines)
        stream.write("\n\\end\\\n")


def ngram_lines(model: BackoffModel, order: int, vocabulary: Vocabulary) -> Iterator[tuple[int, str]]:
    """Yield the lines of an order in portions: their number and their text."""
    arrays: dict[str, Any] = {**vocabulary.to_arrays()}
    spelling, offsets = arrays["bytes"], arrays["offsets"]
    ngrams = model.orders[order - 1]
    for begin in range(0, len(ngrams), LINES_AT_ONCE):
        part = slice(begin, min(begin + LINES_AT_ONCE, len(ngrams)))
        words = model.words_of(order, part)
        room = int(np.diff(offsets)[words].sum()) + len(words) * (order + 2 * NUMBER_BYTES)
        text = _format(spelling, offsets, words, ngrams.scores[part], ngrams.backoffs[part], np.array(POWERS), room)
        yield len(words), text.tobytes().decode("utf-8")


@kernel
def _format(
    spelling: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    words: NDArray[np.int32],
    scores: NDArray[np.float32],
    backoffs: NDArray[np.float32],
    powers: NDArray[np.float64],
    room: int,
) -> NDArray[np.uint8]:
    out = np.empty(room, np.uint8)
    place = 0
    for line in range(words.shape[0]):
        place = _write_number(out, place, scores[line], powers)
        for i in range(words.shape[1]):
            out[place] = TAB if i == 0 else BLANK
            place += 1
            for j in range(offsets[words[line, i]], offsets[words[line, i] + 1]):
                out[place] = spelling[j]
                place += 1
        if backoffs.size:
            out[place] = TAB
            place = _write_number(out, place + 1, backoffs[line], powers)
        out[place] = NEW_LINE
        place += 1
    return out[:place]


@kernel
def _write_number(out: NDArray[np.uint8], place: int, value: np.float32, powers: NDArray[np.float64]) -> int:
    size = abs(np.float64(value))
    if size < SMALLEST:
        out[place] = ZERO
        return place + 1
    if value < 0:
        out[place] = MINUS
        place += 1
    mantissa, decimals = _shortest(size, powers)
    digits = 1
    while mantissa >= powers[digits]:
        digits += 1
    exponent = decimals - digits + 1
    if exponent < FIRST_EXPONENT:
        return _write_digits(out, place, mantissa, decimals)
    place = _write_digits(out, place, mantissa, digits - 1)
    out[place], out[place + 1] = SMALL_E, MINUS
    return _write_digits(out, place + 2, exponent, 0)


@kernel
def _write_digits(out: NDArray[np.uint8], place: int, number: int, decimals: int) -> int:
    """Write a whole number with a point before its last digits."""
    digits, rest = 1, number // 10
    while rest > 0 or digits <= decimals:
        digits, rest = digits + 1, rest // 10
    end = place + digits + (decimals > 0)
    for i in range(digits):  # from the last to the first
        if i == decimals and i > 0:
            out[end - 1 - i] = POINT
        out[end - 1 - i - (i >= decimals > 0)] = ZERO + number % 10
        number //= 10
    return end


@kernel
def _shortest(size: float, powers: NDArray[np.float64]) -> tuple[int, int]:
    """Return digits as a whole number, and how many of them are decimals, that give this single-precision number."""
    magnitude = int(np.floor(np.log10(size)))
    mantissa, decimals = 0, 0
    for digits in range(LEAST_DIGITS, MOST_DIGITS + 1):
        decimals = min(max(digits - 1 - magnitude, 0), MOST_DECIMALS)
        mantissa = int(np.rint(size * powers[decimals]))
        if np.float32(mantissa / powers[decimals]) == np.float32(size):
            break
    while decimals > 0 and mantissa % 10 == 0:
        mantissa //= 10
        decimals -= 1
    return mantissa, decimals
