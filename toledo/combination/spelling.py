"""How words are spelled in a line: marks as the systems write them, and what stands between the words.

The words of a combination are normalized; what the systems wrote for them is kept beside (`Written`). Each word of the
result is looked up at its place in each output: the outputs are aligned with the result by their longest common
subsequences. Outputs that have a word at that place vote on how it is written, and those that have it after the same
word on what stands between the two. Where no output has the word there, occurrences elsewhere vote; where none has the
two words in a row, the caller's rule decides. So words that all come from one output are written as it wrote them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.combination.tracked_text import LinePieces
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of

NOWHERE = -1
MATCH = 1 << 12  # matches count first, then matches in a row
NEVER = -(1 << 30)


class Written(NamedTuple):
    """The words of a line in their case, and how they are written there; None where that is not known."""

    words: tuple[str, ...]
    pieces: LinePieces | None = None

    @property
    def lower(self) -> tuple[str, ...]:
        """The words in lower case, as they are combined."""
        return tuple(word.lower() for word in self.words)

    @property
    def line(self) -> str:
        """The line as it was written, or its words if that is not known."""
        if self.pieces is None:
            return " ".join(self.words)
        inner = (gap + (text or "") for gap, text in zip(self.pieces.gaps, self.pieces.written, strict=False))
        return "".join([*inner, self.pieces.gaps[-1]])

    @property
    def blanks(self) -> tuple[bool, ...] | None:
        """Whether anything stands before each word."""
        return None if self.pieces is None else tuple(map(bool, self.pieces.gaps[:-1]))


class Voter(NamedTuple):
    """An output, the place of each word of the result in it (or NOWHERE), and what its vote weighs."""

    output: Written
    places: list[int]
    weight: float


def link_words(words: Sequence[str], outputs: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the place of each word in each output, or NOWHERE: places grow, and as many words as possible have one."""
    ids: defaultdict[str, int] = defaultdict(lambda: len(ids))
    wanted = np.array([ids[word] for word in words], np.int32)
    symbols = np.array([ids[word] for output in outputs for word in output], np.int32)
    found: list[list[int]] = _link(wanted, symbols, offsets_of([len(output) for output in outputs])).tolist()
    return found


@kernel
def _link(wanted: NDArray[np.int32], symbols: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """`best[i, j]` is the value of the first i and j words, `last[i, j]` the same if their last ones are matched."""
    result = np.full((offsets.size - 1, wanted.size), NOWHERE, np.int32)
    for output in range(offsets.size - 1):
        own = symbols[offsets[output] : offsets[output + 1]]
        best = np.zeros((wanted.size + 1, own.size + 1), np.int32)
        last = np.full((wanted.size + 1, own.size + 1), NEVER, np.int32)
        for i in range(1, wanted.size + 1):
            for j in range(1, own.size + 1):
                best[i, j] = max(best[i - 1, j], best[i, j - 1])
                if wanted[i - 1] == own[j - 1]:
                    last[i, j] = MATCH + max(best[i - 1, j - 1], last[i - 1, j - 1] + 1)
                    best[i, j] = max(best[i, j], last[i, j])
        i, j, in_row = wanted.size, own.size, False
        while i > 0 and j > 0:
            if in_row or best[i, j] == last[i, j]:
                result[output, i - 1] = j - 1
                in_row = last[i, j] == MATCH + last[i - 1, j - 1] + 1
                i, j = i - 1, j - 1
            elif best[i, j] == best[i - 1, j]:
                i -= 1
            else:
                j -= 1
    return result


def capitalized(word: str) -> str:
    """Return the word with a capital first letter; the others stay."""
    return word[:1].upper() + word[1:]


class Speller:
    """Writes words in their case as some outputs write them; `rule` tells whether a blank stands before each word."""

    def __init__(
        self, words: Sequence[str], outputs: Sequence[Written], weights: Sequence[float], rule: Callable[[], list[bool]]
    ) -> None:
        known = [(one, weight) for one, weight in zip(outputs, weights, strict=True) if one.pieces]
        places = link_words([word.lower() for word in words], [one.lower for one, _ in known])
        self._words, self._make_rule = tuple(words), rule
        self._voters = [Voter(one, row, weight) for (one, weight), row in zip(known, places, strict=True)]

    def line(self) -> str:
        """Return the line of all words."""
        parts, place = [self._margin(0)], 0
        while place < len(self._words):
            if place:
                parts.append(self._gap(place))
            size, text = self._piece(place)
            parts.append(text)
            place += size
        return "".join([*parts, self._margin(-1)])

    def _piece(self, place: int) -> tuple[int, str]:
        """Return what is written for the word at a place, and how many words that stands for."""
        votes: defaultdict[tuple[int, str], float] = defaultdict(float)
        for (words, pieces), places, weight in self._voters:
            here = places[place]
            if here != NOWHERE and pieces is not None and (text := pieces.written[here]) is not None:
                size = _size(pieces, here)
                in_row = places[place : place + size] == list(range(here, here + size))
                if in_row and words[here : here + size] == self._words[place : place + size]:
                    votes[size, text] += weight
        return _winner(votes) if votes else (1, self._elsewhere(self._words[place]))

    def _elsewhere(self, word: str) -> str:
        """Return how a word is written elsewhere in the outputs, in this case or in another."""
        if found := self._pieces.get(word):
            return _winner(found)
        for other, found in self._pieces.items():
            if other.lower() == word.lower() and (text := _winner(found)) != other:
                return _recased(text, other, word)
        return word

    def _gap(self, place: int) -> str:
        """Return what stands before the word at a place: outputs decide that have both words there, or anywhere."""
        votes: defaultdict[str, float] = defaultdict(float)
        for (_, pieces), places, weight in self._voters:
            before, here = places[place - 1 : place + 1]
            in_row = before != NOWHERE and here == before + 1
            if in_row and pieces is not None and pieces.written[here] is not None:
                votes[pieces.gaps[here]] += weight
        left, right = self._words[place - 1 : place + 1]
        found = votes or self._gaps.get((left.lower(), right.lower()))
        if found is None:
            return " " if self._rule[place] else ""
        best = [gap for gap, vote in found.items() if vote == max(found.values())]
        usual = " " if len(best) > 1 and self._rule[place] else ""
        return usual if len(best) > 1 and usual in best else best[0]

    def _margin(self, end: int) -> str:
        """Return what stands before the first word (0) or after the last one (-1)."""
        votes: defaultdict[str, float] = defaultdict(float)
        for (words, pieces), places, weight in self._voters:
            if pieces is not None and places and places[end] == (len(words) - 1 if end else 0):
                votes[pieces.gaps[end]] += weight
        return _winner(votes) if votes else ""

    @cached_property
    def _rule(self) -> list[bool]:
        return self._make_rule()

    @cached_property
    def _pieces(self) -> Mapping[str, Mapping[str, float]]:
        """How each word is written, wherever it stands."""
        votes: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for (words, pieces), _, weight in self._voters:
            for here, word in enumerate(words):
                if pieces is not None and (text := pieces.written[here]) is not None and _size(pieces, here) == 1:
                    votes[word][text] += weight
        return votes

    @cached_property
    def _gaps(self) -> Mapping[tuple[str, str], Mapping[str, float]]:
        """What stands between two words, wherever they stand."""
        votes: defaultdict[tuple[str, str], defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for output, _, weight in self._voters:
            for here, pair in enumerate(pairwise(output.lower), start=1):
                if output.pieces is not None and output.pieces.written[here] is not None:
                    votes[pair][output.pieces.gaps[here]] += weight
        return votes


Choice = TypeVar("Choice")


def _winner(votes: Mapping[Choice, float]) -> Choice:
    """Return what has most votes; of equals, what was seen first."""
    return max(votes, key=votes.__getitem__)


def _size(pieces: LinePieces, place: int) -> int:
    """Return how many words the piece at a place stands for."""
    size = 1
    while place + size < len(pieces.written) and pieces.written[place + size] is None:
        size += 1
    return size


def _recased(text: str, word: str, wanted: str) -> str:
    """Return what is written for a word in the case of another, which differs in case alone."""
    for change in (capitalized, str.lower, str.upper):
        if change(word) == wanted:
            return change(text)
    return text if text.lower() == text.upper() else wanted
