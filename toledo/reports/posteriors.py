"""Translations shaded by how probable each word is, and each n-gram that ends with it.

The posterior of an n-gram is the probability that it occurs in a translation at all (Tromble et al. 2008), the evidence
that lattice MBR and consensus decoding choose by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toledo.consensus.lattice_mbr import ngram_space
from toledo.forest.forest import Forest, Scores
from toledo.view.markup import Child, Markup, tag
from toledo.view.text import segment, shade_key, shaded_text

ORDER = 4
EDGES_PER_WORD = 30.0  # of a pruned lattice: more make no difference to the shades


@dataclass(frozen=True)
class ShadedWord:
    """A word, and the posteriors of the n-grams that end with it, from the shortest up."""

    word: str
    posteriors: tuple[float, ...]


@dataclass(frozen=True)
class Shaded:
    """A translation with its posteriors; `name` says which rules chose it."""

    name: str
    words: Sequence[ShadedWord]


@dataclass(frozen=True)
class Example:
    """A segment with translations, and its source and references if they are known."""

    title: str
    translations: Sequence[Shaded]
    source: str = ""
    references: Sequence[str] = ()


def shaded(
    forest: Forest, scores: Scores, translations: Mapping[str, Sequence[int]], order: int = ORDER
) -> list[Shaded]:
    """Return translations (ids of the forest's vocabulary) with their posteriors in a one-segment forest.

    The posterior of an n-gram that no derivation has is 0.
    """
    space = ngram_space(forest, scores, order, EDGES_PER_WORD)
    chances = space.ngrams.occurrence(space.distribution(1.0), threads=1)

    def chance(ngram: Sequence[int]) -> float:
        number = space.ngrams.number(0, ngram)
        return float(chances[number]) if number >= 0 else 0.0

    return [
        Shaded(
            name,
            [
                ShadedWord(
                    forest.vocabulary.word(words[last]),
                    tuple(chance(words[last - n : last + 1]) for n in range(min(order, last + 1))),
                )
                for last in range(len(words))
            ],
        )
        for name, words in translations.items()
    ]


def examples(some: Sequence[Example]) -> Markup:
    """Return examples one below the other, and what their shades mean."""
    return tag("div", tag("div", [_example(one) for one in some], class_="segments"), shade_key(), class_="stack")


def _example(one: Example) -> Markup:
    texts: list[tuple[str, Child]] = [("source", one.source)] if one.source else []
    texts += [("reference", text) for text in one.references]
    quiet = range(len(texts))
    texts += [(own.name, shaded_text([(word.word, word.posteriors) for word in own.words])) for own in one.translations]
    return segment(one.title, texts, quiet=quiet)
