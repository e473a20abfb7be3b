"""Parts of a sentence of the sample in both languages, and how they become a sentence pair with its alignment.

What is said comes from one stream of random numbers (the scene's), how English puts it from another (`style`). The same
scene stream with another style stream gives another translation of the same Talvan text.
"""

from __future__ import annotations

from typing import NamedTuple

from toledo.sample.phrases import POSITIONS, Links, Piece, link
from toledo.sample.scene import Random, Scene

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
        """A name for one part of the source."""
        self.keys += 1
        return self.keys - 1

    def say(self, piece: Piece) -> Phrase:
        """A piece in one of its renderings, the usual one most often."""
        text, length, renderings = piece
        chance = self.style()
        english, words, links = renderings[int(chance * chance * len(renderings))]
        key = self.keys
        self.keys = key + 1
        return Phrase([(text, length, key)], [(english, words, links, key)])

    def word(self, text: str, translation: str) -> Phrase:
        """A word and its translation."""
        key = self.keys
        self.keys = key + 1
        return Phrase([(text, 1, key)], [(translation, 1, ONE, key)])

    def untranslated(self, text: str) -> SourcePart:
        """A Talvan word that English does without."""
        return (text, 1, self.new_key())


def join(*phrases: Phrase) -> Phrase:
    """Phrases in the same order in both languages."""
    source: list[SourcePart] = []
    target: list[TargetPart] = []
    for phrase in phrases:
        source += phrase.source
        target += phrase.target
    return Phrase(source, target)


def length_of(phrase: Phrase) -> int:
    """The number of Talvan words."""
    return sum(length for _, length, _ in phrase.source)


def written(phrase: Phrase, keys: int) -> tuple[str, str, str]:
    """Talvan text, English text and the links in Pharaoh format."""
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
