"""The base of document models: what a model sees of a document, and of a change.

A model's value is computed from whole numbers that are kept up to date: counts of words, of translations, of n-grams.
So nothing drifts, however long a search runs, and a change that is not made leaves no trace. Where a model adds up
fractions, they are multiples of 1 / FRACTION. Each model has its file: a class with its settings, a named tuple
of arrays with what it counts, and functions that count a change, take it back, and compute the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.model import PhraseModel
from toledo.search.document.arrays import Text
from toledo.settings import Registry

FRACTION = 1 << 32
NOTHING = -1


class DocumentModel:
    """A model of whole documents that comes with the toolkit; its weight is that of its `name`.

    `bounds` are the lowest and the highest value that it can have: proposals that cannot gain enough are not counted.
    """

    name: ClassVar[str]
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)


class Words(NamedTuple):
    """Where the words of options are, and the options of a sentence: `chosen[1:]`, some to be replaced by `new`."""

    begin: NDArray[np.int32]
    lengths: NDArray[np.int32]
    chosen: NDArray[np.int32]
    new: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Known:
    """A document: its options, the words of each source sentence, and the references of each."""

    model: PhraseModel
    text: Text
    sources: Sequence[Sequence[str]]
    references: Sequence[Sequence[Sequence[str]]]

    def options_of(self, s: int) -> range:
        """Return the options of a sentence."""
        begin, end = self.text.words[s], self.text.words[s + 1]
        if begin == end:
            return range(0)
        return range(int(self.text.options.first[begin, 0]), int(self.text.options.stop[begin:end].max()))

    @cached_property
    def _types(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        words, types = np.unique(self.text.options.words, return_inverse=True)
        return words, types.astype(np.int32)

    @property
    def types(self) -> NDArray[np.int32]:
        """Return the number of each word of the options among the distinct words of the document."""
        return self._types[1]

    @cached_property
    def spelled(self) -> list[str]:
        """Return the distinct words of the options."""
        return self.model.target_vocabulary.words(self._types[0].tolist())

    @property
    def longest_change(self) -> int:
        """Return the largest number of target words that a change can have."""
        longest_sentence = int(np.diff(self.text.words).max(initial=0))
        return longest_sentence * int(self.text.options.lengths.max(initial=1))


def _of_function(function: Callable[..., Any]) -> Any:
    from toledo.search.document.models.user import FunctionModel

    return FunctionModel(getattr(function, "__name__", "function"), function)


HERE = "toledo.search.document.models"
MODELS: Registry[Any] = Registry(
    "document model",
    {
        "parity": f"{HERE}.readability:LengthParity",
        "type-token": f"{HERE}.readability:TypeTokenRatio",
        "ovix": f"{HERE}.readability:OVIX",
        "lix": f"{HERE}.readability:LIX",
        "consistency": f"{HERE}.consistency:LexicalConsistency",
        "clusters": f"{HERE}.consistency:TranslationClusters",
        "cache": f"{HERE}.cache:CacheModel",
        "topic": f"{HERE}.topic:TopicModel",
        "semantic": f"{HERE}.semantic:SemanticModel",
        "context": f"{HERE}.context:ContextModel",
        "bleu": f"{HERE}.bleu:BLEUModel",
    },
    adapt=_of_function,
)
