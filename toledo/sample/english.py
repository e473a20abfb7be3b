"""English word forms of the sample: regular rules; the tables give the irregular forms."""

from __future__ import annotations

import re
from typing import NamedTuple

_SIBILANT = re.compile(r"(s|x|z|ch|sh|o)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")  # one short syllable: its last letter is doubled

BE = {"1s": "am", "3s": "is", "1p": "are", "3p": "are"}
BE_PAST = {"1s": "was", "3s": "was", "1p": "were", "3p": "were"}
OWN = {"m": "his", "f": "her", "n": "its", "p": "their", "1s": "my", "1p": "our"}
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
    """From `house` or `mouse|mice`."""
    singular, _, plural = entry.replace("_", " ").partition("|")
    return NounForms(singular, plural or with_s(singular))


def verb_forms(entry: str) -> VerbForms:
    """From `love`, `look_for` or `write|wrote|written`: the first word is inflected."""
    forms = entry.split("|")
    base, _, rest = forms[0].partition("_")
    tail = " " + rest.replace("_", " ") if rest else ""
    past, participle = (form.replace("_", " ") for form in forms[1:]) if len(forms) == 3 else [with_ed(base) + tail] * 2
    third = "has" if base == "have" else with_s(base)
    return VerbForms(base + tail, third + tail, past, participle)


def with_s(word: str) -> str:
    """Plural of a noun, third person of a verb."""
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) else "s")


def with_ed(word: str) -> str:
    """Past of a regular verb."""
    if word.endswith("e"):
        return word + "d"
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ied"
    return word + (word[-1] if _SHORT.search(word) else "") + "ed"


def article(indefinite: bool, next_word: str) -> str:
    """`a`, `an` or `the`."""
    if not indefinite:
        return "the"
    return "an" if next_word[0] in "aeiou" else "a"
