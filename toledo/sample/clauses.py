"""Clauses of the sample: one derivation, two word orders.

Talvan against English: the finite verb is second in main clauses (so a fronted time inverts subject and verb), while
infinitives, participles and particles go to the end; in subordinate clauses the whole verb goes to the end; questions
put the verb first where English uses *do*; negation follows the finite verb, or precedes the verb at the end.
"""

from __future__ import annotations

from typing import NamedTuple

from toledo.sample.lexicon import (
    ACCUSATIVE,
    AND,
    COPULA,
    DATIVE,
    GENITIVE,
    NEGATION,
    NOMINATIVE,
    PLURAL,
    PRONOUNS,
    SINGULAR,
    TALVAN_PRONOUNS,
    THAT,
    WHO,
    Expression,
    Verb,
    expressions,
    talvan_pronoun,
)
from toledo.sample.phrases import (
    NONE,
    NUMERALS,
    OWN,
    THE,
    A,
    EnglishVerb,
    VerbGroup,
    expression_piece,
    link,
    noun_phrase,
    number_of,
    predicate_adjective,
    verb_group,
)
from toledo.sample.scene import LAST, ONE, Name, Phrase, SourcePart, Speaker, Subject, TargetPart, join

MAIN, INVERTED, SUBORDINATE, QUESTION = range(4)  # INVERTED: something else than the subject comes first
DEEPEST = 2
TO = Expression("ad", ("to",))
NOTHING = Phrase([], [])
DETERMINERS = (THE,) * 11 + (A,) * 5 + (OWN,) * 2 + (NONE,) * 2
NUMERAL_WORDS = tuple(NUMERALS)


class VerbKeys(NamedTuple):
    """The Talvan words that English verbs are linked to."""

    finite: int
    final: int
    negation: int


class Complement(NamedTuple):
    """Objects and the like: before the final verb of Talvan (`middle`) or behind it (`after`)."""

    middle: Phrase
    after: Phrase = NOTHING


def clause(speaker: Speaker, order: int, depth: int = 0, given: Subject | None = None) -> Phrase:
    """Return a clause in one of the four orders, about a `given` subject (a relative pronoun) or a new one."""
    scene, random = speaker.scene, speaker.random
    verb = _verb(speaker, depth, given)
    who = given or _subject(speaker, verb, depth)
    tense = scene.tense()
    group = verb_group(verb, tense, who.person, who.owner)
    english = group.english[int(speaker.style() ** 2 * len(group.english))]
    keys = VerbKeys(speaker.new_key(), speaker.new_key(), speaker.new_key())
    negated = random() < 0.08
    time = _expression(speaker, "past times" if tense == "past" and random() < 0.3 else "times", 0.22)
    manner = _expression(speaker, "manners", 0.1)
    complement = _complement(speaker, verb, english, who, depth)
    place = _place(speaker, who)
    first = time if time.source and order == MAIN and random() < 0.5 else NOTHING

    middle = [] if first is time else list(time.source)
    for phrase in (place, complement.middle) if random() < 0.5 else (complement.middle, place):
        middle += phrase.source
    middle += manner.source
    source = _source_order(order, group, keys, negated, who.phrase.source, first.source, middle)

    verb_words = _verb_words(group, english, keys, negated, order)
    if order == QUESTION:
        target = verb_words[:1] + who.phrase.target + verb_words[1:]
    else:
        target = who.phrase.target + verb_words
    target = target + complement.middle.target + manner.target + place.target
    early = order in (MAIN, INVERTED) and speaker.style() < 0.4
    target = time.target + target if early else target + time.target
    return Phrase(source + complement.after.source, target + complement.after.target)


def _source_order(
    order: int,
    group: VerbGroup,
    keys: VerbKeys,
    negated: bool,
    subject: list[SourcePart],
    first: list[SourcePart],
    middle: list[SourcePart],
) -> list[SourcePart]:
    negation = [(NEGATION, 1, keys.negation)] if negated else []
    final = [(group.final, 1, keys.final)]
    if order == SUBORDINATE:
        final = final if group.compound else []
        return [*subject, *middle, *negation, *final, (group.final_finite, 1, keys.finite)]
    final = final if group.final else []
    finite = (group.finite, 1, keys.finite)
    if order == MAIN and not first:
        return [*subject, finite, *negation, *middle, *final]
    return [*first, finite, *negation, *subject, *middle, *final]


def _verb_words(group: VerbGroup, english: EnglishVerb, keys: VerbKeys, negated: bool, order: int) -> list[TargetPart]:
    """Return `eats`, `has eaten`, `does not eat`; the first part of a question stands before the subject."""
    auxiliary, main = english.auxiliary, english.main
    if auxiliary is None and (negated or order == QUESTION):
        auxiliary, main = english.support, english.base
    words: list[TargetPart] = []
    if auxiliary:
        words.append((*auxiliary, keys.finite))
    if negated:
        words.append(("not", 1, ONE, keys.negation))
    if main:
        words.append((*main, keys.final if group.compound else keys.finite))
    if group.final and not group.compound and order != SUBORDINATE:
        words.append(("", 0, LAST, keys.final))
    return words


def _verb(speaker: Speaker, depth: int, given: Subject | None) -> Verb:
    scene = speaker.scene
    for _ in range(20):
        verb = scene.verb()
        fits = given is None or given.kind in verb.subjects
        if fits and (verb.frame != "clause" or depth < DEEPEST):
            return verb
    return COPULA


def _subject(speaker: Speaker, verb: Verb, depth: int) -> Subject:
    """Return a subject, sometimes with a relative clause: `the boy who ...`."""
    who = subject(speaker, speaker.scene.pick(verb.subjects))
    plain_noun = who is speaker.last and who.phrase.source[0][1] > 1  # no name, no pronoun
    if depth >= DEEPEST or not plain_noun or speaker.random() >= 0.09:
        return who
    words = ("who", "that") if who.kind == "person" else ("which", "that")
    pronoun = speaker.word(WHO, words[speaker.style() < 0.4])
    comma = speaker.untranslated(",")
    relative = clause(speaker, SUBORDINATE, DEEPEST, who._replace(phrase=pronoun))
    phrase = who.phrase
    return who._replace(phrase=Phrase([*phrase.source, comma, *relative.source], phrase.target + relative.target))


def _complement(speaker: Speaker, verb: Verb, english: EnglishVerb, who: Subject, depth: int) -> Complement:
    scene, frame = speaker.scene, verb.frame
    if frame == "transitive":
        return Complement(nominal(speaker, scene.pick(verb.objects), ACCUSATIVE, who.owner).phrase)
    if frame == "ditransitive":
        return Complement(_two_objects(speaker, verb, who))
    if frame == "motion":
        return Complement(adposition(speaker, TO, "place", who.owner))
    if frame == "clause":
        return Complement(NOTHING, _that_clause(speaker, depth))
    if frame == "copula":
        return Complement(_predicate(speaker, who))
    if frame == "idiom" and english.rest:
        key = speaker.new_key()
        return Complement(Phrase([(verb.fixed, verb.fixed.count(" ") + 1, key)], [(*english.rest, key)]))
    return Complement(NOTHING)


def _two_objects(speaker: Speaker, verb: Verb, who: Subject) -> Phrase:
    """Return `the boy a book` or `a book to the boy`."""
    receiver = nominal(speaker, "person", DATIVE, who.owner).phrase
    thing = nominal(speaker, speaker.scene.pick(verb.objects), ACCUSATIVE, who.owner).phrase
    source = receiver.source + thing.source
    if speaker.style() < 0.5:
        return Phrase(source, receiver.target + thing.target)
    to = ("to", 1, ONE, receiver.source[0][2])
    return Phrase(source, [*thing.target, to, *receiver.target])


def _that_clause(speaker: Speaker, depth: int) -> Phrase:
    comma = speaker.untranslated(",")
    that = speaker.word(THAT, "that")
    said = clause(speaker, SUBORDINATE, depth + 1)
    target = that.target + said.target if speaker.style() < 0.65 else said.target
    return Phrase([comma, *that.source, *said.source], target)


def _predicate(speaker: Speaker, who: Subject) -> Phrase:
    """Return the predicate of `is tired` or `is a baker`."""
    if who.kind == "person" and who.person == "3s" and speaker.random() < 0.3:
        return nominal(speaker, "person", NOMINATIVE).phrase
    adjective = speaker.scene.adjective(who.kind)
    return speaker.say(predicate_adjective(adjective, who.gender, number_of(who.person)))


def _expression(speaker: Speaker, table: str, chance: float) -> Phrase:
    if speaker.random() >= chance:
        return NOTHING
    return speaker.say(expression_piece(speaker.scene.pick(expressions(table))))


def _place(speaker: Speaker, who: Subject) -> Phrase:
    chance = speaker.random()
    if chance < 0.18:
        return adposition(speaker, speaker.scene.pick(expressions("places")), "place", who.owner)
    if chance < 0.26:
        return adposition(speaker, speaker.scene.pick(expressions("companions")), "person", who.owner)
    return NOTHING


def nominal(speaker: Speaker, kind: str, case: int, owner: str = "") -> Subject:
    """Return a name, or a noun with determiner and adjective; `owner` is the referent of *his* or *her*."""
    scene, random = speaker.scene, speaker.random
    if kind == "person" and random() < 0.3:
        return named(speaker, scene.pick(scene.people))
    if kind == "place" and random() < 0.15:
        return named(speaker, scene.town)
    noun = scene.noun(kind)
    number = PLURAL if random() < (0.1 if kind == "food" else 0.25) else SINGULAR
    determiner = _determiner(speaker, number, owner)
    adjective = scene.attribute(noun)
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
    """Add the owner in the genitive: `the house of the king`, or swapped `the king 's house`."""
    person = speaker.say(noun_phrase(speaker.scene.noun("person"), SINGULAR, GENITIVE, THE, None, "", False))
    key = person.source[0][2]
    if swapped:
        target = [*person.target, ("'s", 1, (link(1, 0),), key), *thing.target]
    else:
        target = [*thing.target, ("of", 1, ONE, key), *person.target]
    return Phrase(thing.source + person.source, target)


def named(speaker: Speaker, name: Name) -> Subject:
    """Return a person or a town by name; names are not inflected."""
    return Subject(speaker.say(expression_piece(name.expression)), name.kind, "3s", name.gender, name.gender)


def subject(speaker: Speaker, kind: str) -> Subject:
    """Return a pronoun for a person just named, `i` or `we`, two subjects joined, or a noun phrase."""
    chance = speaker.random()
    known = speaker.last
    if known and known.kind == kind and chance < 0.14:
        return _pronoun(speaker, known)
    if kind == "person" and chance < 0.2:
        person = "1s" if chance < 0.17 else "1p"
        return Subject(speaker.word(TALVAN_PRONOUNS[person], PRONOUNS[person]), kind, person, person, "m")
    first = nominal(speaker, kind, NOMINATIVE)
    if chance < 0.27:
        second = nominal(speaker, kind, NOMINATIVE)
        both = join(first.phrase, speaker.word(AND, "and"), second.phrase)
        first = Subject(both, kind, "3p", "p", first.gender)
    speaker.last = first
    return first


def _pronoun(speaker: Speaker, known: Subject) -> Subject:
    """Return a pronoun: in Talvan it shows grammatical gender, in English natural gender."""
    number = PLURAL if known.person == "3p" else SINGULAR
    phrase = speaker.word(talvan_pronoun(known.gender, number), PRONOUNS[known.owner])
    return known._replace(phrase=phrase)


def adposition(speaker: Speaker, expression: Expression, kind: str, owner: str) -> Phrase:
    """Return a postposition in Talvan, a preposition in English."""
    place = nominal(speaker, kind, DATIVE, owner).phrase
    relation = speaker.say(expression_piece(expression))
    return Phrase(place.source + relation.source, relation.target + place.target)
