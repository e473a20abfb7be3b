"""Give the lower-cased words of a combination their case back, as a lattice decoding with a trigram model.

Each word is a column of a confusion network with its casings as alternatives; the best path by

    Σ_i log share(c_i) + λ Σ_i log p(c_i | c_{i−2} c_{i−1})

is the result. Shares come from the systems' own outputs for the segment and from a table
(`toledo.combination.casings`), p from a language model of cased words (Rosti et al. 2011 use such a model alone). The
text to train on may be any cased text; the systems' outputs of the whole set should be part of it, so that the model
knows their words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.combination.casings import NOTHING, Casings, CasingTable, casing_shares, count_casings
from toledo.corpus import sentences_from
from toledo.forest import Forest, from_confusion_network, rescore, viterbi
from toledo.language_model import LanguageModel, estimate
from toledo.text import sentence_starts
from toledo.vocabulary import Vocabulary

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
        """From cased, tokenised lines."""
        vocabulary = Vocabulary()
        words = np.array([vocabulary.add(word) for text in texts for word in text], np.int32)
        begins = np.array([begin for text in texts for begin in sentence_starts(list(text))], np.bool_)
        model = LanguageModel(estimate(sentences_from(words, np.array([len(text) for text in texts], np.int64)), order))
        inside, first = (np.bincount(words[some], minlength=len(vocabulary)) for some in (~begins, begins))
        return cls(model, vocabulary, inside, first)

    def restore(self, words: Sequence[str], outputs: Sequence[Sequence[str]] = ()) -> tuple[str, ...]:
        """The words in their case; `outputs` are the systems' cased words for the segment."""
        forest = self.lattice(words, outputs)
        rescored = rescore(forest, forest.scores({SHARE: 1.0}), 1, self.model, MODEL, self.model_weight, threads=1)
        scores = rescored.forest.scores({SHARE: 1.0, MODEL: self.model_weight})
        (best,) = viterbi(rescored.forest, scores)
        return best.words if best else tuple(words)

    def lattice(self, words: Sequence[str], outputs: Sequence[Sequence[str]] = ()) -> Forest:
        """The casings of each word, with the logarithms of their shares as a feature."""
        own = count_casings(outputs)
        slots: list[Mapping[str | None, Mapping[str, float]]] = []
        for word, begins in zip(words, sentence_starts(list(words)), strict=True):
            shares = casing_shares(word, begins, own.get(word, NOTHING), self._table.get(word, NOTHING))
            slots.append({form: {SHARE: math.log(share)} for form, share in shares.items()})
        return from_confusion_network(slots, [SHARE], self.vocabulary)

    @cached_property
    def _table(self) -> CasingTable:
        table: dict[str, Casings] = {}
        spelt = self.vocabulary.words(range(self.inside.size))
        for word, inside, first in zip(spelt, self.inside.tolist(), self.first.tolist(), strict=True):
            casings = table.setdefault(word.lower(), Casings(Counter(), Counter()))
            if inside:
                casings.inside[word] = inside
            if first:
                casings.first[word] = first
        return table
