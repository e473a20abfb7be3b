"""Models of the words of a document: length parity, type–token ratio, OVIX and LIX.

- parity (Hardmeier et al. 2013): log of the share of sentences whose number of words is odd, or even if those are more.
- type-token: V / N, with N words and V distinct ones. Only tokens with a letter or a digit are words here.
- OVIX (Hultman and Westman 1977): log N / log(2 − log V / log N); V is at most N − 1, so that it is finite.
- LIX (Björnsson 1968): N / sentences + 100 · words of more than six letters / N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.search.document.models.model import DocumentModel, Known, Words

WORDS, TYPES, LONG = range(3)  # of `WordCounts.totals`
IS_WORD, IS_LONG = 1, 2  # bits of `WordCounts.kinds`
LONG_WORD = 7  # letters, for LIX


@dataclass(frozen=True)
class LengthParity(DocumentModel):
    """Whether sentences all have an odd or all have an even number of words: a toy model for tests."""

    name: ClassVar[str] = "document.parity"
    bounds: ClassVar[tuple[float, float]] = (math.log(0.5), 0.0)


@dataclass(frozen=True)
class TypeTokenRatio(DocumentModel):
    """Distinct words per word."""

    name: ClassVar[str] = "document.type-token"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)


@dataclass(frozen=True)
class OVIX(DocumentModel):
    """The word variation index: the higher, the richer the vocabulary."""

    name: ClassVar[str] = "document.ovix"


@dataclass(frozen=True)
class LIX(DocumentModel):
    """The readability index: the lower, the easier to read; so a negative weight makes a text easier."""

    name: ClassVar[str] = "document.lix"


class WordCounts(NamedTuple):
    """Word i of the options is of type `types[i]`; `kinds` has bits for each type, `counts` its occurrences."""

    types: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    counts: NDArray[np.int32]
    totals: NDArray[np.int64]


def prepare_words(known: Known) -> WordCounts:
    """Return counts of no words."""
    kinds = np.array([_kind(word) for word in known.spelled], np.uint8)
    return WordCounts(known.types, kinds, np.zeros(kinds.size, np.int32), np.zeros(3, np.int64))


def _kind(word: str) -> int:
    is_word = any(map(str.isalnum, word))
    return IS_WORD * is_word | IS_LONG * (is_word and sum(map(str.isalpha, word)) >= LONG_WORD)


@inner_kernel
def exchange_words(seen: WordCounts, words: Words, first: int, old: int, new: int, sign: int) -> None:
    """Take away the words of `old` phrases from a place on, and add those of `new` ones; the other way with sign −1."""
    types, kinds, counts, totals = seen
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
            kind = types[i]
            if kinds[kind] & IS_WORD:
                counts[kind] += added
                totals[WORDS] += added
                totals[LONG] += added if kinds[kind] & IS_LONG else 0
                if counts[kind] == (1 if added > 0 else 0):  # it was not there before, or is no more
                    totals[TYPES] += added


@inner_kernel
def parity(odd: int, sentences: int) -> float:
    """Return the log share of the sentences of the more frequent parity."""
    return math.log(max(odd, sentences - odd) / sentences) if sentences else 0.0


@inner_kernel
def type_token(totals: NDArray[np.int64]) -> float:
    """Return the number of distinct words per word."""
    return float(totals[TYPES] / max(totals[WORDS], 1))


@inner_kernel
def ovix(totals: NDArray[np.int64]) -> float:
    """Return the word variation index; 0 for a text of less than two words."""
    words, types = totals[WORDS], totals[TYPES]
    if words < 2:
        return 0.0
    length = math.log(words)
    return length / math.log(2.0 - math.log(min(types, words - 1)) / length)


@inner_kernel
def lix(totals: NDArray[np.int64], sentences: int) -> float:
    """Return the readability index."""
    return float(totals[WORDS] / max(sentences, 1) + 100.0 * totals[LONG] / max(totals[WORDS], 1))
