"""A cache of words: what a document has said, it says again (Kuhn and De Mori 1990; Tiedemann 2010).

The value is the share of content words that occur somewhere else in the document, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.search.document.models.model import DocumentModel, Known, Words
from toledo.settings import Meta

TOKENS, REPEATED = range(2)  # of `WordCache.totals`


@dataclass(frozen=True)
class CacheModel(DocumentModel):
    """Repeated words: the share of words with at least `shortest` letters that occur elsewhere in the document, too."""

    shortest: Annotated[int, Meta(ge=1, description="Letters of the shortest target words that count.")] = 4

    name: ClassVar[str] = "document.cache"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)


class WordCache(NamedTuple):
    """Word i of the options is of type `types[i]`; `counts` are occurrences of those types that `matter`."""

    types: NDArray[np.int32]
    matter: NDArray[np.bool_]
    counts: NDArray[np.int32]
    totals: NDArray[np.int64]


def prepare_cache(known: Known, model: CacheModel | None) -> WordCache:
    """Return counts of no words."""
    shortest = 1 if model is None else model.shortest
    matter = np.array([sum(map(str.isalpha, word)) >= shortest for word in known.spelled], np.bool_)
    return WordCache(known.types, matter, np.zeros(matter.size, np.int32), np.zeros(2, np.int64))


@inner_kernel
def exchange_repeated(seen: WordCache, words: Words, first: int, old: int, new: int, sign: int) -> None:
    """Take away the words of `old` phrases from a place on, and add those of `new` ones; the other way with sign −1."""
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
            kind = seen.types[i]
            if seen.matter[kind]:
                before = seen.counts[kind]
                seen.counts[kind] += added
                seen.totals[TOKENS] += added
                seen.totals[REPEATED] += _repeated(before + added) - _repeated(before)


@inner_kernel
def _repeated(count: int) -> int:
    return count if count > 1 else 0


@inner_kernel
def cache_share(seen: WordCache) -> float:
    """Return the value of the model."""
    return float(seen.totals[REPEATED] / max(seen.totals[TOKENS], 1))
