"""Written text to words and back: what systems wrote, and how they wrote it.

Words are those of the Moses scripts: punctuation normalised, tokenised, nothing escaped. What tokenisation forgets,
where blanks stood, is kept beside them, so that the combined words can be written as the systems would write them.
Japanese and Chinese have no blanks: there each character is a word, but for words in Katakana and other alphabets.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from toledo.vocabulary import split_words

HIDDEN = "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero-width space, word joiner, byte order mark
UNSPACED = ("ja", "zh")
CHARACTER = re.compile(
    "[\u30a0-\u30ff]+|[\u3001-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # wide punctuation
)


@dataclass(frozen=True)
class Written:
    """The words of a line in their case, and whether a blank stands before each; None where that cannot be said."""

    words: tuple[str, ...]
    blanks: tuple[bool, ...] | None

    @property
    def lower(self) -> tuple[str, ...]:
        """The words in lower case, as they are combined."""
        return tuple(word.lower() for word in self.words)


class RawText:
    """Reads and writes text of a language (a two-letter code)."""

    def __init__(self, language: str) -> None:
        self._normaliser = MosesPunctNormalizer(lang=language)
        self._tokeniser = MosesTokenizer(lang=language)
        self._detokeniser = MosesDetokenizer(lang=language)
        self._unspaced = language in UNSPACED

    def read(self, line: str) -> Written:
        """The words of a line."""
        plain = self._normaliser.normalize(_visible(line))
        text = str(self._tokeniser.tokenize(plain, return_str=True, escape=False))
        words = tuple(split_words(CHARACTER.sub(r" \g<0> ", text) if self._unspaced else text))
        return Written(words, _blanks(plain, words))

    def write(self, words: Sequence[str], outputs: Iterable[Written] = ()) -> str:
        """Written text. Between two words that outputs have side by side, most of them decide whether a blank stands.

        Elsewhere the rules of the Moses scripts decide.
        """
        text = str(self._detokeniser.detokenize(list(words), return_str=True, unescape=False)).strip()
        blanks = _blanks(text, words)
        if blanks is None:
            return text
        votes = _votes(outputs)
        parts = list(words[:1])
        for (left, right), blank in zip(pairwise(words), blanks[1:], strict=True):
            vote = votes[left.lower(), right.lower()]
            usual = blank and not (self._unspaced and (CHARACTER.match(left[-1]) or CHARACTER.match(right)))
            parts.append(" " + right if vote > 0 or (vote == 0 and usual) else right)
        return "".join(parts)


def _visible(line: str) -> str:
    """Composed characters, and none that only hide: two words that look alike are one word.

    Joiners (U+200C, U+200D) stay, for some scripts spell with them.
    """
    composed = unicodedata.normalize("NFC", line)
    return "".join(
        character
        for character in composed
        if character == "\t" or (unicodedata.category(character) != "Cc" and character not in HIDDEN)
    )


def _blanks(text: str, words: Sequence[str]) -> tuple[bool, ...] | None:
    """Whether a blank stands before each of the words of a text; None if the text has other characters."""
    blanks, place = [], 0
    for word in words:
        begin = place
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(word, place):
            return None
        blanks.append(place > begin)
        place += len(word)
    return None if text[place:].strip() else tuple(blanks)


def _votes(outputs: Iterable[Written]) -> Counter[tuple[str, str]]:
    """How many more outputs have a blank between two words than have none."""
    votes: Counter[tuple[str, str]] = Counter()
    for output in outputs:
        if output.blanks is not None:
            for pair, blank in zip(pairwise(output.lower), output.blanks[1:], strict=True):
                votes[pair] += 1 if blank else -1
    return votes
