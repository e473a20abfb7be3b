"""Features of whole translations, which a search that goes from left to right cannot ask for, or not cheaply.

- `model1.forward`, `model1.backward`: log probability of the translation given the source by IBM Model 1 (Brown et al.
  1993), and of the source given the translation: Π_j 1 / (l + 1) Σ_i p(e_j | f_i), i = 0 for the empty word.
- `words`: number of words, with which tuning can find the right length.
- `unlinked`: source words that no word of the translation is linked to.
- `lm.reversed`: log probability of the words in reversed order by an n-gram model of reversed text.
- `bilingual`: log probability of the translation as a sequence of pairs (class of a word, source words linked to it),
  by an n-gram model of such pairs (Niehues et al. 2011).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import hash_row
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import gather_rows
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, word_probability
from toledo.phrases.table import WordLinks
from toledo.reranking.classes import word_classes
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, UNKNOWN

FEATURES = ("model1.forward", "model1.backward", "words", "unlinked", "lm.reversed", "bilingual")
ORDER, CLASSES = 5, 150
FLOOR = 1e-7  # of a probability of IBM Model 1
LN10 = math.log(10.0)
PARTS = ("forward", "backward", "reversed", "bilingual")

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class LinkedTexts:
    """Translations of one source sentence, and their word links: (source position, target position)."""

    source: NDArray[np.int32]
    texts: Sentences
    links: WordLinks


@dataclass(frozen=True, eq=False)
class TranslationFeatures:
    """What the features are computed from; `keys` are hashes of the pairs of the bilingual model, sorted."""

    lexicons: Lexicons
    reversed: LanguageModel
    bilingual: LanguageModel
    classes: NDArray[np.int32]
    keys: NDArray[np.uint64]

    def values(self, given: LinkedTexts) -> NDArray[np.float32]:
        """Return a row of FEATURES for each translation."""
        texts, links = given.texts, given.links
        arrays = texts.words, texts.offsets
        values = np.empty((len(texts), len(FEATURES)), np.float32)
        values[:, :2] = _model1(given.source, *arrays, self.lexicons)
        values[:, 2] = texts.lengths
        values[:, 3] = _unlinked(given.source.size, links.offsets, links.links)
        values[:, 4] = LN10 * self.reversed.score_sentences(_reversed(texts), threads=1)
        whole = np.array([0, given.source.size])
        keys = _keys(given.source, whole, *arrays, links.offsets, links.links, self.classes)
        values[:, 5] = LN10 * self.bilingual.score_sentences(Sentences(_numbers(keys, self.keys), texts.offsets), 1)
        return values

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, for saving."""
        parts = self.lexicons.forward._asdict(), self.lexicons.backward._asdict()
        models = self.reversed.to_arrays(), self.bilingual.to_arrays()
        named = {
            f"{part}.{name}": one
            for part, some in zip(PARTS, (*parts, *models), strict=True)
            for name, one in some.items()
        }
        return {**named, "classes": self.classes, "keys": self.keys}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> TranslationFeatures:
        """Return what `to_arrays` gave."""
        forward, backward, reverse, bilingual = (
            {name.removeprefix(f"{part}."): one for name, one in arrays.items() if name.startswith(f"{part}.")}
            for part in PARTS
        )
        classes, keys = arrays["classes"], arrays["keys"]
        lexicons = Lexicons(Lexicon(**forward), Lexicon(**backward))
        pairs = keys.size + len(RESERVED)
        return cls(
            lexicons,
            LanguageModel.from_arrays(reverse, classes.size),
            LanguageModel.from_arrays(bilingual, pairs),
            classes,
            keys,
        )


def train_features(corpus: ParallelCorpus, links: WordLinks, lexicons: Lexicons) -> TranslationFeatures:
    """Train the models behind the features on sentence pairs with their word links, and lexicons of IBM Model 1."""
    classes = word_classes(corpus.target, len(corpus.target_vocabulary), CLASSES)
    source, target = corpus.source, corpus.target
    keys = _keys(source.words, source.offsets, target.words, target.offsets, links.offsets, links.links, classes)
    known, numbers = np.unique(keys, return_inverse=True)
    pairs = Sentences((numbers + len(RESERVED)).astype(np.int32), target.offsets)
    return TranslationFeatures(
        lexicons,
        LanguageModel(estimate(_reversed(target), ORDER)),
        LanguageModel(estimate(pairs, ORDER)),
        classes,
        known,
    )


def _reversed(texts: Sentences) -> Sentences:
    """Return each sentence from its last word to its first."""
    rows = np.arange(len(texts))[::-1]
    words, lengths = gather_rows(texts.offsets, texts.words, rows)[1], texts.lengths
    return Sentences.from_lengths(words[::-1].copy(), lengths)


def _numbers(keys: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the numbers of pairs as words of the bilingual model, UNKNOWN for those that it does not have."""
    if not known.size:
        return np.full(keys.size, UNKNOWN, np.int32)
    places = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[places] == keys, places + len(RESERVED), UNKNOWN).astype(np.int32)


@kernel
def _model1(
    source: NDArray[np.int32], words: NDArray[np.int32], offsets: NDArray[np.int64], lexicons: Lexicons
) -> NDArray[np.float64]:
    """Return log p(translation | source) and log p(source | translation) of each translation.

    Translations share most of their words, so each distinct one is looked up once.
    """
    distinct = np.unique(words)
    places = np.searchsorted(distinct, words)
    forward, backward = np.empty(distinct.size), np.empty((distinct.size, source.size))
    for w in range(distinct.size):
        mass = word_probability(lexicons.forward, NULL, distinct[w])
        for i in range(source.size):
            mass += word_probability(lexicons.forward, source[i], distinct[w])
            backward[w, i] = word_probability(lexicons.backward, distinct[w], source[i])
        forward[w] = math.log(max(mass, FLOOR))
    alone = np.array([word_probability(lexicons.backward, NULL, one) for one in source])
    values = np.empty((offsets.size - 1, 2))
    for text in range(offsets.size - 1):
        own = places[offsets[text] : offsets[text + 1]]
        values[text, 0] = -own.size * math.log(source.size + 1.0)
        values[text, 1] = -source.size * math.log(own.size + 1.0)
        for w in own:
            values[text, 0] += forward[w]
        for i in range(source.size):
            mass = alone[i]
            for w in own:
                mass += backward[w, i]
            values[text, 1] += math.log(max(mass, FLOOR))
    return values


@kernel
def _unlinked(size: int, offsets: NDArray[np.int64], links: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of source words without links in each translation."""
    found = np.empty(offsets.size - 1, np.int64)
    for text in range(offsets.size - 1):
        linked = np.zeros(size, np.bool_)
        for place in range(offsets[text], offsets[text + 1]):
            linked[links[place, 0]] = True
        found[text] = size - np.sum(linked)
    return found


@kernel
def _write_keys(
    source: NDArray[np.int32],
    words: NDArray[np.int32],
    links: NDArray[Any],
    classes: NDArray[np.int32],
    out_keys: NDArray[np.uint64],
) -> None:
    """Write a hash of the class of each word and of the source words linked to it, in their order."""
    linked = np.zeros((words.size, source.size), np.bool_)
    for place in range(links.shape[0]):
        linked[links[place, 1], links[place, 0]] = True
    row = np.empty(source.size + 1, np.int32)
    for j in range(words.size):
        row[0], size = classes[words[j]] if words[j] < classes.size else 0, 1
        for i in range(source.size):
            if linked[j, i]:
                row[size] = source[i]
                size += 1
        out_keys[j] = hash_row(row, 0, size)


@kernel
def _keys(
    source: NDArray[np.int32],
    source_offsets: NDArray[np.int64],
    target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    link_offsets: NDArray[np.int64],
    links: NDArray[Any],
    classes: NDArray[np.int32],
) -> NDArray[np.uint64]:
    """Return the keys of the words of all sentences; a single source belongs to all targets."""
    keys = np.empty(target.size, np.uint64)
    for s in range(target_offsets.size - 1):
        begin, end, row = target_offsets[s], target_offsets[s + 1], min(s, source_offsets.size - 2)
        own = source[source_offsets[row] : source_offsets[row + 1]]
        _write_keys(own, target[begin:end], links[link_offsets[s] : link_offsets[s + 1]], classes, keys[begin:end])
    return keys
