"""Word translation probabilities as text, in the form of Moses' `lex.f2e`: `word given-word p(word | given word)`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from toledo.files import write_lines
from toledo.phrases.lexicon import NULL, Lexicon
from toledo.vocabulary import Vocabulary

NULL_NAME = "NULL"
DECIMALS = 7


def write_lexicon(path: str | Path, lexicon: Lexicon, given: Vocabulary, words: Vocabulary) -> None:
    """Write the probabilities that are not 0 when rounded to seven places; `.gz` is packed."""
    write_lines(path, _lines(lexicon, given.words(range(len(given))), words.words(range(len(words)))))


def _lines(lexicon: Lexicon, given: list[str], words: list[str]) -> Iterator[str]:
    for row in range(lexicon.offsets.size - 1):
        entries = slice(int(lexicon.offsets[row]), int(lexicon.offsets[row + 1]))
        rounded = np.round(lexicon.probabilities[entries].astype(np.float64), DECIMALS)
        name = NULL_NAME if row == NULL else given[row]
        for entry in np.flatnonzero(rounded).tolist():
            yield f"{words[lexicon.words[entries][entry]]} {name} {rounded[entry]:.{DECIMALS}f}"
