"""What a document of the sample talks about: a topic, its people, and words that come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from toledo.sample import phrasebook
from toledo.sample.lexicon import (
    COPULA,
    KINDS,
    Adjective,
    Expression,
    Noun,
    Topic,
    Verb,
    all_topics,
    everyday_words,
    expressions,
    idioms,
    modifiers,
)
from toledo.sample.phrases import compound, diminutive, superlative

Random = Callable[[], float]  # uniform in [0, 1)
Item = TypeVar("Item")

PEOPLE = 3
FAVOURITES = 2  # nouns of each kind that come back


class Name(NamedTuple):
    """A person or a town."""

    expression: Expression
    kind: str
    gender: str


class Scene:
    """The choices of words in one document; all of them from one stream of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.topic: Topic = self.pick(all_topics())
        self.past = random() < 0.6
        self.people = [self._person(rare=number == 0 and random() < 0.5) for number in range(PEOPLE)]
        self.town = self._town()
        self.favourites = {kind: [self._new_noun(kind) for _ in range(FAVOURITES)] for kind in KINDS}

    def pick(self, items: Sequence[Item]) -> Item:
        """One of some items."""
        return items[int(self.random() * len(items))]

    def noun(self, kind: str) -> Noun:
        """A noun of a kind: often one of the document's own, seldom a compound or a diminutive."""
        chance = self.random()
        noun = self.pick(self.favourites[kind]) if chance < 0.4 else self._new_noun(kind)
        if chance > 0.84 and kind in ("thing", "place", "idea"):
            return compound(self.pick(modifiers()), noun)
        if chance > 0.82 and kind != "idea":
            return diminutive(noun)
        return noun

    def adjective(self, kind: str) -> Adjective:
        """An adjective for nouns of a kind, sometimes strengthened."""
        own, chance = self.topic.adjectives[kind], self.random()
        adjective = self.pick(own if own and chance < 0.3 else everyday_words().adjectives[kind])
        return superlative(adjective) if chance > 0.85 else adjective

    def verb(self) -> Verb:
        """A verb of the topic, of everyday life, an idiom, or to be."""
        chance = self.random()
        if chance < 0.4:
            return self.pick(self.topic.verbs)
        if chance < 0.87:
            return self.pick(everyday_words().verbs)
        return COPULA if chance < 0.94 else self.pick(idioms())

    def tense(self) -> str:
        """Mostly the tense of the document."""
        chance = self.random()
        if chance < 0.6:
            return "past" if self.past else "present"
        if chance < 0.78:
            return "pluperfect" if self.past and chance < 0.66 else "perfect"
        return "future" if chance < 0.86 else "can" if chance < 0.93 else "must"

    def _new_noun(self, kind: str) -> Noun:
        own = self.topic.nouns[kind]
        return self.pick(own if own and self.random() < 0.65 else everyday_words().nouns[kind])

    def _person(self, rare: bool) -> Name:
        gender = "m" if self.random() < 0.5 else "f"
        if rare:
            name = self._rare_name() + ("o" if gender == "m" else "a")
        else:
            name = self.pick(phrasebook.MEN if gender == "m" else phrasebook.WOMEN)
        return Name(Expression(name, (name,)), "person", gender)

    def _town(self) -> Name:
        if self.random() < 0.15:
            name = self._rare_name() + "ar"
            return Name(Expression(name, (name,)), "place", "n")
        return Name(self.pick(expressions(phrasebook.TOWNS)), "place", "n")

    def _rare_name(self) -> str:
        syllables = range(2 + (self.random() < 0.4))
        open_part = "".join(self.pick(phrasebook.ONSETS) + self.pick(phrasebook.NUCLEI) for _ in syllables)
        return open_part + self.pick(phrasebook.CODAS)
