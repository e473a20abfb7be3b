"""Subjects, objects and places of the sample: noun phrases, names, pronouns, owners, relative clauses."""

from __future__ import annotations

from toledo.sample import english, talvan
from toledo.sample.lexicon import Expression
from toledo.sample.phrases import NONE, NUMERALS, OWN, THE, A, expression_piece, link, noun_phrase
from toledo.sample.scene import ONE, Name, Phrase, Speaker, Subject, join
from toledo.sample.talvan import DATIVE, GENITIVE, NOMINATIVE, PLURAL, SINGULAR

DETERMINERS = (THE,) * 11 + (A,) * 5 + (OWN,) * 2 + (NONE,) * 2
NUMERAL_WORDS = tuple(NUMERALS)


def nominal(speaker: Speaker, kind: str, case: int, owner: str = "") -> Subject:
    """A name, or a noun with its companions; `owner` is who *his* or *her* refers to."""
    scene, random = speaker.scene, speaker.random
    if kind == "person" and random() < 0.3:
        return named(speaker, scene.pick(scene.people))
    if kind == "place" and random() < 0.15:
        return named(speaker, scene.town)
    noun = scene.noun(kind)
    number = PLURAL if random() < (0.1 if kind == "food" else 0.25) else SINGULAR
    determiner = _determiner(speaker, number, owner)
    adjective = scene.adjective(kind) if random() < 0.3 else None
    owned = determiner == THE and random() < 0.1
    swapped = owned and speaker.style() < 0.5
    whose = owner if determiner == OWN else ""
    phrase = speaker.say(noun_phrase(noun, number, case, determiner, adjective, whose, swapped))
    if owned:
        phrase = _with_owner(speaker, phrase, swapped)
    natural = "p" if number == PLURAL else noun.gender if kind == "person" else "n"
    return Subject(phrase, kind, "3p" if number == PLURAL else "3s", natural, noun.gender)


def _determiner(speaker: Speaker, number: int, owner: str) -> str:
    determiner = speaker.scene.pick(DETERMINERS)
    if number == PLURAL and determiner == A:
        return speaker.scene.pick(NUMERAL_WORDS)
    if (number == SINGULAR and determiner == NONE) or (determiner == OWN and not owner):
        return THE
    return determiner


def _with_owner(speaker: Speaker, thing: Phrase, swapped: bool) -> Phrase:
    """The owner follows in the genitive: `the house of the king`, or swapped `the king 's house`."""
    person = speaker.say(noun_phrase(speaker.scene.noun("person"), SINGULAR, GENITIVE, THE, None, "", False))
    key = person.source[0][2]
    if swapped:
        target = [*person.target, ("'s", 1, (link(1, 0),), key), *thing.target]
    else:
        target = [*thing.target, ("of", 1, ONE, key), *person.target]
    return Phrase(thing.source + person.source, target)


def named(speaker: Speaker, name: Name) -> Subject:
    """A person or a town by name; names are not inflected."""
    return Subject(speaker.say(expression_piece(name.expression)), name.kind, "3s", name.gender, name.gender)


def subject(speaker: Speaker, kind: str) -> Subject:
    """A pronoun for somebody just named, `i` or `we`, two subjects joined, or a noun phrase."""
    chance = speaker.random()
    known = speaker.last
    if known and known.kind == kind and chance < 0.14:
        return _pronoun(speaker, known)
    if kind == "person" and chance < 0.2:
        person = "1s" if chance < 0.17 else "1p"
        return Subject(speaker.word(talvan.PRONOUNS[person], english.PRONOUNS[person]), kind, person, person, "m")
    first = nominal(speaker, kind, NOMINATIVE)
    if chance < 0.27:
        second = nominal(speaker, kind, NOMINATIVE)
        both = join(first.phrase, speaker.word(talvan.AND, "and"), second.phrase)
        first = Subject(both, kind, "3p", "p", first.gender)
    speaker.last = first
    return first


def _pronoun(speaker: Speaker, known: Subject) -> Subject:
    """Talvan pronouns show grammatical gender, English ones who or what it is."""
    number = PLURAL if known.person == "3p" else SINGULAR
    phrase = speaker.word(talvan.pronoun(known.gender, number), english.PRONOUNS[known.owner])
    return known._replace(phrase=phrase)


def adposition(speaker: Speaker, expression: Expression, kind: str, owner: str) -> Phrase:
    """A postposition in Talvan, a preposition in English."""
    place = nominal(speaker, kind, DATIVE, owner).phrase
    relation = speaker.say(expression_piece(expression))
    return Phrase(place.source + relation.source, relation.target + place.target)
