"""What a document of the sample talks about: a topic, its people, and words that come back.

Parts of a sentence of the sample in both languages, and how they become a sentence pair with its alignment.

What is said comes from one stream of random numbers (the scene's), how English puts it from another (`style`). The same
scene stream with another style stream gives another translation of the same Talvan text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

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
    field_pairs,
    idioms,
    modifiers,
    word_tables,
)
from toledo.sample.phrases import POSITIONS, Links, Piece, compound, diminutive, link, superlative

Random = Callable[[], float]  # uniform in [0, 1)
Item = TypeVar("Item")

PEOPLE = 3
# Names that occur in one document only are made of these.
ONSETS, NUCLEI, CODAS = ("b", "d", "dr", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "z"), "aeio", "lnrst"
FAVORITES = 2  # nouns of each kind that come back


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
        self.favorites = {kind: [self._new_noun(kind) for _ in range(FAVORITES)] for kind in KINDS}

    def pick(self, items: Sequence[Item]) -> Item:
        """Return a random item."""
        return items[int(self.random() * len(items))]

    def noun(self, kind: str) -> Noun:
        """Return a noun of a kind: often a favorite of the document, seldom a compound or a diminutive."""
        chance = self.random()
        noun = self.pick(self.favorites[kind]) if chance < 0.4 else self._new_noun(kind)
        if chance > 0.84 and kind in ("thing", "place", "idea"):
            return compound(self.pick(modifiers()), noun)
        if chance > 0.82 and kind != "idea":
            return diminutive(noun)
        return noun

    def adjective(self, kind: str) -> Adjective:
        """Return an adjective for nouns of a kind, sometimes strengthened."""
        own, chance = self.topic.adjectives[kind], self.random()
        adjective = self.pick(own if own and chance < 0.3 else everyday_words().adjectives[kind])
        return superlative(adjective) if chance > 0.85 else adjective

    def attribute(self, noun: Noun) -> Adjective | None:
        """Return an adjective beside a noun, or none."""
        return self.adjective(noun.kind) if self.random() < 0.3 else None

    def verb(self) -> Verb:
        """Return a verb of the topic or of everyday life, an idiom, or the copula."""
        chance = self.random()
        if chance < 0.4:
            return self.pick(self.topic.verbs)
        if chance < 0.87:
            return self.pick(everyday_words().verbs)
        return COPULA if chance < 0.94 else self.pick(idioms())

    def tense(self) -> str:
        """Return mostly the tense of the document."""
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
            name = self.pick(word_tables()["men"] if gender == "m" else word_tables()["women"])
        return Name(Expression(name, (name,)), "person", gender)

    def _town(self) -> Name:
        if self.random() < 0.15:
            name = self._rare_name() + "ar"
            return Name(Expression(name, (name,)), "place", "n")
        return Name(self.pick(expressions("towns")), "place", "n")

    def _rare_name(self) -> str:
        syllables = range(2 + (self.random() < 0.4))
        open_part = "".join(self.pick(ONSETS) + self.pick(NUCLEI) for _ in syllables)
        return open_part + self.pick(CODAS)


class SenseScene(Scene):
    """A scene of one field, in which the words of its documents have their senses.

    With the same random numbers and the other field of the pair, the same is said: sentences differ in Talvan only
    where a word or an adjective tells the field, and in English in the senses, too.
    """

    def __init__(self, random: Random, side: int) -> None:
        super().__init__(random)
        self.field = self.pick(field_pairs())[side]
        self.chosen = {kind: self.pick(some) for kind, some in self.field.ambiguous.items() if some}

    def noun(self, kind: str) -> Noun:
        """Return a word with two senses, one that tells the field, or any other noun."""
        chance = self.random()
        if kind in self.chosen and chance < 0.45:
            return self.chosen[kind]
        if kind in self.chosen and chance < 0.52:
            return self.pick(self.field.nouns[kind])
        return super().noun(kind)

    def attribute(self, noun: Noun) -> Adjective | None:
        """Return an adjective that tells the field beside one of its words, seldom; beside others any."""
        if noun not in self.chosen.values():
            return super().attribute(noun)
        return self.pick(self.field.cues) if self.random() < 0.2 else None


SourcePart = tuple[str, int, int]  # words, their number, key
TargetPart = tuple[str, int, Links, int]  # words, their number, links, key of the source part that the links count from
ONE: Links = (link(0, 0),)
LAST: Links = (link(0, -1),)  # for a part without words: linked to the English word before it
PHARAOH = [f"{i}-{j}" for i in range(POSITIONS) for j in range(POSITIONS)]


class Phrase(NamedTuple):
    """A part of a sentence, in Talvan order and in English order."""

    source: list[SourcePart]
    target: list[TargetPart]


class Subject(NamedTuple):
    """A phrase and what agrees with it: the verb (person), possessives (owner), pronouns (owner, Talvan gender)."""

    phrase: Phrase
    kind: str
    person: str
    owner: str
    gender: str


class Speaker:
    """Says things about a scene: hands out keys and chooses among English renderings."""

    def __init__(self, scene: Scene, style: Random) -> None:
        self.scene = scene
        self.random = scene.random
        self.style = style
        self.keys = 0
        self.last: Subject | None = None  # whom a pronoun can refer to

    def new_key(self) -> int:
        """Return a name for one part of the source."""
        self.keys += 1
        return self.keys - 1

    def say(self, piece: Piece) -> Phrase:
        """Return a piece in one of its renderings, the usual one most often."""
        text, length, renderings = piece
        chance = self.style()
        english, words, links = renderings[int(chance * chance * len(renderings))]
        key = self.keys
        self.keys = key + 1
        return Phrase([(text, length, key)], [(english, words, links, key)])

    def word(self, text: str, translation: str) -> Phrase:
        """Return a word and its translation."""
        key = self.keys
        self.keys = key + 1
        return Phrase([(text, 1, key)], [(translation, 1, ONE, key)])

    def untranslated(self, text: str) -> SourcePart:
        """Return a Talvan word without a translation."""
        return (text, 1, self.new_key())


def join(*phrases: Phrase) -> Phrase:
    """Return phrases in the same order in both languages."""
    source: list[SourcePart] = []
    target: list[TargetPart] = []
    for phrase in phrases:
        source += phrase.source
        target += phrase.target
    return Phrase(source, target)


def length_of(phrase: Phrase) -> int:
    """Return the number of Talvan words."""
    return sum(length for _, length, _ in phrase.source)


def written(phrase: Phrase, keys: int) -> tuple[str, str, str]:
    """Return Talvan text, English text and the links in Pharaoh format."""
    starts = [0] * keys
    place = 0
    for _, length, key in phrase.source:
        starts[key] = place
        place += POSITIONS * length
    links: list[int] = []
    place = 0
    for _, length, own_links, key in phrase.target:
        start = starts[key] + place
        links += [start + own for own in own_links]
        place += length
    links.sort()
    source = " ".join([part[0] for part in phrase.source])
    target = " ".join([part[0] for part in phrase.target if part[1]])
    return source, target, " ".join([PHARAOH[number] for number in links])
