"""Words and forms of the two languages of the sample; the tables of words are in `words.txt`.

Talvan, the source language, is invented. Gender shows in the last vowel: -o masculine, -a feminine, -u neuter.
Articles, numerals for one, possessives and adjectives agree with their noun in gender, number and case. Verbs agree
with their subject in person and number. English forms follow regular rules; the tables give the irregular ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeVar

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
SINGULAR, PLURAL = range(2)

VOWELS = {"m": "o", "f": "a", "n": "u"}
GENDERS = {vowel: gender for gender, vowel in VOWELS.items()}
CASE_ENDINGS = (("", "n", "r", "s"), ("i", "is", "ri", "ros"))

PRESENT = {"1s": "em", "1p": "emos", "3s": "et", "3p": "en"}
PAST = {"1s": "ivem", "1p": "ivemos", "3s": "ivet", "3p": "iven"}
TALVAN_BE = {"1s": "som", "1p": "somos", "3s": "est", "3p": "son"}
TALVAN_BE_PAST = {"1s": "erem", "1p": "eremos", "3s": "eret", "3p": "eren"}

TALVAN_PRONOUNS = {"m": "il", "f": "el", "n": "ul", "1s": "mi", "1p": "nos"}
NEGATION, THAT, WHO, AND, BUT = "ne", "quod", "kui", "e", "ma"


def ending(gender: str, number: int, case: int) -> str:
    """Return the ending that nouns, adjectives and articles share; neuters do not tell accusative from nominative."""
    if gender == "n" and case == ACCUSATIVE:
        case = NOMINATIVE
    return VOWELS[gender] + CASE_ENDINGS[number][case]


def talvan_pronoun(gender: str, number: int) -> str:
    """Return a subject pronoun."""
    return TALVAN_PRONOUNS[gender] + ("i" if number == PLURAL else "")


_SIBILANT = re.compile(r"(s|x|z|ch|sh|o)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")  # one short syllable: its last letter is doubled

BE = {"1s": "am", "3s": "is", "1p": "are", "3p": "are"}
BE_PAST = {"1s": "was", "3s": "was", "1p": "were", "3p": "were"}
POSSESSIVES = {"m": "his", "f": "her", "n": "its", "p": "their", "1s": "my", "1p": "our"}
PRONOUNS = {"m": "he", "f": "she", "n": "it", "p": "they", "1s": "i", "1p": "we"}


class VerbForms(NamedTuple):
    """Base, third person singular, past and participle."""

    base: str
    third: str
    past: str
    participle: str


class NounForms(NamedTuple):
    """Singular and plural."""

    singular: str
    plural: str


def noun_forms(entry: str) -> NounForms:
    """Return the forms of `house` or `mouse|mice`."""
    singular, _, plural = entry.replace("_", " ").partition("|")
    return NounForms(singular, plural or with_s(singular))


def verb_forms(entry: str) -> VerbForms:
    """Return the forms of `love`, `look_for` or `write|wrote|written`: the first word is inflected."""
    forms = entry.split("|")
    base, _, rest = forms[0].partition("_")
    tail = " " + rest.replace("_", " ") if rest else ""
    past, participle = (form.replace("_", " ") for form in forms[1:]) if len(forms) == 3 else [with_ed(base) + tail] * 2
    third = "has" if base == "have" else with_s(base)
    return VerbForms(base + tail, third + tail, past, participle)


def with_s(word: str) -> str:
    """Return plural of a noun, third person of a verb."""
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")


def with_ed(word: str) -> str:
    """Return past of a regular verb."""
    if word.endswith("e"):
        return word + "d"
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ied"
    return word + (word[-1] if _SHORT.search(word) else "") + "ed"


def article(indefinite: bool, next_word: str) -> str:
    """Return `a`, `an` or `the`."""
    if not indefinite:
        return "the"
    return "an" if next_word[0] in "aeiou" else "a"


KINDS = ("person", "animal", "thing", "food", "place", "idea")
GROUPS = {"being": ("person", "animal"), "matter": ("thing", "food"), "any": KINDS, **{kind: (kind,) for kind in KINDS}}

Entry = TypeVar("Entry")
EVERYDAY = "everyday"


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


class Field(NamedTuple):
    """One of two fields: its nouns by kind, adjectives that tell it, and words whose sense depends on the field."""

    name: str
    nouns: dict[str, list[Noun]]
    cues: list[Adjective]
    ambiguous: dict[str, list[Noun]]


COPULA = Verb("es", "", ((VerbForms("be", "is", "was", "been"), ""),), KINDS, "copula")


@cache
def word_tables() -> dict[str, list[str]]:
    """Read the lines of each table of `words.txt`."""
    tables: dict[str, list[str]] = {}
    for line in (files("toledo.sample") / "words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            rows = tables[line[1:-1]] = []
        elif line and not line.startswith("#"):
            rows.append(line)
    return tables


@cache
def all_topics() -> tuple[Topic, ...]:
    """Return the topics, each with the words of everyday life beside its own."""
    names = dict.fromkeys(name.partition(" ")[0] for name in word_tables() if name.endswith(" nouns"))
    return tuple(_topic(name) for name in names if name != EVERYDAY)


@cache
def everyday_words() -> Topic:
    """Return the words of everyday life."""
    return _topic(EVERYDAY)


@cache
def modifiers() -> list[Noun]:
    """Return the nouns that compounds begin with, each once, so that most compounds are rare."""
    kinds = ("thing", "food", "place", "animal")
    return [noun for topic in all_topics() for kind in kinds for noun in dict.fromkeys(topic.nouns[kind])]


@cache
def idioms() -> list[Verb]:
    """Return verb phrases that mean something else than their words."""
    return _frequent_first([_idiom(*fields) for fields in _fields("idioms")])


@cache
def field_pairs() -> tuple[tuple[Field, Field], ...]:
    """Return pairs of fields; an ambiguous word is at the same place in both, with another sense."""
    names = [name.split()[1:] for name in word_tables() if name.startswith("senses ")]
    return tuple((_field(first, second, 0), _field(first, second, 1)) for first, second in names)


def _field(first: str, second: str, side: int) -> Field:
    name = (first, second)[side]
    words = [line.split() for line in word_tables()[f"fields {first} {second}"]]
    own = [(talvan, english, kind) for talvan, english, kind, field in words if field == name]
    senses = [line.split() for line in word_tables()[f"senses {first} {second}"]]
    ambiguous = [_noun(talvan, both[side], kind) for talvan, *both, kind in senses]
    nouns = [_noun(talvan, english, kind) for talvan, english, kind in own if kind != "cue"]
    return Field(
        name,
        {kind: [noun for noun in nouns if noun.kind == kind] for kind in KINDS},
        [_adjective(talvan, english)[0] for talvan, english, kind in own if kind == "cue"],
        {kind: [noun for noun in ambiguous if noun.kind == kind] for kind in KINDS},
    )


@cache
def expressions(table: str) -> list[Expression]:
    """Return a table of fixed expressions."""
    return [Expression(talvan, tuple(_alternatives(english))) for talvan, english in _fields(table)]


def _topic(name: str) -> Topic:
    nouns, verbs, adjectives = (word_tables()[f"{name} {part}"] for part in ("nouns", "verbs", "adjectives"))
    all_nouns = [_noun(*line.split()) for line in nouns]
    all_adjectives = [_adjective(*line.split()) for line in adjectives]
    return Topic(
        name,
        {kind: _frequent_first([noun for noun in all_nouns if noun.kind == kind]) for kind in KINDS},
        _frequent_first([_verb(*line.split()) for line in verbs]),
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
    return ([field.strip() for field in line.split(";")] for line in word_tables()[table])


def _alternatives(text: str) -> list[str]:
    return text.split(" / ")


def _frequent_first(entries: Sequence[Entry]) -> list[Entry]:
    """Repeat entries so that a uniform choice follows Zipf's law roughly."""
    return [entry for rank, entry in enumerate(entries) for _ in range(1 + 24 // (rank + 2))]
