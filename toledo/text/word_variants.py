"""Other ways to write a word with words that are known: forms, compounds, pieces at hyphens, and known ends.

Compounds are split as by Koehn and Knight (2003): the parts whose counts have the highest geometric mean. A part inside
a compound may have another ending than by itself (German `liebe` + `s` + `brief`, `schul(e)` + `hof`). Which changes
there are is not said here: `toledo.text.rare_word_learning` finds them in the training text of a model.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

SHORTEST_PART = 3  # letters; a Chinese or Japanese character counts as two
MOST_PARTS = 4
FEWER_PARTS = math.log(3)  # a further part must raise the geometric mean of counts threefold
SEEN_AS_PART = 3  # times, at least, as a word by itself
SEEN_AS_FORM = 2
LONGEST_ENDING, SHORTEST_STEM, SHORTEST_END, SHORTEST_EDITED = 3, 3, 4, 5
MOST_STEM_ENDINGS = 40  # of one stem: more is chance
LONGEST_WORD = 60  # letters; longer ones are addresses or noise
_JOINED = re.compile(r"[-‐‑/]+")

Known = Mapping[str, tuple[str, int]]  # by spelling in lower case: the most frequent way to write it, and the count


class Change(NamedTuple):
    """How an end of a word changes: `ending` is replaced by `other`."""

    ending: str
    other: str

    def apply(self, word: str) -> str | None:
        """Return the changed word; nothing if it ends in another way or if too little is left of it."""
        stem = word.removesuffix(self.ending)
        if len(stem) + len(self.ending) != len(word) or size(stem) < SHORTEST_STEM:
            return None
        return stem + self.other

    def __str__(self) -> str:
        return f"{self.ending}>{self.other}"


UNCHANGED = Change("", "")


class Variant(NamedTuple):
    """Words to write for a word: by which rule, and which share of its letters they stand for."""

    kind: str
    parts: tuple[str, ...]
    share: float = 1.0

    @property
    def rule(self) -> str:
        """Return the rule without its details."""
        return self.kind.partition(":")[0]


class Split(NamedTuple):
    """Parts of a compound as they are written by themselves, and how each of them was changed."""

    parts: tuple[str, ...]
    changes: tuple[Change, ...]
    score: float


@dataclass(frozen=True)
class Changes:
    """What may change: endings and beginnings (spelled backwards) of words, first and last parts of compounds."""

    endings: tuple[Change, ...] = ()
    beginnings: tuple[Change, ...] = ()
    links: tuple[Change, ...] = ()
    heads: tuple[Change, ...] = (UNCHANGED,)


@dataclass(frozen=True, eq=False)
class Variants:
    """Makes variants of words from the `counts` of known words; only `parts` may be parts of compounds and ends."""

    counts: Mapping[str, int]
    parts: frozenset[str]
    changes: Changes = Changes()

    @cached_property
    def known_parts(self) -> Known:
        """Return words that may be parts."""
        return _most_frequent(
            (word.lower(), word, self.counts[word]) for word in sorted(self.parts) if size(word) >= SHORTEST_PART
        )

    @cached_property
    def known_forms(self) -> Known:
        """Return words that may stand for another form, by their spelling without accents."""
        return _most_frequent((fold(word), word, n) for word, n in self.counts.items() if n >= SEEN_AS_FORM)

    @cached_property
    def letters(self) -> str:
        """Return the letters of known words, those of rare signs left out."""
        found = Counter[str]()
        for word, (_, count) in self.known_forms.items():
            for letter in word:
                found[letter] += count
        total = found.total()
        return "".join(sorted(letter for letter, count in found.items() if letter.isalpha() and 2000 * count > total))

    def of(self, word: str) -> Iterator[Variant]:
        """Yield variants of a word, which are never the word itself."""
        if len(word) > LONGEST_WORD or any(sign.isdigit() for sign in word):
            return
        lower = word.lower()
        yield from self._forms(lower, word)
        if (split := best_split(lower, self.known_parts, self.changes)) is not None:
            links = "+".join(map(str, split.changes[:-1]))
            yield Variant(f"compound:{links}{'' if split.changes[-1] == UNCHANGED else '~'}", split.parts)
        yield from self._ends(lower)
        yield from self._edited(lower, word)

    def pieces(self, word: str) -> list[str]:
        """Return the pieces of a word between hyphens; the word alone if it has none."""
        return [piece for piece in _JOINED.split(word) if piece] or [word]

    def _forms(self, lower: str, word: str) -> Iterator[Variant]:
        folded = fold(lower)
        for change in (UNCHANGED, *self.changes.endings):
            if (other := change.apply(folded)) is not None and (found := self.known_forms.get(other)):
                if found[0] != word:
                    yield Variant(f"form:{change}", (found[0],), 1.0)
        backwards = folded[::-1]
        for change in self.changes.beginnings:
            if (other := change.apply(backwards)) is not None and (found := self.known_forms.get(other[::-1])):
                yield Variant(f"beginning:{change}", (found[0],), (len(lower) - len(change.ending)) / len(lower))

    def _ends(self, lower: str) -> Iterator[Variant]:
        for cut in range(1, len(lower) - SHORTEST_END + 1):
            if found := self.known_parts.get(lower[cut:]):
                yield Variant(f"end:{min(len(lower) - cut, 9)}", (found[0],), 1 - cut / len(lower))
                break
        for cut in range(len(lower) - 1, SHORTEST_END - 1, -1):
            if found := self.known_parts.get(lower[:cut]):
                yield Variant(f"start:{min(cut, 9)}", (found[0],), cut / len(lower))
                break

    def _edited(self, lower: str, word: str) -> Iterator[Variant]:
        if size(lower) < SHORTEST_EDITED or len(lower) < SHORTEST_EDITED:
            return
        folded = fold(lower)
        found = {one for edit in edits(folded, self.letters) if (one := self.known_forms.get(edit))}
        best = max(found, key=lambda one: (one[1], one[0]), default=None)
        if best is not None and best[0] != word:
            yield Variant(f"edit:{min(len(lower), 12)}", (best[0],), 1 - 1 / len(lower))


def size(word: str) -> int:
    """Return the number of letters, wide ones counted twice: they say as much as two or three letters."""
    if word.isascii():
        return len(word)
    return len(word) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in word)


def fold(word: str) -> str:
    """Return a word in lower case without accents and umlauts."""
    lower = word.lower()
    if lower.isascii():
        return lower
    plain = "".join(sign for sign in unicodedata.normalize("NFD", lower) if not "\u0300" <= sign <= "\u036f")
    return unicodedata.normalize("NFC", plain)


def edits(word: str, letters: str) -> Iterator[str]:
    """Yield all words at distance 1: a letter dropped, added or replaced, or two neighbors exchanged."""
    for place in range(len(word) + 1):
        begin, end = word[:place], word[place:]
        if end:
            yield begin + end[1:]
        if len(end) > 1:
            yield begin + end[1] + end[0] + end[2:]
        for letter in letters:
            yield begin + letter + end
            if end:
                yield begin + letter + end[1:]


def best_split(word: str, known: Known, changes: Changes) -> Split | None:
    """Return the best way to write a word as two parts or more; nothing if there is none.

    A part is a known word, the last one after a change of `heads`, the others after one of `links`. Their counts have
    the highest geometric mean, divided by 3 for each part beyond two; of equal ones the first found is taken. The time
    grows with the square of the word's length.
    """
    length = len(word)
    # by number of parts and end: the sum of logarithms, the parts, the changes
    best: list[dict[int, tuple[float, tuple[str, ...], tuple[Change, ...]]]] = [{0: (0.0, (), ())}]
    found: Split | None = None
    for number in range(1, MOST_PARTS + 1):
        best.append({})
        for begin, (sum_before, parts, made) in best[-2].items():
            if number > 1 and (last := _part(word[begin:], known, changes.heads)):
                total = (sum_before + last[0]) / number - FEWER_PARTS * max(number - 2, 0)
                if found is None or total > found.score:
                    found = Split((*parts, last[1]), (*made, last[2]), total)
            for end in range(begin + SHORTEST_PART - 1, length - 1):
                if part := _part(word[begin:end], known, changes.links):
                    total = sum_before + part[0]
                    if end not in best[-1] or total > best[-1][end][0]:
                        best[-1][end] = (total, (*parts, part[1]), (*made, part[2]))
    return found


def _part(piece: str, known: Known, changes: Sequence[Change]) -> tuple[float, str, Change] | None:
    """Return the most frequent word that a piece of a compound may come from."""
    best = None
    for change in changes:
        if piece.endswith(change.ending):
            stem = piece[: len(piece) - len(change.ending)]
            if (one := known.get(stem + change.other)) and size(stem) >= SHORTEST_PART - len(change.other):
                value = math.log(one[1])
                if best is None or value > best[0]:
                    best = (value, one[0], change)
    return best


def common_changes(words: Iterable[str], most: int, least: int = 5) -> list[Change]:
    """Return the `most` frequent changes between endings of words with the same stem, of `least` stems or more."""
    endings = defaultdict[str, list[str]](list)
    for word in sorted(set(words)):
        for cut in range(max(len(word) - LONGEST_ENDING, 1), len(word) + 1):
            if size(word[:cut]) > SHORTEST_STEM:
                endings[word[:cut]].append(word[cut:])
    found = Counter[Change]()
    for own in endings.values():
        if len(own) <= MOST_STEM_ENDINGS:
            for one, other in combinations(own, 2):
                if one[:1] != other[:1]:
                    found[Change(one, other)] += 1
                    found[Change(other, one)] += 1
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [change for change, count in ranked[:most] if count >= least]


def _most_frequent(words: Iterable[tuple[str, str, int]]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for key, word, count in words:
        old = found.get(key)
        if old is None or (count, word) > (old[1], old[0]):
            found[key] = (word, count)
    return found
