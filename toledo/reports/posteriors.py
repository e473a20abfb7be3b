"""Translations in color: how probable each word is, and each n-gram that ends with it.

The posterior of an n-gram is the probability that it occurs in a translation at all (Tromble et al. 2008), the evidence
that lattice MBR and consensus decoding choose by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from toledo.consensus.lattice_mbr import ngram_space
from toledo.forest.drawing import printable
from toledo.forest.forest import Forest, Scores
from toledo.reports.page import Page

ORDER = 4
EDGES_PER_WORD = 30.0  # of a pruned lattice: more make no difference to the colors
DOUBTFUL = 0.5
STYLE = """
.shade { display: flex; flex-wrap: wrap; gap: .35rem .25rem; margin: .3rem 0 .8rem; }
.shade .token { display: inline-block; text-align: center; line-height: 1.25; }
.shade .word { display: block; padding: .1rem .35rem; border-radius: 3px 3px 0 0; color: #14233a; }
.shade .doubt { text-decoration: underline dotted #a03018 2px; }
.shade .orders { display: flex; height: .35rem; gap: 1px; margin-top: 1px; }
.shade .orders i { flex: 1; }
.shade .sure { display: block; font-size: .68rem; color: #4a5568; font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: center; font-size: .85rem; }
.legend b { display: inline-block; padding: 0 .5rem; font-weight: normal; color: #14233a; border-radius: 3px; }
"""


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


def add_examples(page: Page, examples: Sequence[Example]) -> None:
    """Add examples, below a legend."""
    page.markup(f"<style>{STYLE}</style>\n{_legend()}")
    for one in examples:
        page.subheading(one.title)
        if one.source:
            page.paragraph(f"Source: {one.source}")
        for translation in one.translations:
            page.markup(_translation(translation))
        for reference in one.references:
            page.paragraph(f"Reference: {reference}")


def _legend() -> str:
    steps = " ".join(f'<b style="background: {_color(value)}">{value:g}</b>' for value in (0, 0.25, 0.5, 0.75, 1))
    return (
        f'<p class="legend"><span>Probability that a word occurs:</span> {steps} '
        f'<span>dotted line: below {DOUBTFUL:g}</span></p>\n<p class="legend">The strip below a word has a field each '
        f"for the pair, the triple and the quadruple of words that ends there, in the same colors.</p>"
    )


def _translation(one: Shaded) -> str:
    words = "\n".join(map(_token, one.words)) or "(empty)"
    return f'<div>{escape(one.name)}</div>\n<div class="shade">{words}</div>'


def _token(one: ShadedWord) -> str:
    first, *others = one.posteriors
    doubt = " doubt" if first < DOUBTFUL else ""
    strip = "".join(f'<i style="background: {_color(value)}"></i>' for value in others)
    values = ", ".join(f"{n}: {value:.2f}" for n, value in enumerate(one.posteriors, start=1))
    return (
        f'<span class="token" title="{values}"><span class="word{doubt}" style="background: {_color(first)}">'
        f'{escape(printable(one.word))}</span><span class="orders">{strip}</span>'
        f'<span class="sure">{first:.2f}</span></span>'
    )


def _color(chance: float) -> str:
    """Return a color from nearly white to a blue on which dark letters are legible."""
    share = min(max(chance, 0.0), 1.0)
    return f"rgb({248 - 110 * share:.0f},{244 - 58 * share:.0f},{236 - 2 * share:.0f})"
