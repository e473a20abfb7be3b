"""From written text to tokens and back, with the rules of the Moses scripts (sacremoses).

Functions take one text and return one, or take several (a list, an iterator, a file as a `Path`) and return a list.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import tee
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypedDict, Unpack, overload

from toledo.errors import InputError
from toledo.files import read_lines, write_lines
from toledo.text.cleaning import Cleaner
from toledo.text.settings import Cleaning
from toledo.text.tokenizers import language_code, make_tokenizer, moses
from toledo.text.vocabulary import split_words

SENTENCE_END = {".", ":", "?", "!"}
OPENING = {"(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;", "„", "“", "«", "»"}
RAW_SENTENCE_END = frozenset(".!?。")
MARKUP = (("&", "&amp;"), ("|", "&#124;"), ("<", "&lt;"), (">", "&gt;"), ("[", "&#91;"), ("]", "&#93;"))
QUOTES = (("'", "&apos;"), ('"', "&quot;"))

log = logging.getLogger(__name__)

P = ParamSpec("P")


class CleaningOptions(TypedDict, total=False):
    """Arguments of `clean`, as in `Cleaning`."""

    min_length: int
    max_length: int
    ratio: float
    keep_duplicates: bool
    any_script: bool


class TextFunction(Protocol[P]):
    """A function of one text that also takes several."""

    @overload
    def __call__(self, texts: str, *arguments: P.args, **named: P.kwargs) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, texts: Path | Iterable[str], *arguments: P.args, **named: P.kwargs) -> list[str]: ...


def one_or_many(change: Callable[Concatenate[str, P], str]) -> TextFunction[P]:
    """Let a function of one text take several, too: a `str` is one text, a `Path` a file of one text per line."""

    @wraps(change)
    def each(texts: str | Path | Iterable[str], *arguments: P.args, **named: P.kwargs) -> Any:
        if isinstance(texts, str):
            return change(texts, *arguments, **named)
        return [change(text, *arguments, **named) for text in _lines(texts)]

    return each


def _lines(texts: Path | Iterable[str]) -> Iterator[str]:
    for place, text in enumerate(read_lines(texts) if isinstance(texts, Path) else texts):
        if not isinstance(text, str):
            raise TypeError(f"texts[{place}] is {text!r}, expected str")
        yield text


@one_or_many
def tokenize(text: str, language: str) -> str:
    """Split written text into tokens separated by spaces; `|`, brackets and `&` are escaped.

    `language` is an ISO code, such as "de". Chinese and Japanese have tokenizers of sacreBLEU, others Moses' rules.
    """
    code = language_code(language)
    return escape_markup(make_tokenizer(code).tokenize(text, code))


@one_or_many
def detokenize(text: str, language: str) -> str:
    """Join tokens into written text; undoes `tokenize`."""
    code = language_code(language)
    return make_tokenizer(code).detokenize(split_words(unescape(text)), code)


@one_or_many
def normalize(text: str, language: str) -> str:
    """Replace quotation marks, dashes and other punctuation by their plain forms."""
    return str(moses("MosesPunctNormalizer", language).normalize(text))


@one_or_many
def lowercase(text: str) -> str:
    """Convert text to lower case."""
    return text.lower()


@one_or_many
def escape(text: str) -> str:
    """Replace `&`, `|`, `<`, `>`, quotes and brackets by entities, as Moses' escape-special-chars does."""
    return _escaped(text, (*MARKUP, *QUOTES))


def escape_markup(text: str) -> str:
    """Replace what has a meaning in Moses' files, and no quotes, by entities."""
    return _escaped(text, MARKUP)


def _escaped(text: str, entities: Iterable[tuple[str, str]]) -> str:
    for character, entity in entities:
        text = text.replace(character, entity)
    return text


@one_or_many
def unescape(text: str) -> str:
    """Undo `escape`; the ampersand comes last."""
    for character, entity in (*QUOTES, *reversed(MARKUP)):
        text = text.replace(entity, character)
    return text


@one_or_many
def detruecase(text: str) -> str:
    """Capitalize the first word of each sentence of a tokenized text."""
    words = split_words(text)
    return " ".join(
        word[:1].upper() + word[1:] if first else word
        for first, word in zip(sentence_starts(words), words, strict=True)
    )


@dataclass(frozen=True)
class Truecaser:
    """Gives the first word of each sentence the case that it has most often elsewhere."""

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

    @overload
    def apply(self, texts: str) -> str: ...  # type: ignore[overload-overlap]
    @overload
    def apply(self, texts: Path | Iterable[str]) -> list[str]: ...

    def apply(self, texts: str | Path | Iterable[str]) -> str | list[str]:
        """Give the first word of each sentence its usual case; a word never seen elsewhere stays as it is."""
        return one_or_many(self._apply)(texts)

    undo = staticmethod(detruecase)

    def _apply(self, text: str) -> str:
        words = split_words(text)
        starts = sentence_starts(words)
        cased = (
            self.best.get(word.lower(), word) if first else word for first, word in zip(starts, words, strict=True)
        )
        return " ".join(cased)

    def save(self, path: str | Path) -> None:
        """Write one form per line, sorted."""
        write_lines(path, sorted(self.best.values()))

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """Read what `save` wrote."""
        best: dict[str, str] = {}
        for number, form in enumerate(read_lines(path), start=1):
            if split_words(form) != [form] or form.lower() in best:
                raise InputError("not one new word", file=path, line=number, remedy="train the truecaser again")
            best[form.lower()] = form
        return cls(best)


def clean(
    sources: str | Path | Iterable[str], targets: str | Path | Iterable[str], **settings: Unpack[CleaningOptions]
) -> tuple[list[str], list[str]]:
    """Drop sentence pairs that are empty, too long, of very unequal length, repeated, or in another script.

    Words are separated by spaces. Return sources and targets; a report of what was dropped is logged.
    """
    left, right = (list(read_lines(side) if isinstance(side, str | Path) else side) for side in (sources, targets))
    if len(left) != len(right):
        message = f"sources has {len(left)} segments, targets {len(right)}"
        raise InputError(message, argument="targets", remedy="text i of both sides must belong together")
    pairs = list(clean_pairs(zip(left, right, strict=True), Cleaning(**settings)))
    return [source for source, _ in pairs], [target for _, target in pairs]


def clean_pairs(pairs: Iterable[tuple[str, str]], settings: Cleaning) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs that are fit for training, and log a report at the end."""
    cleaner, (given, read) = Cleaner(settings), tee(pairs)
    for pair, keep in zip(given, cleaner.clean((pair, pair) for pair in read), strict=True):
        if keep:
            yield pair
    log.info("%s", cleaner.report)


def sentence_starts(words: list[str]) -> list[bool]:
    """Return which words begin a sentence: the first, and those after a sentence end; opening quotes do not count."""
    starts, expecting = [], True
    for word in words:
        starts.append(expecting and word not in OPENING)
        if word in SENTENCE_END:
            expecting = True
        elif word not in OPENING:
            expecting = False
    return starts


def looks_tokenized(lines: Sequence[str]) -> bool:
    """Return whether many lines end in a space and a full stop, as raw text never does."""
    return sum(line.endswith(" .") for line in lines) > len(lines) / 4


def raw_word(lines: Sequence[str]) -> str | None:
    """Return a word with the full stop of its sentence if many lines end in one, as tokenized text never does."""
    last = [line.rsplit(maxsplit=1)[-1] for line in lines if line.strip()]
    raw = [word for word in last if word[-1] in RAW_SENTENCE_END and word[-2:-1].isalnum()]
    return raw[0] if len(raw) > len(last) / 4 else None
