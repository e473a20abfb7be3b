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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

SHORTEST_PART = 3  # letters; a Chinese or Japanese character counts as two
MOST_PARTS = 4
SEEN_AS_PART = 3  # times, at least, as a word by itself
SEEN_AS_FORM = 2
LONGEST_ENDING, SHORTEST_STEM, SHORTEST_END, SHORTEST_EDITED = 3, 3, 4, 5
MOST_STEM_ENDINGS = 40  # of one stem: more is chance
LONGEST_WORD = 60  # letters; longer ones are addresses or noise
_JOINED = re.compile(r"[-‐‑/]+")

Known = Mapping[str, tuple[str, int]]  # by spelling in lower case: the most frequent way to write it, and the count


class EndingChange(NamedTuple):
    """How an end of a word changes: `ending` is replaced by `other`."""

    ending: str
    other: str

    def __str__(self) -> str:
        return f"{self.ending}>{self.other}"


UNCHANGED = EndingChange("", "")
ByEnding = Mapping[str, tuple[EndingChange, ...]]


class Variant(NamedTuple):
    """Words to write for a word: by which rule, and which share of its letters they stand for."""

    kind: str
    parts: tuple[str, ...]
    share: float = 1.0

    @property
    def rule(self) -> str:
        """Return the rule without its details."""
        return self.kind.partition(":")[0]


class CompoundSplit(NamedTuple):
    """Parts of a compound as they are written by themselves, how each changes, and the sum of their log counts."""

    parts: tuple[str, ...]
    changes: tuple[EndingChange, ...]
    score: float


@dataclass(frozen=True)
class EndingChanges:
    """How endings of words may change, by themselves and as first (`links`) and last (`heads`) parts of compounds."""

    endings: tuple[EndingChange, ...] = ()
    links: tuple[EndingChange, ...] = ()
    heads: tuple[EndingChange, ...] = (UNCHANGED,)

    @cached_property
    def of_forms(self) -> ByEnding:
        """Return changes of words by themselves."""
        return _by_ending((UNCHANGED, *self.endings))

    @cached_property
    def of_links(self) -> ByEnding:
        """Return changes of first parts."""
        return _by_ending(self.links)

    @cached_property
    def of_heads(self) -> ByEnding:
        """Return changes of last parts."""
        return _by_ending(self.heads)


@dataclass(frozen=True)
class Variants:
    """Makes variants of words from the `counts` of known words; only `parts` may be parts of compounds and ends."""

    counts: Mapping[str, int]
    parts: frozenset[str]
    changes: EndingChanges = EndingChanges()

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
    def shortened_forms(self) -> Mapping[str, tuple[str, ...]]:
        """Return known forms by what is left of them without one letter."""
        found = defaultdict[str, list[str]](list)
        for form in self.known_forms:
            if len(form) >= SHORTEST_EDITED - 1:
                for shorter in set(_shortened(form)):
                    found[shorter].append(form)
        return {shorter: tuple(forms) for shorter, forms in found.items()}

    def of(self, word: str) -> Iterator[Variant]:
        """Yield variants of a word, which are never the word itself; pieces at hyphens need not be known."""
        yield from self.splits(word)
        if _is_plain(word):
            yield from self.forms(word)
            yield from self._ends(word.lower())
            yield from self._edited(word)

    def splits(self, word: str) -> Iterator[Variant]:
        """Yield the pieces of a word at its hyphens, or else its parts as a compound."""
        if _is_plain(word):
            for split in best_splits(word.lower(), self.known_parts, self.changes):
                links = str(split.changes[0]) if len(split.parts) == 2 else str(len(split.parts))
                yield Variant(f"compound:{links}{'' if split.changes[-1] == UNCHANGED else '~'}", split.parts)
        elif len(pieces := [piece for piece in _JOINED.split(word) if piece]) > 1:
            yield Variant("hyphen", tuple(pieces))

    def forms(self, word: str) -> Iterator[Variant]:
        """Yield other forms of a word."""
        for change, other in _changed(fold(word), self.changes.of_forms, SHORTEST_STEM):
            found = self.known_forms.get(other)
            if found is not None and found[0] != word:
                yield Variant(f"form:{change}", (found[0],))

    def _ends(self, lower: str) -> Iterator[Variant]:
        length = len(lower)
        for cut in range(1, length):
            if size(lower[cut:]) >= SHORTEST_END and (found := self.known_parts.get(lower[cut:])):
                yield Variant(f"end:{_extent(length - cut, length)}", (found[0],), 1 - cut / length)
                break
        for cut in range(length - 1, 0, -1):
            if size(lower[:cut]) >= SHORTEST_END and (found := self.known_parts.get(lower[:cut])):
                yield Variant(f"start:{_extent(cut, length)}", (found[0],), cut / length)
                break

    def _edited(self, word: str) -> Iterator[Variant]:
        if len(word) < SHORTEST_EDITED:
            return
        found = [self.known_forms[form] for form in self.near(fold(word))]
        best = max(found, key=lambda one: (one[1], one[0]), default=None)
        if best is not None and best[0] != word:
            yield Variant(f"edit:{min(len(word), 12)}", (best[0],), 1 - 1 / len(word))

    def near(self, folded: str) -> set[str]:
        """Return known forms at distance 1: a letter dropped, added or replaced, or two neighbors exchanged."""
        shorter = {folded, *_shortened(folded)}
        found = {form for form in shorter if form in self.known_forms}
        found.update(form for one in shorter for form in self.shortened_forms.get(one, ()))
        return {form for form in found if _differ_once(folded, form)}


def _is_plain(word: str) -> bool:
    """Return whether a word may be one: not too long, and without digits and hyphens."""
    return len(word) <= LONGEST_WORD and not _JOINED.search(word) and not any(sign.isdigit() for sign in word)


def _by_ending(changes: Iterable[EndingChange]) -> ByEnding:
    found = defaultdict[str, list[EndingChange]](list)
    for change in changes:
        found[change.ending].append(change)
    return {ending: tuple(some) for ending, some in found.items()}


def _changed(word: str, changes: ByEnding, shortest: int) -> Iterator[tuple[EndingChange, str]]:
    """Yield what changes make of a word; a stem of the shortest size must stay."""
    for length in range(min(LONGEST_ENDING, len(word)) + 1):
        stem = word[: len(word) - length]
        if (own := changes.get(word[len(stem) :])) and size(stem) >= shortest:
            for change in own:
                yield change, stem + change.other


def _shortened(word: str) -> Iterator[str]:
    return (word[:place] + word[place + 1 :] for place in range(len(word)))


def _differ_once(one: str, other: str) -> bool:
    begin, end = 0, 0
    shorter = min(len(one), len(other))
    while begin < shorter and one[begin] == other[begin]:
        begin += 1
    while end < shorter - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    rest, others = one[begin : len(one) - end], other[begin : len(other) - end]
    return max(len(rest), len(others)) == 1 or (len(rest) == 2 and rest == others[::-1])


def _extent(letters: int, length: int) -> str:
    return f"{min(letters, 8)}/{5 * letters // length}"


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


def best_splits(word: str, known: Known, changes: EndingChanges) -> list[CompoundSplit]:
    """Return the best ways to write a word as two parts, three, and so on; none if there is none.

    A part is a known word, the last one after a change of `heads`, the others after one of `links`; a piece that is a
    word itself is not changed. Counts of parts have the highest geometric mean; of equal ones the first found is taken.
    The time grows with the square of the word's length.
    """
    found = []
    ways = {0: CompoundSplit((), (), 0.0)}  # the best one up to each place
    for number in range(1, MOST_PARTS + 1):
        ends = [
            _longer(way, last) for begin, way in ways.items() if (last := _part(word[begin:], known, changes.of_heads))
        ]
        if ends and number > 1:
            found.append(max(ends, key=lambda way: way.score))
        longer: dict[int, CompoundSplit] = {}
        for begin, way in ways.items():
            for end in range(begin + SHORTEST_PART - 1, len(word) - 1):
                if part := _part(word[begin:end], known, changes.of_links):
                    one = _longer(way, part)
                    if end not in longer or one.score > longer[end].score:
                        longer[end] = one
        ways = longer
    return found


def _longer(way: CompoundSplit, part: tuple[float, str, EndingChange]) -> CompoundSplit:
    return CompoundSplit((*way.parts, part[1]), (*way.changes, part[2]), way.score + part[0])


def _part(piece: str, known: Known, changes: ByEnding) -> tuple[float, str, EndingChange] | None:
    """Return the word that a piece of a compound is, or else the most frequent one that it may come from."""
    best = None
    if UNCHANGED in changes.get("", ()) and size(piece) >= SHORTEST_PART and (one := known.get(piece)):
        return math.log(one[1]), one[0], UNCHANGED
    for change, word in _changed(piece, changes, SHORTEST_PART):
        if one := known.get(word):
            value = math.log(one[1])
            if best is None or value > best[0]:
                best = (value, one[0], change)
    return best


def common_changes(words: Iterable[str], most: int, least: int = 5) -> list[EndingChange]:
    """Return the `most` frequent changes between endings of words with the same stem, of `least` stems or more."""
    endings = defaultdict[str, list[str]](list)
    for word in sorted(set(words)):
        for cut in range(max(len(word) - LONGEST_ENDING, 1), len(word) + 1):
            if size(word[:cut]) > SHORTEST_STEM:
                endings[word[:cut]].append(word[cut:])
    found = Counter[EndingChange]()
    for own in endings.values():
        if len(own) <= MOST_STEM_ENDINGS:
            for one, other in combinations(own, 2):
                if one[:1] != other[:1]:
                    found[EndingChange(one, other)] += 1
                    found[EndingChange(other, one)] += 1
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [change for change, count in ranked[:most] if count >= least]


def _most_frequent(words: Iterable[tuple[str, str, int]]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for key, word, count in words:
        old = found.get(key)
        if old is None or (count, word) > (old[1], old[0]):
            found[key] = (word, count)
    return found
