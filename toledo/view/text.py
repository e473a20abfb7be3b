"""Texts: words shaded by probability, and what two texts do not have in common."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from toledo.view.markup import Child, Markup, join, tag
from toledo.view.tables import fixed

PUNCTUATION = re.escape(string.punctuation) + "¡§«¶·»¿\u2010-\u205e\u3001-\u303f\uff01-\uff0f\uff1a-\uff20"
CHARACTERS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana and Han: words without blanks between them
LETTERS = f"[^\\s{PUNCTUATION}{CHARACTERS}]+"
WRITTEN = re.compile(rf"[{CHARACTERS}]|{LETTERS}(?:['’.,-]{LETTERS})*|\S")
SHADES = 9  # classes p0 to p8
DOUBTFUL = 0.5
MISSING = "‸"


def shade(probability: float) -> str:
    """Return the class for a probability, p0 to p8."""
    return f"p{min(max(round(probability * (SHADES - 1)), 0), SHADES - 1)}"


def shaded_text(words: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """Return words shaded by the first of their probabilities; all are in the title, below 0.5 a word is dotted.

    The probabilities of a word are those of the n-grams that end with it, from the shortest up.
    """
    shown = join(*(_shaded_word(*one) for one in words), between=" ") if words else tag("i", "empty", class_="quiet")
    return tag("p", shown, class_="text", dir="auto")


def shade_key() -> Markup:
    """Return what shades and dots mean."""
    ramp = tag("span", [tag("i", class_=f"p{step}") for step in range(SHADES)], class_="ramp")
    dotted = tag("span", "dotted", class_="w low")
    return tag("p", tag("span", "Probability that a word occurs: 0 ", ramp, " 1"), " ",
               tag("span", dotted, f" below {DOUBTFUL:g}"), class_="key")  # fmt: skip


def segment(
    title: Child,
    texts: Sequence[tuple[Child, Child]],
    *,
    quiet: Collection[int] = (),
    place: str | None = None,
    **data: str,
) -> Markup:
    """Return the texts of a segment below each other, each beside its name; those numbered in `quiet` are gray.

    Links `#place` lead to it. Segments stand in a `div` of class `segments`. `data_marks` and the like are for scripts.
    """
    rows = [
        (tag("dt", name), tag("dd", text, class_="quiet" if number in quiet else None, dir="auto"))
        for number, (name, text) in enumerate(texts)
    ]
    return tag("article", tag("h4", title) if title else None, tag("dl", rows), class_="segment", id=place, **data)


class SegmentLink(NamedTuple):
    """Leads to a segment on the page; the script shows all segments with the mark instead, under `name`."""

    place: str
    mark: str
    name: str


class ChoiceLink(NamedTuple):
    """Makes a choice on a page of the server, such as a filter; `choice` is `name=value`."""

    choice: str
    name: str


def linked(part: Child, link: SegmentLink | ChoiceLink | None) -> Markup:
    """Return a part that leads to segments, or the part alone if there is no link."""
    if link is None:
        return join(part)
    if isinstance(link, ChoiceLink):
        return tag("a", part, href="#list", data_set=link.choice, aria_label=link.name)
    return tag("a", part, href=f"#{link.place}", data_show=link.mark, data_name=link.name)


class SpacedWord(str):
    """A word or a punctuation mark of a text; `after` is a blank, or nothing if the next one is written next to it."""

    after: str


def written_words(text: str) -> list[str]:
    """Cut a text as it is written into words and punctuation marks, and into characters where words have no blanks."""
    found: list[str] = []
    for match in WRITTEN.finditer(text):
        word = SpacedWord(match[0])
        word.after = " " if text[match.end() : match.end() + 1].isspace() else ""
        found.append(word)
    return found


def spaced(words: Sequence[str]) -> str:
    """Return words as they are written, with blanks between those of which nothing is known."""
    return "".join([*(f"{word}{blank_after(word)}" for word in words[:-1]), *words[-1:]])


def blank_after(word: str) -> str:
    """Return what stands between a word and the next one."""
    return word.after if isinstance(word, SpacedWord) else " "


def common_words(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which words of each text belong to a longest common subsequence of both."""
    start = next((i for i, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        start = min(len(first), len(second))
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    inner = _subsequence(first[start : len(first) - end], second[start : len(second) - end])
    one, two = ([True] * start + found + [True] * end for found in inner)
    return one, two


def agreeing_words(words: Sequence[str], references: Sequence[Sequence[str]]) -> list[bool]:
    """Return which words some reference has as well, in its order."""
    found = [False] * len(words)
    for reference in references:
        found = [known or new for known, new in zip(found, common_words(words, reference)[0], strict=True)]
    return found


def difference(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]] = ()
) -> tuple[Markup, Markup]:
    """Return two texts with the words marked that only one of them has, `del` in the first and `ins` in the second.

    Marked words that a reference has as well, in its order, are bold. ‸ is where words of the other text are missing.
    """
    common, other_common = common_words(first, second)
    return (
        _marked(first, common, second, other_common, "del", references),
        _marked(second, other_common, first, common, "ins", references),
    )


def against(text: Sequence[str], base: Sequence[str], references: Sequence[Sequence[str]] = ()) -> Markup:
    """Return a text as it differs from another: its own words marked, ‸ where words of the other are missing."""
    common, base_common = common_words(text, base)
    return _marked(text, common, base, base_common, "ins", references)


def difference_key(first: str, second: str | None = None) -> Markup:
    """Return what the marks of `difference` mean; those of `against` if only one text is named."""
    marks = tag("span", tag("ins", "marked"), f" differs from {first}")
    if second is not None:
        marks = join(tag("span", tag("del", first), " only"), " ", tag("span", tag("ins", second), " only"))
    return tag(
        "p",
        marks,
        " ",
        tag("span", tag("b", "bold"), " matches a reference"),
        " ",
        tag("span", tag("span", MISSING, class_="gap"), " words are missing"),
        class_="key",
    )


def _shaded_word(word: str, probabilities: Sequence[float]) -> Markup:
    first = probabilities[0]
    title = ", ".join(f"{n}-gram {fixed(value)}" if n > 1 else fixed(value) for n, value in enumerate(probabilities, 1))
    return tag("span", word, class_=f"w {shade(first)}{' low' if first < DOUBTFUL else ''}", title=title)


def _marked(
    words: Sequence[str],
    common: Sequence[bool],
    other: Sequence[str],
    other_common: Sequence[bool],
    mark: str,
    references: Sequence[Sequence[str]],
) -> Markup:
    """Return words with those that are not common marked, words of one mark together."""
    agrees = agreeing_words(words, () if all(common) else references)
    own, others = _runs(common), _runs(other_common)
    parts: list[Markup | str] = []
    for place, ((start, end), (other_start, other_end)) in enumerate(zip(own, others, strict=True)):
        if place:  # a common word lies between two gaps
            parts += [words[start - 1], blank_after(words[start - 1])]
        if start < end:
            parts += [tag(mark, _bold(words[start:end], agrees[start:end])), blank_after(words[end - 1])]
        elif other_start < other_end:
            missing = f"not here: {spaced(other[other_start:other_end])}"
            parts += [tag("span", MISSING, class_="gap", title=missing), parts[-1] if parts else " "]
    return join(*parts[:-1])


def _runs(common: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the spans, most of them empty, before, between and after common words."""
    places = [place for place, one in enumerate(common) if one]
    return list(zip([0, *(place + 1 for place in places)], [*places, len(common)], strict=True))


def _bold(words: Sequence[str], agrees: Sequence[bool]) -> Markup:
    parts: list[Markup | str] = []
    for bold, group in groupby(zip(words, agrees, strict=True), key=lambda pair: pair[1]):
        own = [word for word, _ in group]
        parts += [tag("b", spaced(own)) if bold else spaced(own), blank_after(own[-1])]
    return join(*parts[:-1])


def _subsequence(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which words belong to a longest common subsequence, by dynamic programming."""
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            skipped, left = above[place + 1], row[-1]
            row.append(above[place] + 1 if word == other else skipped if skipped > left else left)
        lengths.append(row)
    found = [False] * len(first), [False] * len(second)
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            found[0][i] = found[1][j] = True
        elif lengths[i - 1][j] >= lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found
