"""Word forms of Talvan, the invented source language of the sample.

Gender shows in the last vowel: -o masculine, -a feminine, -u neuter. Articles, numerals for one, possessives and
adjectives agree with their noun in gender, number and case. Verbs agree with their subject in person and number.
"""

from __future__ import annotations

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
SINGULAR, PLURAL = range(2)

VOWELS = {"m": "o", "f": "a", "n": "u"}
GENDERS = {vowel: gender for gender, vowel in VOWELS.items()}
CASE_ENDINGS = (("", "n", "r", "s"), ("i", "is", "ri", "ros"))

PRESENT = {"1s": "em", "1p": "emos", "3s": "et", "3p": "en"}
PAST = {"1s": "ivem", "1p": "ivemos", "3s": "ivet", "3p": "iven"}
BE = {"1s": "som", "1p": "somos", "3s": "est", "3p": "son"}
BE_PAST = {"1s": "erem", "1p": "eremos", "3s": "eret", "3p": "eren"}

PRONOUNS = {"m": "il", "f": "el", "n": "ul", "1s": "mi", "1p": "nos"}
NEGATION, THAT, WHO, AND, BUT, TO = "ne", "quod", "kui", "e", "ma", "ad"


def ending(gender: str, number: int, case: int) -> str:
    """The ending that nouns, adjectives and articles share; neuters do not tell accusative from nominative."""
    if gender == "n" and case == ACCUSATIVE:
        case = NOMINATIVE
    return VOWELS[gender] + CASE_ENDINGS[number][case]


def pronoun(gender: str, number: int) -> str:
    """A subject pronoun."""
    return PRONOUNS[gender] + ("i" if number == PLURAL else "")
