"""One translation per discourse: how consistently the words of a document are translated.

The value is how likely it is that another occurrence of a source word has the same translation, of words that occur
more than once. Words and translations are compared as they are, or by clusters: forms that begin alike, so that a word
may be inflected and still mean the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.search.document.models.model import FRACTION, NOTHING, DocumentModel, Known, Words
from toledo.search.steps import word_links_of_pair
from toledo.settings import Meta


@dataclass(frozen=True)
class ComparedTranslations(DocumentModel):
    """Base of models that compare the translations of a source word.

    The translation of a word are the target words that the phrase pair links to it. Words with fewer letters than
    `shortest` are left out, and `ignored` ones: function words have many translations for good reasons.
    """

    shortest: Annotated[int, Meta(description="Letters of the shortest source words that count.")] = 4
    ignored: Annotated[frozenset[str], Meta(description="Source words that do not count.")] = frozenset()

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def matters(self, word: str) -> bool:
        """Return whether a source word counts."""
        return sum(map(str.isalpha, word)) >= self.shortest and word not in self.ignored

    def cluster(self, word: str) -> str:
        """Return what stands for a source or target word and those that are taken for the same."""
        return word


@dataclass(frozen=True)
class LexicalConsistency(ComparedTranslations):
    """One translation per discourse: how often two occurrences of a source word have the same translation."""

    name: ClassVar[str] = "document.consistency"


@dataclass(frozen=True)
class TranslationClusters(ComparedTranslations):
    """One meaning per discourse: words of both languages that begin with the same `letters` are taken for the same."""

    letters: Annotated[int, Meta(ge=1, description="Letters by which words are compared.")] = 4

    name: ClassVar[str] = "document.clusters"

    def cluster(self, word: str) -> str:
        """Return the beginning of a word."""
        return word[: self.letters]


class TranslationCounts(NamedTuple):
    """The translation of source word k of option o is number `cells[offsets[o] + k]`, or NOTHING where ignored.

    A cell that is used c times adds c · (c − 1) · `shares[cell]` to `total`; `occurrences` are all of the words that
    count.
    """

    offsets: NDArray[np.int32]
    cells: NDArray[np.int32]
    shares: NDArray[np.int64]
    counts: NDArray[np.int32]
    total: NDArray[np.int64]
    occurrences: int


def prepare_translations(known: Known, model: ComparedTranslations | None) -> TranslationCounts:
    """Number the translations of source words that occur more than once; there are none without a model."""
    options, counts = known.text.options, Counter[str]()
    if model is not None:
        counts.update(model.cluster(word) for source in known.sources for word in source if model.matters(word))
    repeated = {word for word, count in counts.items() if count > 1}
    lengths = options.end - options.begin
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    cells = np.full(int(offsets[-1]), NOTHING, np.int32)
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    if model is not None and repeated:
        targets = [model.cluster(word) for word in known.spelled]
        for s, source in enumerate(known.sources):
            kept = [model.cluster(word) if model.matters(word) else "" for word in source]
            for option in known.options_of(s):
                begin, end = int(options.begin[option]), int(options.end[option])
                for k in range(begin, end):
                    if kept[k] in repeated:
                        key = kept[k], tuple(targets[word] for word in _translation(known, option, k - begin))
                        cells[offsets[option] + k - begin] = numbers.setdefault(key, len(numbers))
    shares = np.array([FRACTION // (counts[word] - 1) for word, _ in numbers], np.int64)
    occurrences = sum(counts[word] for word in repeated)
    return TranslationCounts(
        offsets, cells, shares, np.zeros(len(numbers), np.int32), np.zeros(1, np.int64), occurrences
    )


def _translation(known: Known, option: int, k: int) -> tuple[int, ...]:
    """Return the types of the target words that an option links to its k-th source word."""
    options = known.text.options
    begin, pair = int(options.word_begin[option]), int(options.pairs[option])
    words = known.types[begin : begin + int(options.lengths[option])].tolist()
    if pair < 0:
        return tuple(words)
    return tuple(words[target] for source, target in word_links_of_pair(known.model.table, pair) if source == k)


@inner_kernel
def exchange_translations(seen: TranslationCounts, words: Words, first: int, old: int, new: int, sign: int) -> None:
    """Take away the translations of words by `old` phrases, and add those by `new` ones; the other way with sign −1.

    c(c − 1) grows by 2c when one more comes to c.
    """
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(seen.offsets[option], seen.offsets[option + 1]):
            cell = seen.cells[i]
            if cell != NOTHING:
                others = seen.counts[cell] - (1 if added < 0 else 0)
                seen.total[0] += 2 * added * others * seen.shares[cell]
                seen.counts[cell] += added


@inner_kernel
def consistency(seen: TranslationCounts) -> float:
    """Return the value of the model."""
    return float(seen.total[0] / FRACTION / max(seen.occurrences, 1))
