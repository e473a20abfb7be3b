"""Which words mean the same: equal ones, those that differ in case, inflected forms, synonyms.

Words that match in part are nearly as good as equal ones when outputs are aligned, so that *cars* stands in one column
with *car* and not with the next word that happens to be free (Rosti et al. 2009). Stems are those of Snowball, synonyms
those of WordNet, if NLTK and its WordNet are installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from toledo.errors import InputError

EDIT, PARTIAL = np.int32(10), np.int32(2)  # costs in tenths of an edit: a wrong word, a word that matches in part
WORDS_KEPT = 1 << 17


@dataclass(frozen=True)
class Matcher:
    """Compares words of one language, named as Snowball names it; without a language, only case is ignored."""

    language: str = "english"
    synonyms: bool = True

    def __post_init__(self) -> None:
        if self.language and self.language not in snowballstemmer.algorithms():
            known = ", ".join(snowballstemmer.algorithms())
            raise InputError(f"no stems for the language {self.language!r}", remedy=f"give one of {known}, or none")

    @property
    def signature(self) -> str:
        """What is compared on this machine."""
        stems = [f"stems.{self.language}"] if self.language else []
        synonyms = ["wordnet"] if self.language == "english" and self.synonyms and _wordnet() else []
        return "+".join(["exact", "case", *stems, *synonyms])

    def costs(self, words: Sequence[str]) -> NDArray[np.int32]:
        """What it costs to put one of some distinct words in the place of another."""
        stems: dict[str, int] = {}
        groups = np.array([stems.setdefault(self._stem(word.lower()), len(stems)) for word in words], np.int64)
        costs = np.where(groups[:, None] == groups, PARTIAL, EDIT).astype(np.int32)
        if self.language == "english" and self.synonyms and (senses_of := _wordnet()):
            senses = [senses_of(word) for word in words]
            for i, own in enumerate(senses):
                for j in range(i) if own else ():
                    if own & senses[j]:
                        costs[i, j] = costs[j, i] = PARTIAL
        np.fill_diagonal(costs, 0)
        return costs

    def _stem(self, word: str) -> str:
        return _stem(self.language, word) if self.language else word


@lru_cache(WORDS_KEPT)
def _stem(language: str, word: str) -> str:
    """A stemmer of its own for each word: they keep state, and threads must not share it."""
    return str(snowballstemmer.stemmer(language).stemWord(word))


@cache
def _wordnet() -> Callable[[str], frozenset[str]] | None:
    """The senses of a word, or None where WordNet is not installed."""
    try:
        from nltk.corpus import wordnet

        wordnet.synsets("word")
    except (ImportError, LookupError):
        return None

    @lru_cache(WORDS_KEPT)
    def senses(word: str) -> frozenset[str]:
        return frozenset(sense.name() for sense in wordnet.synsets(word.lower()))

    return senses
