"""Noun phrases and verb groups of the sample in both languages, with their word alignment.

A piece is contiguous in both languages; what moves as a whole in a clause is a piece. Pieces are cached: few words are
very frequent.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

from toledo.sample.lexicon import (
    BE,
    BE_PAST,
    NOMINATIVE,
    PAST,
    PLURAL,
    POSSESSIVES,
    PRESENT,
    SINGULAR,
    TALVAN_BE,
    TALVAN_BE_PAST,
    Adjective,
    Expression,
    Noun,
    NounForms,
    Verb,
    VerbForms,
    article,
    ending,
)

CACHED_PIECES = 1 << 16

THE, A, OWN, NONE = "the", "a", "own", ""
NUMERALS = {"dua": "two", "tri": "three", "kvar": "four", "penta": "five"}
OWN_STEMS = {"1s": "mi", "1p": "nostr"}
BEFORE_NOUN = frozenset({"bon", "bell", "yov", "fals"})  # the few adjectives that do not follow their noun
Links = tuple[int, ...]  # each link is `link(i, j)`: Talvan position i, English position j, from the start of the piece
POSITIONS = 64  # more than any sentence has


class Rendering(NamedTuple):
    """English words, their number, and the links between the words of both languages."""

    text: str
    length: int
    links: Links


def link(talvan_position: int, english_position: int) -> int:
    """Return a link as one number: numbers of links in different pieces differ by a constant."""
    return POSITIONS * talvan_position + english_position


class Piece(NamedTuple):
    """Talvan words, their number, and the ways to say them in English, the usual one first."""

    text: str
    length: int
    renderings: tuple[Rendering, ...]


class EnglishVerb(NamedTuple):
    """`has eaten`: auxiliary and main verb; `eats`: no auxiliary, but `does eat` with a negation or in a question."""

    auxiliary: Rendering | None
    main: Rendering | None
    support: Rendering | None
    base: Rendering | None
    rest: Rendering | None  # further words of an idiom


class VerbGroup(NamedTuple):
    """The finite verb, what stands at the end of a main clause, and the English sides."""

    finite: str
    final: str
    final_finite: str  # how the finite verb ends a subordinate clause
    compound: bool  # the final part carries the meaning, not just a particle
    english: tuple[EnglishVerb, ...]


@lru_cache(CACHED_PIECES)
def noun_phrase(
    noun: Noun, number: int, case: int, determiner: str, adjective: Adjective | None, owner: str, bare: bool
) -> Piece:
    """Return a noun phrase with a determiner (THE, A, OWN, NONE or a numeral), left out in English if `bare`."""
    suffix = ending(noun.gender, number, case)
    words = [("noun", noun.stem + suffix)]
    if adjective:
        words.insert(adjective.stem not in BEFORE_NOUN, ("adjective", adjective.stem + suffix))
    if determiner:
        words.insert(0, ("determiner", _determiner(determiner, suffix, owner)))
    places = {role: place for place, (role, _) in enumerate(words)}
    renderings = tuple(
        _render(places, "" if bare else determiner, adjective_text, forms[number], owner)
        for forms, adjective_text in product(noun.english, adjective.english if adjective else ("",))
    )
    return Piece(" ".join(word for _, word in words), len(words), renderings)


def _determiner(determiner: str, suffix: str, owner: str) -> str:
    if determiner == THE:
        return "l" + suffix
    if determiner == A:
        return "un" + suffix
    if determiner == OWN:
        return OWN_STEMS.get(owner, "sv") + suffix
    return determiner


def _render(places: dict[str, int], determiner: str, adjective: str, noun: str, owner: str) -> Rendering:
    parts = [("adjective", adjective)] if adjective else []
    parts.append(("noun", noun))
    if determiner in (THE, A):
        parts.insert(0, ("determiner", article(determiner == A, parts[0][1])))
    elif determiner:
        parts.insert(0, ("determiner", POSSESSIVES[owner] if determiner == OWN else NUMERALS[determiner]))
    words: list[str] = []
    links: list[int] = []
    for role, text in parts:
        for word in text.split():
            links.append(link(places[role], len(words)))
            words.append(word)
    return Rendering(" ".join(words), len(words), tuple(links))


@lru_cache(CACHED_PIECES)
def predicate_adjective(adjective: Adjective, gender: str, number: int) -> Piece:
    """Return an adjective that agrees with the subject."""
    return fixed_piece(adjective.stem + ending(gender, number, NOMINATIVE), adjective.english)


@lru_cache(CACHED_PIECES)
def expression_piece(expression: Expression) -> Piece:
    """Return fixed words, all linked to all words of their translation."""
    return fixed_piece(expression.talvan, expression.english)


def fixed_piece(text: str, translations: tuple[str, ...]) -> Piece:
    """Return words that are translated as a whole."""
    length = len(text.split())
    return Piece(text, length, tuple(_fixed_rendering(length, translation) for translation in translations))


def _fixed_rendering(length: int, text: str) -> Rendering:
    words = len(text.split())
    return Rendering(text, words, tuple(link(i, j) for i, j in product(range(length), range(words))))


@lru_cache(CACHED_PIECES)
def compound(modifier: Noun, head: Noun) -> Noun:
    """Return the compound of two nouns: one word in Talvan, two in English."""
    first = modifier.english[0].singular
    forms = tuple(NounForms(f"{first} {form.singular}", f"{first} {form.plural}") for form in head.english)
    return Noun(f"{modifier.stem}i{head.stem}", head.gender, head.kind, forms)


@lru_cache(CACHED_PIECES)
def diminutive(noun: Noun) -> Noun:
    """Return `domettu`, a little house."""
    forms = tuple(NounForms(f"little {form.singular}", f"little {form.plural}") for form in noun.english)
    return Noun(noun.stem + "ett", noun.gender, noun.kind, forms)


@lru_cache(CACHED_PIECES)
def superlative(adjective: Adjective) -> Adjective:
    """Return `grandisimo`, very big."""
    return Adjective(adjective.stem + "isim", tuple(f"very {text}" for text in adjective.english))


# Tense: Talvan auxiliary (stem, endings) or none, ending of the final part; English auxiliary.
COMPOUND_TENSES = {
    "perfect": ("hav", PRESENT, "ado"),
    "pluperfect": ("hav", PAST, "ado"),
    "future": ("vol", PRESENT, "ar"),
    "can": ("pot", PRESENT, "ar"),
    "must": ("dev", PRESENT, "ar"),
}
AUXILIARIES = {"pluperfect": "had", "future": "will", "can": "can", "must": "must"}


@lru_cache(CACHED_PIECES)
def verb_group(verb: Verb, tense: str, person: str, owner: str) -> VerbGroup:
    """Return all forms of a verb in a clause; `owner` is the owner of the tongue in `hold one's tongue`."""
    fixed_words = len(verb.fixed.split())
    translations = tuple(
        _english_verb(forms, tense, person)._replace(rest=_idiom_rest(fixed_words, rest, owner))
        for forms, rest in verb.english
    )
    if tense in COMPOUND_TENSES:
        stem, endings, suffix = COMPOUND_TENSES[tense]
        finite = stem + endings[person]
        return VerbGroup(finite, verb.particle + verb.stem + suffix, finite, True, translations)
    finite = _simple_form(verb, tense, person)
    return VerbGroup(finite, verb.particle, verb.particle + finite, False, translations)


def _simple_form(verb: Verb, tense: str, person: str) -> str:
    if verb.frame == "copula":
        return (TALVAN_BE if tense == "present" else TALVAN_BE_PAST)[person]
    return verb.stem + (PRESENT if tense == "present" else PAST)[person]


def _english_verb(forms: VerbForms, tense: str, person: str) -> EnglishVerb:
    third = person == "3s"
    if tense in COMPOUND_TENSES:
        main = forms.participle if tense.endswith("perfect") else forms.base
        return _verb(AUXILIARIES.get(tense, "has" if third else "have"), main)
    if forms.base == "be":
        return _verb((BE if tense == "present" else BE_PAST)[person])
    if tense == "past":
        return _verb("", forms.past, "did", forms.base)
    return _verb("", forms.third if third else forms.base, "does" if third else "do", forms.base)


def _verb(*texts: str) -> EnglishVerb:
    parts = [_fixed_rendering(1, text) if text else None for text in texts]
    return EnglishVerb(*parts, *[None] * (5 - len(parts)))


def _idiom_rest(fixed_words: int, rest: str, owner: str) -> Rendering | None:
    """Return the further words of an idiom; if English has none, those of Talvan are linked to the verb."""
    if not fixed_words:
        return None
    if not rest:
        return Rendering("", 0, tuple(link(place, -1) for place in range(fixed_words)))
    return _fixed_rendering(fixed_words, rest.replace("OWN", POSSESSIVES[owner]))


def number_of(person: str) -> int:
    """Return singular or plural of a grammatical person."""
    return PLURAL if person.endswith("p") else SINGULAR
