"""What two texts do not have in common, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple


class Piece(NamedTuple):
    """Neighboring words of a text: `own` if the other text lacks them, `agrees` if a reference has them."""

    text: str
    own: bool
    agrees: bool


def common_words(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which words of each text belong to a longest common subsequence of both."""
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
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


def word_pieces(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]] = ()
) -> tuple[list[Piece], list[Piece]]:
    """Cut two texts into pieces that both have, and pieces that only one of them has."""
    common = common_words(first, second)
    return _joined(first, common[0], references), _joined(second, common[1], references)


def _joined(words: Sequence[str], common: Sequence[bool], references: Sequence[Sequence[str]]) -> list[Piece]:
    agrees = [False] * len(words) if all(common) else agreeing_words(words, references)
    marks = [(not shared, good and not shared) for shared, good in zip(common, agrees, strict=True)]
    groups = groupby(zip(words, marks, strict=True), key=lambda pair: pair[1])
    return [Piece(" ".join(word for word, _ in own), *mark) for mark, own in groups]


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
