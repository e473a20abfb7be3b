"""Features of whole translations, which a search that goes from left to right cannot ask for, or not cheaply.

- `words`: number of words, so that the length stays right whatever the other features weigh.
- `bilingual`: log probability of the translation as a sequence of pairs (class of a word, source words linked to it),
  by an n-gram model of such pairs (Niehues et al. 2011).
- `joint`: log probability of the words by a neural model that sees the words before and source words (see `joint`).
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
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.phrases.table import WordLinks
from toledo.progress import Progress, silent
from toledo.reranking.classes import word_classes
from toledo.reranking.joint import JointModel, train_joint
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, UNKNOWN

FEATURES = ("words", "bilingual", "joint")
ORDER, CLASSES = 5, 150
LN10 = math.log(10.0)
BILINGUAL, JOINT = "bilingual.", "joint."

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

    joint: tuple[JointModel, ...]
    bilingual: LanguageModel
    classes: NDArray[np.int32]
    keys: NDArray[np.uint64]

    def values(self, given: LinkedTexts) -> NDArray[np.float32]:
        """Return a row of FEATURES for each translation."""
        texts, links = given.texts, given.links
        whole = np.array([0, given.source.size])
        keys = _keys(given.source, whole, texts.words, texts.offsets, links.offsets, links.links, self.classes)
        pairs = Sentences(_numbers(keys, self.keys), texts.offsets)
        columns = (
            texts.lengths,
            LN10 * self.bilingual.score_sentences(pairs, threads=1),
            np.mean([one.scores(given.source, texts, links) for one in self.joint], axis=0),
        )
        return np.column_stack(columns).astype(np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, for saving."""
        models = {f"{JOINT}{number}.": one.to_arrays() for number, one in enumerate(self.joint)}
        models[BILINGUAL] = self.bilingual.to_arrays()
        named = {part + name: one for part, some in models.items() for name, one in some.items()}
        return {**named, "classes": self.classes, "keys": self.keys}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> TranslationFeatures:
        """Return what `to_arrays` gave."""
        networks, keys = sum(name.endswith(".target_rows") for name in arrays), arrays["keys"]
        bilingual = LanguageModel.from_arrays(_part(arrays, BILINGUAL), keys.size + len(RESERVED))
        joint = (JointModel.from_arrays(_part(arrays, f"{JOINT}{number}.")) for number in range(networks))
        return cls(tuple(joint), bilingual, arrays["classes"], keys)


def _part(arrays: Arrays, begin: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(begin): one for name, one in arrays.items() if name.startswith(begin)}


def train_features(
    corpus: ParallelCorpus, links: WordLinks, seed: int, networks: int = 1, progress: Progress = silent
) -> TranslationFeatures:
    """Train the models behind the features on sentence pairs with their word links.

    The joint model is the mean of several `networks` that begin with other random numbers.
    """
    classes = word_classes(corpus.target, len(corpus.target_vocabulary), CLASSES)
    source, target = corpus.source, corpus.target
    keys = _keys(source.words, source.offsets, target.words, target.offsets, links.offsets, links.links, classes)
    known, numbers = np.unique(keys, return_inverse=True)
    pairs = Sentences((numbers + len(RESERVED)).astype(np.int32), target.offsets)
    joint = tuple(train_joint(corpus, links, (seed, number), progress) for number in range(networks))
    return TranslationFeatures(joint, LanguageModel(estimate(pairs, ORDER)), classes, known)


def _numbers(keys: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the numbers of pairs as words of the bilingual model, UNKNOWN for those that it does not have."""
    if not known.size:
        return np.full(keys.size, UNKNOWN, np.int32)
    places = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[places] == keys, places + len(RESERVED), UNKNOWN).astype(np.int32)


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
