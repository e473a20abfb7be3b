"""From written text to tokens and back, with the rules of the Moses scripts (sacremoses)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesTokenizer

from toledo.errors import InputError
from toledo.files import read_lines, write_lines
from toledo.text.vocabulary import RESERVED, split_words

SENTENCE_END = {".", ":", "?", "!"}
OPENING = {"(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;", "„", "“", "«", "»"}
MARKUP = (("&", "&amp;"), ("|", "&#124;"), ("<", "&lt;"), (">", "&gt;"), ("[", "&#91;"), ("]", "&#93;"))


class Tokenizer:
    """Splits written text of a language (a two-letter code) into tokens and joins tokens into written text."""

    def __init__(self, language: str) -> None:
        self._tokenizer = MosesTokenizer(lang=language)
        self._detokenizer = MosesDetokenizer(lang=language)

    def tokenize(self, line: str) -> str:
        """Tokens joined by spaces; nothing is escaped except what `escape` would."""
        return escape(str(self._tokenizer.tokenize(line, return_str=True, escape=False)))

    def detokenize(self, line: str) -> str:
        """Written text."""
        return str(self._detokenizer.detokenize(split_words(unescape(line)), return_str=True, unescape=False))


def escape(line: str) -> str:
    """Replace what has a meaning in the files of translation systems: `&`, `|`, brackets and reserved words."""
    for character, entity in MARKUP:
        line = line.replace(character, entity)
    return line


def unescape(line: str) -> str:
    """Undo `escape`, and the quote entities that the Moses scripts write; the ampersand comes last."""
    line = line.replace("&quot;", '"').replace("&apos;", "'")
    for character, entity in reversed(MARKUP):
        line = line.replace(entity, character)
    return line


@dataclass(frozen=True)
class Truecaser:
    """Gives each first word of a sentence the case that it has most often elsewhere."""

    best: dict[str, str]

    @classmethod
    def train(cls, lines: Iterable[str]) -> Truecaser:
        """Count the forms of words that do not begin a sentence; ties go to the form seen first."""
        forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for line in lines:
            words = split_words(line)
            for first, word in zip(sentence_starts(words), words, strict=True):
                if not first and any(character.isalpha() for character in word):
                    forms[word.lower()][word] += 1
        return cls({word: counts.most_common(1)[0][0] for word, counts in forms.items()})

    def truecase(self, line: str) -> str:
        """First words of sentences in their usual case; a word never seen elsewhere stays as it is."""
        words = split_words(line)
        starts = sentence_starts(words)
        cased = (
            self.best.get(word.lower(), word) if first else word for first, word in zip(starts, words, strict=True)
        )
        return " ".join(cased)

    def save(self, path: str | Path) -> None:
        """One form per line, sorted."""
        write_lines(path, sorted(self.best.values()))

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """What `save` wrote."""
        best: dict[str, str] = {}
        for number, form in enumerate(read_lines(path), start=1):
            if split_words(form) != [form] or form.lower() in best:
                raise InputError(
                    "not one new word", file=path, line=number, remedy="train it again: toledo text train-truecaser"
                )
            best[form.lower()] = form
        return cls(best)


def detruecase(line: str) -> str:
    """Upper-case the first letter of each sentence."""
    words = split_words(line)
    return " ".join(
        word[:1].upper() + word[1:] if first else word
        for first, word in zip(sentence_starts(words), words, strict=True)
    )


def is_clean(source: str, target: str, shortest: int, longest: int, most_ratio: float) -> bool:
    """Whether a pair is fit for training: lengths within bounds, neither side much longer, no reserved word."""
    lengths = sorted((len(split_words(source)), len(split_words(target))))
    if lengths[0] < shortest or lengths[1] > longest or lengths[1] > most_ratio * max(lengths[0], 1):
        return False
    return not any(word in RESERVED for word in split_words(source) + split_words(target))


def sentence_starts(words: list[str]) -> list[bool]:
    """Which words begin a sentence: the first, and those after a sentence end; opening quotes do not count."""
    starts, expecting = [], True
    for word in words:
        starts.append(expecting and word not in OPENING)
        if word in SENTENCE_END:
            expecting = True
        elif word not in OPENING:
            expecting = False
    return starts
