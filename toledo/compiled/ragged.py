"""Hypotheses and references as arrays: what the compiled metrics read.

Sums of products in an order that is always the same.

BLAS, which is behind NumPy's `@`, shares sums of some 10,000 numbers among threads: their last digits depend on how
many there are, and after some hundred steps of an optimiser those of weights do, too. NumPy's own loops do not use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError

Words = Sequence[str] | NDArray[np.int32]  # words, or their ids


@dataclass(frozen=True)
class Sequences:
    """Sequence i is `symbols[offsets[i]:offsets[i + 1]]`; symbols (ids of words, characters) are not negative."""

    symbols: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of symbols of each sequence."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Pairing:
    """Hypotheses with references; `groups[i]:groups[i + 1]` are the references of segment i."""

    hypotheses: Sequences
    references: Sequences
    groups: NDArray[np.int64]


class Numbering(dict[str, int]):
    """Numbers words as they come; only equality of words matters to a metric."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def check_shape(hypotheses: Sequence[object], references: Sequence[Sequence[object]]) -> None:
    """Each hypothesis needs its own list of at least one reference."""
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} hypotheses, but references for {len(references)} segments",
            remedy="give for each hypothesis the list of its references: references[segment][number]",
        )
    for number, group in enumerate(references):
        if isinstance(group, str) or not len(group):
            raise InputError(
                f"segment {number + 1} has no list of references",
                remedy="give for each hypothesis the list of its references: references[segment][number]",
            )


def group_offsets(references: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Where the references of each segment begin when all are laid end to end."""
    return offsets_of([len(group) for group in references])


def offsets_of(lengths: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """0 and the running sums of lengths."""
    counts = np.asarray(list(lengths) if not isinstance(lengths, np.ndarray) else lengths, np.int64)
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def check_offsets(name: str, offsets: NDArray[Any], total: int) -> None:
    """Refuse offsets that do not rise from 0 to a total."""
    if not offsets.size or offsets[0] != 0 or offsets[-1] != total or np.any(np.diff(offsets) < 0):
        raise ValueError(f"the offsets of {name} must rise from 0 to {total}")


def pair_words(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> Pairing:
    """Number the words of hypotheses and references together."""
    check_shape(hypotheses, references)
    numbering = Numbering()
    flat = [reference for group in references for reference in group]
    return Pairing(number_words(hypotheses, numbering), number_words(flat, numbering), group_offsets(references))


def number_words(sentences: Sequence[Words], numbering: Numbering) -> Sequences:
    """All words as numbers; arrays of ids stay as they are."""
    offsets = offsets_of([len(words) for words in sentences])
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
    """Ids must be integers from 0 up."""
    if not np.issubdtype(symbols.dtype, np.integer):
        raise TypeError(f"ids of words are integers, not {symbols.dtype}")
    if symbols.size and (symbols.min() < 0 or symbols.max() > np.iinfo(np.int32).max):
        raise ValueError("ids of words are from 0 to 2^31 - 1")
    return np.ascontiguousarray(symbols, np.int32)


def character_sequences(texts: Sequence[str]) -> Sequences:
    """The characters of texts without their white space."""
    joined = ["".join(text.split()) for text in texts]
    encoded = "".join(joined).encode("utf-32-le", "surrogatepass")
    return Sequences(np.frombuffer(encoded, np.int32), offsets_of([len(text) for text in joined]))


Floats = NDArray[np.float64]


def sum_of_products(factors: Floats, values: NDArray[Any]) -> Floats:
    """Σᵢ factors[i] · values[i], of numbers or of rows."""
    return np.asarray(np.einsum("i,i...->...", factors, values), np.float64)


def row_products(rows: NDArray[Any], vector: Floats) -> Floats:
    """Of each row with a vector."""
    return np.asarray(np.einsum("ij,j->i", rows, vector), np.float64)
