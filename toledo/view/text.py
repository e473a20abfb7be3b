"""Texts: words shaded by probability, and what two texts do not have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from toledo.view.markup import Child, Markup, join, tag
from toledo.view.tables import fixed

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
    title: Child, texts: Sequence[tuple[Child, Child]], *, quiet: Collection[int] = (), place: str | None = None
) -> Markup:
    """Return the texts of a segment below each other, each beside its name; those numbered in `quiet` are grey.

    Links `#place` lead to it. Segments stand in a `div` of class `segments`.
    """
    rows = [
        (tag("dt", name), tag("dd", text, class_="quiet" if place in quiet else None, dir="auto"))
        for place, (name, text) in enumerate(texts)
    ]
    return tag("article", tag("h4", title) if title else None, tag("dl", rows), class_="segment", id=place)


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


def difference(first: Sequence[str], second: Sequence[str], reference: Sequence[str] = ()) -> tuple[Markup, Markup]:
    """Return two texts with the words marked that only one of them has, `del` in the first and `ins` in the second.

    Marked words that the reference has as well, in its order, are bold. ‸ is where words of the other text are missing.
    """
    common, other_common = common_words(first, second)
    return (
        _marked(first, common, second, other_common, "del", reference),
        _marked(second, other_common, first, common, "ins", reference),
    )


def against(text: Sequence[str], base: Sequence[str], reference: Sequence[str] = ()) -> Markup:
    """Return a text as it differs from another: its own words marked, ‸ where words of the other are missing."""
    return difference(base, text, reference)[1]


def difference_key(first: str, second: str) -> Markup:
    """Return what the marks of `difference` mean."""
    return tag(
        "p",
        tag("span", tag("del", first), " only"),
        " ",
        tag("span", tag("ins", second), " only"),
        " ",
        tag("span", tag("b", "bold"), " in the reference, too"),
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
    reference: Sequence[str],
) -> Markup:
    """Return words with those that are not common marked, words of one mark together."""
    agrees = common_words(words, reference)[0]
    own, others = _runs(common), _runs(other_common)
    parts: list[Markup] = []
    for place, ((start, end), (other_start, other_end)) in enumerate(zip(own, others, strict=True)):
        if place:  # a common word lies between two gaps
            parts.append(join(words[start - 1]))
        if start < end:
            parts.append(tag(mark, _bold(words[start:end], agrees[start:end])))
        elif other_start < other_end:
            parts.append(
                tag("span", MISSING, class_="gap", title=f"not here: {' '.join(other[other_start:other_end])}")
            )
    return join(*parts, between=" ")


def _runs(common: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the spans, most of them empty, before, between and after common words."""
    places = [place for place, one in enumerate(common) if one]
    return list(zip([0, *(place + 1 for place in places)], [*places, len(common)], strict=True))


def _bold(words: Sequence[str], agrees: Sequence[bool]) -> Markup:
    def groups() -> Iterator[Markup]:
        for bold, own in groupby(zip(words, agrees, strict=True), key=lambda pair: pair[1]):
            text = " ".join(word for word, _ in own)
            yield tag("b", text) if bold else join(text)

    return join(*groups(), between=" ")


def _subsequence(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which words belong to a longest common subsequence, by dynamic programming."""
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for place, other in enumerate(second):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[-1]))
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
