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
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from toledo.combination.language_models import estimate_model
from toledo.combination.spelling import NOWHERE, Speller, Written, capitalized, link_words
from toledo.combination.tracked_text import blanks_before, pieces, substitute, visible
from toledo.forest.constructors import from_confusion_network
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.ngrams import rescore
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

    inside: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    first: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def at(self, begins: bool) -> dict[str, float]:
        """Return votes for each casing at the beginning of a sentence, or inside; the other place counts less."""
        here, there = (self.first, self.inside) if begins else (self.inside, self.first)
        votes = dict(here)
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


def casings_at_places(
    words: Sequence[str], outputs: Sequence[Sequence[str]], weights: Sequence[float]
) -> list[Casings]:
    """Return the casings of each word in the outputs that have it at its place, by the weights of their votes."""
    found = [Casings() for _ in words]
    rows = link_words(words, [[word.lower() for word in output] for output in outputs])
    for output, row, weight in zip(outputs, rows, weights, strict=True):
        starts = sentence_starts(list(output))
        for casings, place in zip(found, row, strict=True):
            if place != NOWHERE:
                (casings.first if starts[place] else casings.inside)[output[place]] += weight
    return found


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
    return _normalized(votes)


def _normalized(votes: Mapping[str, float]) -> dict[str, float]:
    total = sum(votes.values())
    return {form: count / total for form, count in votes.items()}


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
        sentences = Sentences.from_lengths(words, np.array([len(text) for text in texts], np.int64))
        model = estimate_model([sentences], order)
        inside, first = (np.bincount(words[some], minlength=len(vocabulary)) for some in (~begins, begins))
        return cls(model, vocabulary, inside, first)

    def restore(
        self, words: Sequence[str], outputs: Sequence[Sequence[str]] = (), weights: Sequence[float] = ()
    ) -> tuple[str, ...]:
        """Return the words in their case; `outputs` are the systems' cased words for the segment."""
        shares = self.shares(words, outputs, weights or [1.0] * len(outputs))
        if all(len(forms) == 1 for forms in shares):
            return tuple(form for forms in shares for form in forms)
        forest = self._lattice(shares)
        rescored = rescore(forest, forest.scores({SHARE: 1.0}), 1, self.model, MODEL, self.model_weight, threads=1)
        scores = rescored.forest.scores({SHARE: 1.0, MODEL: self.model_weight})
        (best,) = viterbi(rescored.forest, scores)
        return best.words if best else tuple(words)

    def shares(
        self, words: Sequence[str], outputs: Sequence[Sequence[str]], weights: Sequence[float]
    ) -> list[dict[str, float]]:
        """Return the share of each casing of each word: outputs that have the word at its place decide alone.

        Where there are none, it is what outputs have elsewhere, the table, and what is usual.
        """
        lower, begins = [word.lower() for word in words], sentence_starts(list(words))
        votes = casings_at_places(lower, outputs, weights)
        own = count_casings(outputs) if not all(map(Casings.at, votes, begins)) else {}
        return [
            _normalized(here)
            if (here := vote.at(begin))
            else casing_shares(word, begin, own.get(word, NOTHING), self._table.get(word, NOTHING))
            for word, begin, vote in zip(lower, begins, votes, strict=True)
        ]

    def _lattice(self, shares: Sequence[Mapping[str, float]]) -> Forest:
        """Return the casings of each word, with the logarithms of their shares as a feature."""
        slots: list[Mapping[str | None, Mapping[str, float]]] = [
            {form: {SHARE: math.log(share)} for form, share in forms.items()} for forms in shares
        ]
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


UNSPACED = ("ja", "zh")
CHARACTER = re.compile(
    "[\u30a0-\u30ff]+|[\u3001-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # wide punctuation
)
LINE_END = re.compile("[\r\n]+")


class RawText:
    """Reads and writes text of a language (a two-letter code): raw lines become words, and words become raw lines."""

    def __init__(self, language: str) -> None:
        normalizer = MosesPunctNormalizer(lang=language)
        self._rules = [(re.compile(pattern), template) for pattern, template in normalizer.substitutions]
        self._tokenizer = MosesTokenizer(lang=language)
        self._detokenizer = MosesDetokenizer(lang=language)
        self._unspaced = language in UNSPACED

    def read(self, line: str) -> Written:
        """Return the words of a line, and how they are written there; a line end within it becomes a blank."""
        line = LINE_END.sub(" ", line)
        plain = substitute(visible(line), self._rules)
        text = str(self._tokenizer.tokenize(plain.text.strip(), return_str=True, escape=False))
        words = split_words(CHARACTER.sub(r" \g<0> ", text) if self._unspaced else text)
        return Written(tuple(map(sys.intern, words)), pieces(line, plain, words))

    def write(self, words: Sequence[str], outputs: Sequence[Written] = (), weights: Sequence[float] = ()) -> str:
        """Return words in their case as outputs write them, by majority, or by `weights` of their votes.

        Where no output has two words in a row, the rules of the Moses scripts decide on a blank.
        """
        return Speller(words, outputs, weights or [1.0] * len(outputs), lambda: self._blanks(words)).line()

    def _blanks(self, words: Sequence[str]) -> list[bool]:
        """Return whether a blank stands before each word by the rules."""
        text = str(self._detokenizer.detokenize(list(words), return_str=True, unescape=False)).strip()
        blanks = blanks_before(text, words) or [True] * len(words)
        if not self._unspaced:
            return blanks
        close = [CHARACTER.match(left[-1]) or CHARACTER.match(right) for left, right in pairwise(words)]
        return [blank and not tight for blank, tight in zip(blanks, [None, *close], strict=True)]
