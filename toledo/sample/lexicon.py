"""The words of the sample, read from its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

from toledo.sample import everyday, more_topics, phrasebook, topics
from toledo.sample.english import NounForms, VerbForms, noun_forms, verb_forms
from toledo.sample.talvan import GENDERS

KINDS = ("person", "animal", "thing", "food", "place", "idea")
GROUPS = {"being": ("person", "animal"), "matter": ("thing", "food"), "any": KINDS, **{kind: (kind,) for kind in KINDS}}

Entry = TypeVar("Entry")


@dataclass(frozen=True, eq=False)  # equal only to itself: a fast key of caches
class Noun:
    """A Talvan noun and its English translations, the usual one first."""

    stem: str
    gender: str
    kind: str
    english: tuple[NounForms, ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A Talvan verb; `particle` leaves it in main clauses. `subjects`, `objects`, `receivers` are kinds of nouns.

    `fixed` are the further words of an idiom. English: forms and further words of each translation.
    """

    stem: str
    particle: str
    english: tuple[tuple[VerbForms, str], ...]
    subjects: tuple[str, ...]
    frame: str
    objects: tuple[str, ...] = ()
    fixed: str = ""


@dataclass(frozen=True, eq=False)
class Adjective:
    """A Talvan adjective and its English translations."""

    stem: str
    english: tuple[str, ...]


class Expression(NamedTuple):
    """Fixed words and their translations."""

    talvan: str
    english: tuple[str, ...]


class Topic(NamedTuple):
    """What is talked about: words by kind; lists repeat frequent words."""

    name: str
    nouns: dict[str, list[Noun]]
    verbs: list[Verb]
    adjectives: dict[str, list[Adjective]]


COPULA = Verb("es", "", ((VerbForms("be", "is", "was", "been"), ""),), KINDS, "copula")


@cache
def all_topics() -> tuple[Topic, ...]:
    """The topics, each with the words of everyday life beside its own."""
    tables = {
        "farm": topics.FARM,
        "sea": topics.SEA,
        "market": topics.MARKET,
        "school": topics.SCHOOL,
        "kitchen": topics.KITCHEN,
        "castle": topics.CASTLE,
        "forest": more_topics.FOREST,
        "workshop": more_topics.WORKSHOP,
        "hospital": more_topics.HOSPITAL,
        "theatre": more_topics.THEATRE,
    }
    return tuple(_topic(name, *table) for name, table in tables.items())


@cache
def everyday_words() -> Topic:
    """The words of everyday life."""
    return _topic("everyday", everyday.NOUNS, everyday.VERBS, everyday.ADJECTIVES)


@cache
def modifiers() -> list[Noun]:
    """The nouns that compounds begin with, each once: so most compounds are rare."""
    kinds = ("thing", "food", "place", "animal")
    return [noun for topic in all_topics() for kind in kinds for noun in dict.fromkeys(topic.nouns[kind])]


@cache
def idioms() -> list[Verb]:
    """Verb phrases that mean something else than their words."""
    return _frequent_first([_idiom(*fields) for fields in _fields(phrasebook.IDIOMS)])


@cache
def expressions(table: str) -> list[Expression]:
    """A table of fixed expressions."""
    return [Expression(talvan, tuple(_alternatives(english))) for talvan, english in _fields(table)]


def _topic(name: str, nouns: str, verbs: str, adjectives: str) -> Topic:
    all_nouns = [_noun(*line.split()) for line in _lines(nouns)]
    all_adjectives = [_adjective(*line.split()) for line in _lines(adjectives)]
    return Topic(
        name,
        {kind: _frequent_first([noun for noun in all_nouns if noun.kind == kind]) for kind in KINDS},
        _frequent_first([_verb(*line.split()) for line in _lines(verbs)]),
        {kind: [adjective for adjective, kinds in all_adjectives if kind in kinds] for kind in KINDS},
    )


def _noun(talvan: str, english: str, kind: str) -> Noun:
    return Noun(talvan[:-1], GENDERS[talvan[-1]], kind, tuple(noun_forms(entry) for entry in english.split("/")))


def _verb(talvan: str, english: str, subject: str, target: str) -> Verb:
    stem, _, particle = talvan.partition("+")
    forms = tuple((verb_forms(entry), "") for entry in english.split("/"))
    if target in ("-", "clause"):
        return Verb(stem, particle, forms, GROUPS[subject], "intransitive" if target == "-" else "clause")
    thing, _, goal = target.partition(">")
    frame = "transitive" if not goal else "ditransitive" if thing else "motion"
    return Verb(stem, particle, forms, GROUPS[subject], frame, GROUPS[thing or goal])


def _idiom(stem: str, fixed: str, english: str) -> Verb:
    phrases = (phrase.partition(" ") for phrase in _alternatives(english))
    forms = tuple((verb_forms(verb), rest) for verb, _, rest in phrases)
    return Verb(stem, "", forms, ("person",), "idiom", fixed=fixed)


def _adjective(talvan: str, english: str, *groups: str) -> tuple[Adjective, set[str]]:
    kinds = {kind for group in groups for kind in GROUPS[group]}
    return Adjective(talvan[:-1], tuple(english.split("/"))), kinds


def _fields(table: str) -> Iterable[list[str]]:
    return ([field.strip() for field in line.split(";")] for line in _lines(table))


def _alternatives(text: str) -> list[str]:
    return text.split(" / ")


def _lines(table: str) -> list[str]:
    return [line.strip() for line in table.strip().splitlines()]


def _frequent_first(entries: Sequence[Entry]) -> list[Entry]:
    """Repeat entries so that a uniform choice follows Zipf's law roughly."""
    return [entry for rank, entry in enumerate(entries) for _ in range(1 + 24 // (rank + 2))]
