"""Words and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError

UNKNOWN, BEGIN, END = 0, 1, 2
RESERVED = ("<unk>", "<s>", "</s>")

SPACES = b" \t\r\n\f\v"
_SPACE = re.compile(r"[ \t\r\n\f\v]+")


def split_words(line: str) -> list[str]:
    """Split a line into words. Only ASCII white space separates, not a no-break or ideographic space."""
    return [word for word in _SPACE.split(line) if word]


class Vocabulary:
    """A growing list of distinct words; the first three are `<unk>`, `<s>` and `</s>`."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._ids = _Growing((word.encode(), number) for number, word in enumerate(RESERVED))
        self._words: list[str] = list(RESERVED)
        for word in words:
            self.add(word)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, word: str) -> bool:
        return word.encode() in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_words())

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def add(self, word: str) -> int:
        """Return the id of a word, a new one if need be."""
        return self._ids[word.encode()]

    def id(self, word: str) -> int:
        """Return the id of a word, UNKNOWN if there is none."""
        return self._ids.get(word.encode(), UNKNOWN)

    def word(self, number: int) -> str:
        """Return the word of an id."""
        return self._all_words()[number]

    def ids(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the ids of words, UNKNOWN where there is none."""
        return np.array([self.id(word) for word in words], np.int32)

    def words(self, ids: Iterable[int]) -> list[str]:
        """Return the words of ids."""
        known = self._all_words()
        return [known[number] for number in ids]

    def copy(self) -> Vocabulary:
        """Return a vocabulary with the same words, which grows by itself."""
        other = Vocabulary()
        other._ids, other._words = _Growing(self._ids), self._words
        return other

    def encode_lines(self, lines: Sequence[bytes], grow: bool = True) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return all words of some lines as one array of ids, and the length of each line."""
        split = [line.split() for line in lines]
        lengths = np.fromiter(map(len, split), np.int64, len(split))
        flat = chain.from_iterable(split)
        numbers = map(self._ids.__getitem__, flat) if grow else (self._ids.get(word, UNKNOWN) for word in flat)
        return np.fromiter(numbers, np.int32, int(lengths.sum())), lengths

    def to_arrays(self, first: int | None = None) -> dict[str, NDArray[np.uint8] | NDArray[np.int64]]:
        """Return the words, or only the first ones, as bytes and offsets, for saving."""
        encoded = list(islice(self._ids, first))
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return {"bytes": np.frombuffer(b"".join(encoded), np.uint8), "offsets": offsets}

    @classmethod
    def from_arrays(cls, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Vocabulary:
        """Return what `to_arrays` gave."""
        _require_words(data, offsets)
        content, bounds = data.tobytes(), offsets.tolist()
        vocabulary = cls()
        words = (content[begin:end] for begin, end in pairwise(bounds))
        vocabulary._ids = _Growing((word, number) for number, word in enumerate(words))
        vocabulary._words = []
        if vocabulary._all_words()[: len(RESERVED)] != list(RESERVED) or len(vocabulary) != offsets.size - 1:
            raise InputError("a stored vocabulary repeats words or lacks the reserved ones", remedy="make it again")
        return vocabulary

    def _all_words(self) -> list[str]:
        """Decoded when first asked for: words are added as bytes, which is how files give them.

        The list is replaced, never changed: threads may ask at the same time.
        """
        known = self._words
        if len(known) < len(self._ids):
            known = self._words = known + [word.decode("utf-8") for word in islice(self._ids, len(known), None)]
        return known


def _require_words(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Refuse a stored vocabulary whose words overlap, have no letters, or would be read as several."""
    bounds = offsets[0] if offsets.size else -1, offsets[-1] if offsets.size else -1
    if bounds != (0, data.size) or np.any(np.diff(offsets) < 1):
        raise InputError("the words of a stored vocabulary do not fit together", remedy="make it again")
    if np.isin(data, np.frombuffer(SPACES, np.uint8)).any():
        raise InputError("a stored vocabulary has a word with white space in it", remedy="make it again")


class _Growing(dict[bytes, int]):
    """Gives a missing word the next number."""

    def __missing__(self, word: bytes) -> int:
        self[word] = number = len(self)
        return number
