"""What two outputs do not have in common, word by word, and what of it a reference has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from toledo.view.text import agreeing_words, blank_after, common_words, spaced


class WordPiece(NamedTuple):
    """Neighboring words of a text: `own` if the other text lacks them, `agrees` if a reference has them.

    `after` is what stands between them and the next ones.
    """

    text: str
    own: bool
    agrees: bool
    after: str = " "


def word_pieces(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]] = ()
) -> tuple[list[WordPiece], list[WordPiece]]:
    """Cut two texts into pieces that both have, and pieces that only one of them has."""
    common = common_words(first, second)
    return _joined(first, common[0], references), _joined(second, common[1], references)


def _joined(words: Sequence[str], common: Sequence[bool], references: Sequence[Sequence[str]]) -> list[WordPiece]:
    agrees = agreeing_words(words, references)
    marks = [(not shared, good and not shared) for shared, good in zip(common, agrees, strict=True)]
    pieces = []
    for (own, agreed), group in groupby(zip(words, marks, strict=True), key=lambda pair: pair[1]):
        together = [word for word, _ in group]
        pieces.append(WordPiece(spaced(together), own, agreed, blank_after(together[-1])))
    return pieces
