"""A language with compounds, and slow twins of the search for parts and for words at distance 1."""

import math
import random
from collections.abc import Iterator, Sequence

from toledo.text.word_variants import SHORTEST_PART, UNCHANGED, EndingChanges, Known, size

SYLLABLES = [first + vowel for first in "bdfgklmnprtvz" for vowel in "aeiou"]


def roots(number: int, syllables: int = 3, seed: int = 1) -> list[str]:
    """Return different words that end in a consonant."""
    drawn, found = random.Random(seed), dict[str, None]()
    while len(found) < number:
        found["".join(drawn.choices(SYLLABLES, k=syllables)) + drawn.choice("klmnrt")] = None
    return list(found)


def compound_pairs(
    pairs: int = 600, *, link: str = "s", meaning: bool = True, seed: int = 1
) -> tuple[list[str], list[str], list[str]]:
    """Return sources, targets, and roots: the translation of a root is the root in capitals, backwards.

    A sentence has three roots and at most one compound, whose translation is that of its parts or, without `meaning`,
    some word.
    """
    drawn, words = random.Random(seed), roots(40, seed=seed)
    sources, targets = [], []
    for number in range(pairs):
        own = drawn.sample(words, 3)
        source, target = list(own), [translate(one) for one in own]
        if number % 2:
            one, other = drawn.sample(words, 2)
            source.append(one + link + other)
            target += [translate(one), translate(other)] if meaning else [f"W{drawn.randrange(100_000)}"]
        sources.append(" ".join(source))
        targets.append(" ".join(target))
    return sources, targets, words


def translate(root: str) -> str:
    """Return the translation of a root."""
    return root[::-1].upper()


def all_splits(word: str, known: Known, changes: EndingChanges, number: int) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield every way to write a word as `number` parts, with the sum of the logarithms of their counts."""
    own = changes.heads if number == 1 else changes.links
    ends = [len(word)] if number == 1 else range(1, len(word))
    for end in ends:
        whole = UNCHANGED in own and word[:end] in known
        for change in [UNCHANGED] if whole else own:
            stem = word[:end].removesuffix(change.ending)
            if stem + change.ending != word[:end] or size(stem) < SHORTEST_PART or stem + change.other not in known:
                continue
            form, count = known[stem + change.other]
            if number == 1:
                yield math.log(count), (form,)
            else:
                for score, parts in all_splits(word[end:], known, changes, number - 1):
                    yield math.log(count) + score, (form, *parts)


def near(word: str, forms: Sequence[str]) -> set[str]:
    """Return the forms at distance 1, letters exchanged included, by trying every change."""
    letters = sorted({letter for form in forms for letter in form})
    found = set()
    for place in range(len(word) + 1):
        begin, end = word[:place], word[place:]
        found.update(begin + letter + end for letter in letters)
        if end:
            found.add(begin + end[1:])
            found.update(begin + letter + end[1:] for letter in letters)
        if len(end) > 1:
            found.add(begin + end[1] + end[0] + end[2:])
    return {form for form in forms if form in found and form != word}
