"""Text to word ids in compiled code: what reading corpora, ARPA files and lines to score has in common.

Words lie in an open-addressing table. A word of up to 8 bytes is its own key, a longer one has a hash as its key and is
compared byte by byte: look-up is exact. Text is read 8 bytes at a time (Mycroft's test for a byte below n).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, MULTIPLIER
from toledo.compiled.instructions import EIGHT, load_eight, trailing_zeros
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.text.vocabulary import UNKNOWN, Vocabulary

SPACE, FIRST_SPACE, LAST_SPACE, LINE_END = 32, 9, 13, 10  # white space is a blank and \t \n \v \f \r
PADDING = EIGHT
ABOVE_SPACE = np.uint64(0x2121_2121_2121_2121)
TOP_BITS = np.uint64(0x8080_8080_8080_8080)
ONE = np.uint64(1)
MISSING, NO_END = -1, -1
FIRST_PIECE = 1 << 16  # bytes; nearly all words are new at first, so the index is made again soon, then less often

LOAD = 0.4  # words are few: room is cheap, and a search that ends at its first slot is easy to foresee
SLOT = np.dtype([("key", np.uint64), ("length", np.int32), ("id", np.int32)], align=True)  # length 0: empty


class WordIndex(NamedTuple):
    """A table of words by key; word i is `bytes[offsets[i]:offsets[i + 1]]`."""

    slots: NDArray[Any]
    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class PaddedText(NamedTuple):
    """Some bytes, of which any 8 can be read at once: at least PADDING line ends follow the text."""

    bytes: NDArray[np.uint8]


class EncodedText(NamedTuple):
    """Word ids of lines, where each line begins, and how many words it has that the index lacks; where they stand."""

    words: NDArray[np.int32]
    offsets: NDArray[np.int64]
    lacking: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


class Encoder:
    """Turns blocks of lines into word ids; new words join the vocabulary, or are UNKNOWN where it may not grow."""

    def __init__(self, vocabulary: Vocabulary, grow: bool) -> None:
        self._vocabulary = vocabulary
        self._grow = grow
        self._piece = FIRST_PIECE
        self._index = build_word_index(vocabulary)

    def encode(self, block: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return all words of a block of lines as one array of ids, and the length of each line."""
        parts = [self._encode(piece) for piece in self._pieces(block)]
        return np.concatenate([words for words, _ in parts]), np.concatenate([lengths for _, lengths in parts])

    def _pieces(self, block: bytes) -> Iterator[bytes]:
        while self._grow and self._piece < len(block):
            end = block.find(b"\n", self._piece) + 1 or len(block)
            self._piece *= 2
            yield block[:end]
            block = block[end:]
        yield block

    def _encode(self, block: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        missing = MISSING if self._grow else UNKNOWN
        words, offsets, _, begins, ends = encode_text(self._index, padded(block), len(block), missing, NO_END)
        if self._grow and begins.size:
            spelled = [block[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
            words[words == MISSING] = self._vocabulary.encode_lines([b" ".join(spelled)])[0]
            self._index = build_word_index(self._vocabulary)
        return words, np.diff(offsets)


def padded(block: bytes) -> PaddedText:
    """Return a block for compiled readers."""
    room = np.empty(len(block) + PADDING, np.uint8)
    room[: len(block)] = np.frombuffer(block, np.uint8)
    room[len(block) :] = LINE_END
    return PaddedText(room)


def build_word_index(vocabulary: Vocabulary, known: NDArray[np.bool_] | None = None) -> WordIndex:
    """Return the index of all words that a vocabulary has now, or of those of them that are `known`."""
    arrays: dict[str, Any] = {**vocabulary.to_arrays()}
    index = WordIndex(np.zeros(int(len(vocabulary) / LOAD) + 1, SLOT), arrays["bytes"], arrays["offsets"])
    ids = np.arange(len(vocabulary)) if known is None else np.flatnonzero(known)
    _insert_words(index, padded(arrays["bytes"].tobytes()).bytes, ids)
    return index


@kernel
def encode_text(index: WordIndex, text: PaddedText, size: int, missing_id: int, end_id: int) -> EncodedText:
    """Return the words of all lines; `end_id` is written after each line, unless it is NO_END."""
    lines = _count_lines(text.bytes, size)
    words, offsets, lacking = (
        np.empty(size // 2 + 1 + lines, np.int32),
        np.zeros(lines + 1, np.int64),
        np.zeros(lines, np.int64),
    )
    room = EncodedText(words, offsets, lacking, np.empty(words.size, np.int64), np.empty(words.size, np.int64))
    filled, missing = _encode_lines(index, text.bytes, size, missing_id, end_id, room)
    return EncodedText(
        words[:filled].copy(), offsets, lacking, room.begins[:missing].copy(), room.ends[:missing].copy()
    )


@inner_kernel
def _encode_lines(
    index: WordIndex, text: NDArray[np.uint8], size: int, missing_id: int, end_id: int, room: EncodedText
) -> tuple[int, int]:
    """Return the number of words, and of those that the index lacks."""
    words, offsets, lacking, begins, ends = room
    filled = missing = line = missing_before = place = 0
    while line < lacking.size:
        if place < size and not is_space(text[place]):
            end, key = read_word(text, place)
            word = find_key(index, text, key, place, end - place)
            if word == MISSING:
                word = missing_id
                begins[missing], ends[missing] = place, end
                missing += 1
            words[filled] = word
            filled += 1
            place = end
        if text[place] == LINE_END:  # line ends follow the text, so that the last line needs none
            words[filled] = end_id
            filled += end_id != NO_END
            lacking[line] = missing - missing_before
            line, missing_before = line + 1, missing
            offsets[line] = filled
        place += 1  # white space, whatever came before
    return filled, missing


@inlined
def find_word(index: WordIndex, text: NDArray[np.uint8], begin: int, length: int) -> int:
    """Return the id of the word at a place of a text, or MISSING."""
    return find_key(index, text, word_key(text, begin, length), begin, length)


@inlined
def find_key(index: WordIndex, text: NDArray[np.uint8], key: np.uint64, begin: int, length: int) -> int:
    """Return the id of the word at a place of a text whose key is known, or MISSING."""
    slots, spelled, offsets = index
    slot = _home_slot(key, slots.size)
    word = MISSING
    while True:
        found = slots[slot]
        if found["key"] == key and found["length"] == length:
            word = int(found["id"])
            if length <= EIGHT or _same_bytes(spelled, offsets[word], text, begin, length):
                break
        if found["length"] == 0:
            word = MISSING
            break
        slot += ONE
        if slot == np.uint64(slots.size):
            slot = np.uint64(0)
    return word


@inlined
def read_word(text: NDArray[np.uint8], place: int) -> tuple[int, np.uint64]:
    """Return where the word at a place ends, and its key. Most words are shorter than 8 bytes: one look finds both."""
    eight = load_eight(text, place)
    low = _low_bytes(eight)
    if low != 0 and is_space(text[place + _first_byte(low)]):
        return place + _first_byte(low), eight & _bytes_before(low)
    end = word_end(text, place)
    return end, word_key(text, place, end - place)


@inlined
def word_end(text: NDArray[np.uint8], place: int) -> int:
    """Return where the word at a place ends; a byte below a blank that is not white space is part of a word."""
    while True:
        low = _low_bytes(load_eight(text, place))
        if low == 0:
            place += EIGHT
            continue
        place += _first_byte(low)
        if is_space(text[place]):
            return place
        place += 1


@inlined
def word_key(text: NDArray[np.uint8], begin: int, length: int) -> np.uint64:
    """Return a word of up to 8 bytes as a number, or the hash of a longer one."""
    key = np.uint64(0)
    while length > EIGHT:
        key = _hashed(key, load_eight(text, begin))
        begin += EIGHT
        length -= EIGHT
    unused = np.uint64(8 * (EIGHT - length))
    return key ^ ((load_eight(text, begin) << unused) >> unused)


@inner_kernel
def is_space(byte: int) -> bool:
    """Return whether a byte is ASCII white space."""
    return byte == SPACE or FIRST_SPACE <= byte <= LAST_SPACE


@inner_kernel
def _low_bytes(eight: np.uint64) -> np.uint64:
    """Of 8 bytes, the highest bit of the first that is a blank or below; other bits above it mean nothing."""
    return (eight - ABOVE_SPACE) & ~eight & TOP_BITS


@inner_kernel
def _bytes_before(low: np.uint64) -> np.uint64:
    """Return all bits of the bytes before the one with the lowest bit of `low`."""
    return ((low & (~low + ONE)) >> np.uint64(7)) - ONE


@inner_kernel
def _hashed(key: np.uint64, eight: np.uint64) -> np.uint64:
    key = (key ^ eight) * MULTIPLIER
    return key ^ (key >> HALF)


@inner_kernel
def _first_byte(bits: np.uint64) -> int:
    """Return which of 8 bytes has the lowest bit."""
    return int(np.int64(trailing_zeros(bits) >> np.uint64(3)))


@inner_kernel
def _home_slot(key: np.uint64, slots: int) -> np.uint64:
    mixed = (key ^ (key >> HALF)) * MULTIPLIER
    return ((mixed >> HALF) * np.uint64(slots)) >> HALF


@inner_kernel
def _same_bytes(one: NDArray[np.uint8], here: int, other: NDArray[np.uint8], there: int, length: int) -> bool:
    """Return whether two words of one length above 8 are the same: their last 8 bytes, and all groups of 8 before."""
    last = length - EIGHT
    for i in range(0, last, EIGHT):
        if load_eight(one, here + i) != load_eight(other, there + i):
            return False
    return bool(load_eight(one, here + last) == load_eight(other, there + last))


@inner_kernel
def _count_lines(text: NDArray[np.uint8], size: int) -> int:
    lines = 0
    for i in range(size):
        lines += text[i] == LINE_END
    return lines + (size > 0 and text[size - 1] != LINE_END)


@kernel
def _insert_words(index: WordIndex, text: NDArray[np.uint8], ids: NDArray[np.int64]) -> None:
    slots = index.slots
    for word in ids:
        begin, length = index.offsets[word], index.offsets[word + 1] - index.offsets[word]
        key = word_key(text, begin, length)
        slot = _home_slot(key, slots.size)
        while slots[slot]["length"] != 0:
            slot += ONE
            if slot == np.uint64(slots.size):
                slot = np.uint64(0)
        slots[slot]["key"], slots[slot]["length"], slots[slot]["id"] = key, length, word
