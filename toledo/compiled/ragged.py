"""Rows of different lengths in flat arrays, hypotheses and references as such rows, and sums in a fixed order.

BLAS, which is behind NumPy's `@`, splits sums of some 10,000 numbers among threads: their last digits depend on the
number of threads, and after some hundred steps of an optimizer so do those of weights. `einsum` does not use BLAS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.errors import InputError

Words = Sequence[str] | NDArray[np.int32]  # words, or their ids
Floats = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Ragged(Generic[Scalar]):
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`."""

    values: NDArray[Scalar]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not are_offsets(self.offsets, len(self.values)):
            raise ValueError(f"offsets must rise from 0 to {len(self.values)}")

    @classmethod
    def from_lengths(cls, values: NDArray[Scalar], lengths: Iterable[int] | NDArray[np.int64]) -> Self:
        """Cut values into rows of these lengths."""
        return cls(values, offsets_of(lengths))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, index: int) -> NDArray[Scalar]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[Scalar]]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each row."""
        return np.diff(self.offsets)

    def select(self, keep: NDArray[np.bool_]) -> Self:
        """Return the rows where `keep` is true."""
        return self.from_lengths(self.values[np.repeat(keep, self.lengths)], self.lengths[keep])

    def gather(self, rows: NDArray[np.int64]) -> Self:
        """Return some rows, in the order given."""
        offsets, values = gather_rows(self.offsets, self.values, rows)
        return type(self)(values, offsets)


class Sequences(Ragged[np.int32]):
    """Rows of symbols (ids of words, characters), which are not negative."""

    @property
    def symbols(self) -> NDArray[np.int32]:
        """The symbols of all rows."""
        return self.values


def offsets_of(lengths: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0 and the running sums of lengths."""
    counts = np.asarray(list(lengths) if not isinstance(lengths, np.ndarray) else lengths, np.int64)
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Return whether offsets rise from 0 to `end`. (Differences could wrap around, so neighbors are compared.)"""
    return bool(offsets.size and offsets[0] == 0 and offsets[-1] == end and not np.any(offsets[1:] < offsets[:-1]))


def join_offsets(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the offsets of the rows of all parts in a row."""
    shifts = offsets_of(int(part[-1]) for part in parts)
    return np.concatenate([np.zeros(1, np.int64), *(part[1:] + shifts[i] for i, part in enumerate(parts))])


@kernel(small=100_000)
def gather_rows(offsets: NDArray[Any], data: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return offsets and data of some rows, in the order given."""
    new_offsets = np.zeros(rows.size + 1, offsets.dtype)
    for i in range(rows.size):
        new_offsets[i + 1] = new_offsets[i] + offsets[rows[i] + 1] - offsets[rows[i]]
    new_data = np.empty(new_offsets[-1], data.dtype)
    for i in range(rows.size):
        start = offsets[rows[i]]
        for j in range(offsets[rows[i] + 1] - start):
            new_data[new_offsets[i] + j] = data[start + j]
    return new_offsets, new_data


@dataclass(frozen=True)
class Pairing:
    """Hypotheses with references; `groups[i]:groups[i + 1]` are the references of segment i."""

    hypotheses: Sequences
    references: Sequences
    groups: NDArray[np.int64]


class Numbering(dict[str, int]):
    """Numbers words in order of appearance; only equality of words matters to a metric."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def check_shape(hypotheses: Sequence[object], references: Sequence[Sequence[object]]) -> None:
    """Refuse references unless each hypothesis has a list with at least one of them."""
    remedy = "give for each hypothesis the list of its references: references[segment][number]"
    if len(hypotheses) != len(references):
        message = f"{len(hypotheses)} hypotheses, but references for {len(references)} segments"
        raise InputError(message, remedy=remedy)
    for number, group in enumerate(references):
        if isinstance(group, str) or not len(group):
            raise InputError(f"segment {number + 1} has no list of references", remedy=remedy)


def group_offsets(references: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Return where the references of each segment begin when all are laid end to end."""
    return offsets_of(map(len, references))


def check_offsets(name: str, offsets: NDArray[Any], total: int) -> None:
    """Refuse offsets that do not rise from 0 to a total."""
    if not are_offsets(offsets, total):
        raise ValueError(f"the offsets of {name} must rise from 0 to {total}")


def pair_words(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> Pairing:
    """Number the words of hypotheses and references together."""
    check_shape(hypotheses, references)
    numbering = Numbering()
    flat = [reference for group in references for reference in group]
    return Pairing(number_words(hypotheses, numbering), number_words(flat, numbering), group_offsets(references))


def number_words(sentences: Sequence[Words], numbering: Numbering) -> Sequences:
    """Return all words as numbers; arrays of ids stay as they are."""
    offsets = offsets_of(map(len, sentences))
    arrays = [words for words in sentences if isinstance(words, np.ndarray)]
    if arrays and len(arrays) < len(sentences):
        raise TypeError("words and ids of words cannot be mixed")
    if arrays:
        return Sequences(checked_symbols(np.concatenate(arrays)), offsets)
    if any(isinstance(words, str) for words in sentences):
        raise TypeError("a hypothesis or reference is a list of words, not a text: split it first")
    numbers = map(numbering.__getitem__, chain.from_iterable(sentences))
    return Sequences(np.fromiter(numbers, np.int32, int(offsets[-1])), offsets)


def checked_symbols(symbols: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return ids if they are integers from 0 up."""
    if not np.issubdtype(symbols.dtype, np.integer):
        raise TypeError(f"ids of words are integers, not {symbols.dtype}")
    if symbols.size and (symbols.min() < 0 or symbols.max() > np.iinfo(np.int32).max):
        raise ValueError("ids of words are from 0 to 2^31 - 1")
    return np.ascontiguousarray(symbols, np.int32)


def character_sequences(texts: Sequence[str]) -> Sequences:
    """Return the characters of texts without white space."""
    joined = ["".join(text.split()) for text in texts]
    encoded = bytearray(
        "".join(joined).encode("utf-32-le", "surrogatepass")
    )  # kernels see arrays of one kind: writable
    return Sequences.from_lengths(np.frombuffer(encoded, np.int32), map(len, joined))


def sum_of_products(factors: Floats, values: NDArray[Any]) -> Floats:
    """Return Σᵢ factors[i] · values[i], of numbers or of rows."""
    return np.asarray(np.einsum("i,i...->...", factors, values), np.float64)


def row_products(rows: NDArray[Any], vector: Floats) -> Floats:
    """Return the product of each row with a vector."""
    return np.asarray(np.einsum("ij,j->i", rows, vector), np.float64)
