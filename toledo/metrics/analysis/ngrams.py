"""N-grams of systems and references: how often each matches, and which ones one system gets right and another does not.

Matches are clipped by the references as in BLEU. N-grams are ranked as in compare-mt (Neubig et al. 2019), by the
smoothed share of a system in the matches of both, (a + 1) / (a + b + 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import Numbering, Sequences, Words, group_offsets, number_words
from toledo.results import Result

Int64s = NDArray[np.int64]
LONGEST = 4
SMOOTHING = 1.0


@dataclass(frozen=True)
class NGramDifference(Result):
    """An n-gram of the references: how often each of two systems gets it right, and where one does so more often.

    `share` is the smoothed share of the system in both counts: above 0.5 the n-gram is won, below it is lost.
    `segments` are those in which the side with the larger count has more of it.
    """

    text: str
    order: int
    system: int
    baseline: int
    share: float
    segments: tuple[int, ...]


class Occurrences(NamedTuple):
    """Entry i says that n-gram `grams[i]` occurs `counts[i]` times in text `texts[i]`; sorted by n-gram, then text."""

    grams: Int64s
    texts: Int64s
    counts: Int64s


class NGramsOfOrder(NamedTuple):
    """All n-grams of one order: where each occurs first among all words, and how often in which text."""

    order: int
    places: Int64s
    occurrences: Occurrences


class SystemWords:
    """The words of references and systems, numbered together; all texts lie end to end, the references first."""

    def __init__(self, systems: Mapping[str, Sequence[Words]], references: Sequence[Sequence[Words]]) -> None:
        flat: list[Words] = [one for group in references for one in group]
        numbering = Numbering()
        self.segments = len(references)
        self.texts = number_words([*flat, *(words for texts in systems.values() for words in texts)], numbering)
        self.words = list(numbering)
        self.references = len(flat)
        self.segment_of_reference = np.repeat(np.arange(self.segments), np.diff(group_offsets(references)))
        self.first = {name: len(flat) + place * self.segments for place, name in enumerate(systems)}

    @property
    def names(self) -> list[str]:
        """The names of the systems."""
        return list(self.first)

    def lengths(self, system: str) -> Int64s:
        """Return the number of words in each segment of a system."""
        return self.texts.lengths[self.first[system] : self.first[system] + self.segments]

    @property
    def reference_lengths(self) -> Int64s:
        """The number of words in each reference."""
        return self.texts.lengths[: self.references]

    def of_references(self, found: Occurrences) -> Occurrences:
        """Return the entries of references."""
        own = found.texts < self.references
        return Occurrences(*(column[own] for column in found))

    def of_system(self, found: Occurrences, system: str) -> Occurrences:
        """Return the entries of a system, with segments in place of texts."""
        first = self.first[system]
        own = (found.texts >= first) & (found.texts < first + self.segments)
        return Occurrences(found.grams[own], found.texts[own] - first, found.counts[own])

    def ngram(self, place: int, order: int) -> str:
        """Return the n-gram that begins at a place among all words."""
        return " ".join(self.words[number] for number in self.texts.symbols[place : place + order])


def number_ngrams(texts: Sequences, longest: int = LONGEST) -> list[NGramsOfOrder]:
    """Number the n-grams of texts, those of each order by themselves.

    An n-gram is the pair of its first n−1 words, which have a number already, and its last word.
    """
    symbols = texts.symbols.astype(np.int64)
    text_of = np.repeat(np.arange(len(texts)), texts.lengths)
    ends = np.repeat(texts.offsets[1:], texts.lengths)
    places, grams, found = np.arange(symbols.size), np.zeros(symbols.size, np.int64), []
    size = int(symbols.max()) + 1 if symbols.size else 1
    for order in range(1, longest + 1):
        inside = places + order <= ends[places]
        places, grams = places[inside], grams[inside]
        _, first, grams = np.unique(grams * size + symbols[places + order - 1], return_index=True, return_inverse=True)
        keys, counts = np.unique(grams * len(texts) + text_of[places], return_counts=True)
        found.append(NGramsOfOrder(order, places[first], Occurrences(*np.divmod(keys, len(texts)), counts)))
    return found


def clipped_matches(words: SystemWords, ngrams: NGramsOfOrder, system: str) -> Occurrences:
    """Return how often a system gets each n-gram right in each segment: at most as often as some reference has it."""
    meant, said = words.of_references(ngrams.occurrences), words.of_system(ngrams.occurrences, system)
    keys = meant.grams * words.segments + words.segment_of_reference[meant.texts]
    if not keys.size:
        return Occurrences(keys, keys, keys)
    starts = np.flatnonzero(np.diff(keys, prepend=-1))  # references of a segment are neighbors
    allowed, keys = np.maximum.reduceat(meant.counts, starts), keys[starts]
    wanted = said.grams * words.segments + said.texts
    found = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    right = keys[found] == wanted
    return Occurrences(said.grams[right], said.texts[right], np.minimum(said.counts, allowed[found])[right])


def word_counts(words: SystemWords, ngrams: NGramsOfOrder, system: str) -> tuple[Int64s, Int64s, Int64s]:
    """Return for each word how often it matches, occurs in the system, and occurs in the references.

    A system is compared with each reference by itself and counts are added up, so that recall has a meaning.
    """
    meant, said = words.of_references(ngrams.occurrences), words.of_system(ngrams.occurrences, system)
    keys, wanted = said.grams * words.segments + said.texts, meant.grams * words.segments
    wanted += words.segment_of_reference[meant.texts]
    found = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    matches = np.where(keys[found] == wanted, np.minimum(meant.counts, said.counts[found]), 0) if keys.size else 0
    times = np.bincount(words.segment_of_reference, minlength=words.segments)[said.texts]
    size = ngrams.places.size
    return (
        _sums(meant.grams, matches * np.ones_like(meant.counts), size),
        _sums(said.grams, said.counts * times, size),
        _sums(meant.grams, meant.counts, size),
    )


def ngram_differences(
    words: SystemWords, orders: Sequence[NGramsOfOrder], system: str, baseline: str, number: int
) -> tuple[list[NGramDifference], list[NGramDifference]]:
    """Return n-grams that a system gets right more often than the baseline, and less often, most telling first.

    Among n-grams with the same share those with the larger difference come first, then longer ones.
    """
    won: list[NGramDifference] = []
    lost: list[NGramDifference] = []
    for ngrams in orders:
        ours, theirs = (clipped_matches(words, ngrams, name) for name in (system, baseline))
        counts = [_sums(one.grams, one.counts, ngrams.places.size) for one in (ours, theirs)]
        for more, fewer, better, found in ((0, 1, (ours, theirs), won), (1, 0, (theirs, ours), lost)):
            for gram in _most_telling(counts[more], counts[fewer], number):
                a, b = int(counts[0][gram]), int(counts[1][gram])
                share = (a + SMOOTHING) / (a + b + 2 * SMOOTHING)
                text = words.ngram(int(ngrams.places[gram]), ngrams.order)
                found.append(NGramDifference(text, ngrams.order, a, b, share, _segments_with_more(gram, *better)))
    won.sort(key=lambda one: (-one.share, one.baseline - one.system, -one.order))
    lost.sort(key=lambda one: (one.share, one.system - one.baseline, -one.order))
    return won[:number], lost[:number]


def _most_telling(more: Int64s, fewer: Int64s, number: int) -> list[int]:
    """Return the n-grams with the largest shares, those with the larger difference first."""
    candidates = np.flatnonzero(more > fewer)
    a, b = more[candidates], fewer[candidates]
    order = np.lexsort((candidates, b - a, -(a + SMOOTHING) / (a + b + 2 * SMOOTHING)))[:number]
    found: list[int] = candidates[order].tolist()
    return found


def _segments_with_more(gram: int, more: Occurrences, fewer: Occurrences) -> tuple[int, ...]:
    others = dict(zip(*_entries(gram, fewer), strict=True))
    return tuple(
        segment for segment, count in zip(*_entries(gram, more), strict=True) if count > others.get(segment, 0)
    )


def _entries(gram: int, found: Occurrences) -> tuple[list[int], list[int]]:
    begin, end = np.searchsorted(found.grams, (gram, gram + 1))
    return found.texts[begin:end].tolist(), found.counts[begin:end].tolist()


def _sums(grams: Int64s, counts: Int64s, size: int) -> Int64s:
    return np.bincount(grams, weights=counts, minlength=size).astype(np.int64)
