"""Written text to words and back: case, blanks, punctuation.

Words are those of the Moses scripts: punctuation normalized, tokenized, nothing escaped. Where blanks stood is kept
beside them, so that combined words can be written as the systems would write them. Japanese and Chinese have no blanks:
there each character is a word, except for words in Katakana and other alphabets.

Words are combined in lower case and get their case back by lattice decoding with a trigram model. Each word is a column
of a confusion network with its casings as alternatives; the best path by

    Σ_i log share(c_i) + λ Σ_i log p(c_i | c_{i−2} c_{i−1})

is the result. Shares come from the systems' outputs for the segment and from a table of cased text, p from a language
model of cased words (Rosti et al. 2011 use such a model alone). The outputs of the whole set should be part of the
training text, so that the model knows their words. Words that begin a sentence are counted apart from those inside: a
capital letter there says nothing about the word.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from toledo.forest.constructors import from_confusion_network
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.ngrams import rescore
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences
from toledo.text.tokens import sentence_starts
from toledo.text.vocabulary import Vocabulary, split_words

ELSEWHERE = 0.5  # the weight of a vote from inside a sentence for its beginning, and the other way round
TABLE = 0.5  # the weight of the whole table, in votes
USUAL = 0.01  # the same of the usual casing: a capital at the beginning, none inside


@dataclass(frozen=True)
class Casings:
    """How often a word stands in each case, inside sentences and at their beginning."""

    inside: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)

    def at(self, begins: bool) -> dict[str, float]:
        """Return votes for each casing at the beginning of a sentence, or inside; the other place counts less."""
        here, there = (self.first, self.inside) if begins else (self.inside, self.first)
        votes = {form: float(count) for form, count in here.items()}
        for form, count in there.items():
            moved = capitalized(form) if begins else form
            if begins or form != capitalized(form.lower()):
                votes[moved] = votes.get(moved, 0.0) + ELSEWHERE * count
        return votes


CasingTable = Mapping[str, Casings]  # by the word in lower case
NOTHING = Casings()


def count_casings(texts: Iterable[Sequence[str]]) -> CasingTable:
    """Count the casings of all words of tokenized texts."""
    table: defaultdict[str, Casings] = defaultdict(Casings)
    for words in texts:
        for word, begins in zip(words, sentence_starts(list(words)), strict=True):
            casings = table[word.lower()]
            (casings.first if begins else casings.inside)[word] += 1
    return dict(table)


def casing_shares(word: str, begins: bool, own: Casings, known: Casings) -> dict[str, float]:
    """Return the share of each casing of a lower-cased word, by the segment's outputs (`own`) and the table (`known`).

    The usual casing is always among them.
    """
    votes: defaultdict[str, float] = defaultdict(float)
    votes[capitalized(word) if begins else word] = USUAL
    table = known.at(begins)
    for form, count in own.at(begins).items():
        votes[form] += count
    for form, count in table.items():
        votes[form] += TABLE * count / sum(table.values())
    total = sum(votes.values())
    return {form: count / total for form, count in votes.items()}


def capitalized(word: str) -> str:
    """Return the word with a capital first letter; the others stay."""
    return word[:1].upper() + word[1:]


ORDER = 3
SHARE, MODEL = "casing", "lm"


@dataclass(frozen=True, eq=False)
class LatticeTruecaser:
    """A language model of cased words, its vocabulary, and how often each word of it begins a sentence or does not.

    `model_weight` is λ.
    """

    model: LanguageModel
    vocabulary: Vocabulary
    inside: NDArray[np.int64]
    first: NDArray[np.int64]
    model_weight: float = 0.3

    @classmethod
    def train(cls, texts: Sequence[Sequence[str]], order: int = ORDER) -> LatticeTruecaser:
        """Train on cased, tokenized lines."""
        vocabulary = Vocabulary()
        words = np.array([vocabulary.add(word) for text in texts for word in text], np.int32)
        begins = np.array([begin for text in texts for begin in sentence_starts(list(text))], np.bool_)
        model = LanguageModel(
            estimate(Sentences.from_lengths(words, np.array([len(text) for text in texts], np.int64)), order)
        )
        inside, first = (np.bincount(words[some], minlength=len(vocabulary)) for some in (~begins, begins))
        return cls(model, vocabulary, inside, first)

    def restore(self, words: Sequence[str], outputs: Sequence[Sequence[str]] = ()) -> tuple[str, ...]:
        """Return the words in their case; `outputs` are the systems' cased words for the segment."""
        forest = self.lattice(words, outputs)
        rescored = rescore(forest, forest.scores({SHARE: 1.0}), 1, self.model, MODEL, self.model_weight, threads=1)
        scores = rescored.forest.scores({SHARE: 1.0, MODEL: self.model_weight})
        (best,) = viterbi(rescored.forest, scores)
        return best.words if best else tuple(words)

    def lattice(self, words: Sequence[str], outputs: Sequence[Sequence[str]] = ()) -> Forest:
        """Return the casings of each word, with the logarithms of their shares as a feature."""
        own = count_casings(outputs)
        slots: list[Mapping[str | None, Mapping[str, float]]] = []
        for word, begins in zip(words, sentence_starts(list(words)), strict=True):
            shares = casing_shares(word, begins, own.get(word, NOTHING), self._table.get(word, NOTHING))
            slots.append({form: {SHARE: math.log(share)} for form, share in shares.items()})
        return from_confusion_network(slots, [SHARE], self.vocabulary)

    @cached_property
    def _table(self) -> CasingTable:
        table: dict[str, Casings] = {}
        spelled = self.vocabulary.words(range(self.inside.size))
        for word, inside, first in zip(spelled, self.inside.tolist(), self.first.tolist(), strict=True):
            casings = table.setdefault(word.lower(), Casings())
            if inside:
                casings.inside[word] = inside
            if first:
                casings.first[word] = first
        return table


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
    """Reads and writes text of a language (a two-letter code): raw lines become words, and words become raw lines."""

    def __init__(self, language: str) -> None:
        self._normalizer = MosesPunctNormalizer(lang=language)
        self._tokenizer = MosesTokenizer(lang=language)
        self._detokenizer = MosesDetokenizer(lang=language)
        self._unspaced = language in UNSPACED

    def read(self, line: str) -> Written:
        """Return the words of a line."""
        plain = self._normalizer.normalize(_visible(line))
        text = str(self._tokenizer.tokenize(plain, return_str=True, escape=False))
        words = tuple(split_words(CHARACTER.sub(r" \g<0> ", text) if self._unspaced else text))
        return Written(words, _blanks(plain, words))

    def write(self, words: Sequence[str], outputs: Iterable[Written] = ()) -> str:
        """Return written text; the majority of outputs decides on a blank between two words that they have in a row.

        Elsewhere the rules of the Moses scripts decide.
        """
        text = str(self._detokenizer.detokenize(list(words), return_str=True, unescape=False)).strip()
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
    """Compose characters and drop invisible ones, so that words that look alike are equal.

    Joiners (U+200C, U+200D) stay: some scripts spell with them.
    """
    composed = unicodedata.normalize("NFC", line)
    return "".join(
        character
        for character in composed
        if character == "\t" or (unicodedata.category(character) != "Cc" and character not in HIDDEN)
    )


def _blanks(text: str, words: Sequence[str]) -> tuple[bool, ...] | None:
    """Return whether a blank stands before each word of a text; None if the text has other characters."""
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
    """Return how many more outputs have a blank between two words than have none."""
    votes: Counter[tuple[str, str]] = Counter()
    for output in outputs:
        if output.blanks is not None:
            for pair, blank in zip(pairwise(output.lower), output.blanks[1:], strict=True):
                votes[pair] += 1 if blank else -1
    return votes
