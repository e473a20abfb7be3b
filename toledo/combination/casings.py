"""In which case a word may stand: votes of the systems' outputs, and of a table from any cased text.

Words that begin a sentence are counted apart from those inside: a capital letter there says nothing about the word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from toledo.text import sentence_starts

ELSEWHERE = 0.5  # the weight of a vote from inside a sentence for its beginning, and the other way round
TABLE = 0.5  # the weight of the whole table, in votes
USUAL = 0.01  # the same of the usual casing: a capital at the beginning, none inside


@dataclass(frozen=True)
class Casings:
    """How often a word stands in each case, inside sentences and at their beginning."""

    inside: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)

    def at(self, begins: bool) -> dict[str, float]:
        """Votes for each casing at the beginning of a sentence, or inside; those from the other place are less sure."""
        here, there = (self.first, self.inside) if begins else (self.inside, self.first)
        votes = {form: float(count) for form, count in here.items()}
        for form, count in there.items():
            moved = capitalised(form) if begins else form
            if begins or form != capitalised(form.lower()):
                votes[moved] = votes.get(moved, 0.0) + ELSEWHERE * count
        return votes


CasingTable = Mapping[str, Casings]  # by the word in lower case
NOTHING = Casings()


def count_casings(texts: Iterable[Sequence[str]]) -> CasingTable:
    """The casings of all words of some tokenised texts."""
    table: defaultdict[str, Casings] = defaultdict(Casings)
    for words in texts:
        for word, begins in zip(words, sentence_starts(list(words)), strict=True):
            casings = table[word.lower()]
            (casings.first if begins else casings.inside)[word] += 1
    return dict(table)


def casing_shares(word: str, begins: bool, own: Casings, known: Casings) -> dict[str, float]:
    """The share of each casing of a lower-cased word: `own` are those of the segment's outputs, `known` of the table.

    The usual casing is always among them.
    """
    votes: defaultdict[str, float] = defaultdict(float)
    votes[capitalised(word) if begins else word] = USUAL
    table = known.at(begins)
    for form, count in own.at(begins).items():
        votes[form] += count
    for form, count in table.items():
        votes[form] += TABLE * count / sum(table.values())
    total = sum(votes.values())
    return {form: count / total for form, count in votes.items()}


def capitalised(word: str) -> str:
    """With a capital first letter; the others stay."""
    return word[:1].upper() + word[1:]
