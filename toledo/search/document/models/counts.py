"""What document models count, as arrays for compiled code.

A model's value is computed from whole numbers that are kept up to date: counts of words, of translations, of n-grams.
So nothing drifts, however long a search runs, and a change that is not made leaves no trace. Where a model adds up
fractions, they are multiples of 1 / FRACTION.

What document models are built from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import PairIndex
from toledo.model import Model
from toledo.search.document.arrays import Text

FEATURES = (
    "document.parity",
    "document.type-token",
    "document.ovix",
    "document.lix",
    "document.consistency",
    "document.semantic",
    "bleu",
)
PARITY, TYPE_TOKEN, OVIX, LIX, CONSISTENCY, SEMANTIC, BLEU = range(7)

ORDER = 4  # of BLEU
WORDS, TYPES, LONG, ODD, ALIKE, LIKELY, HYPOTHESIS, REFERENCE, MATCHES = range(9)
NGRAMS = MATCHES + ORDER
SIZE = NGRAMS + ORDER  # of `Measures.totals`

IS_WORD, IS_LONG = 1, 2
FRACTION = 1 << 32
NOTHING = -1


class Consistency(NamedTuple):
    """The translations of source word k of option o is number `cells[offsets[o] + k]`, or NOTHING where ignored.

    A cell that is used c times adds c · (c − 1) · `shares[cell]`; `occurrences` are all of the words that count.
    """

    offsets: NDArray[np.int32]
    cells: NDArray[np.int32]
    shares: NDArray[np.int64]
    counts: NDArray[np.int32]
    occurrences: int


class Vectors(NamedTuple):
    """Word vectors by type (`vectors[rows[t]]`, NOTHING for words without one), and what a cosine is worth, in bins."""

    rows: NDArray[np.int32]
    vectors: NDArray[np.int32]
    norms: NDArray[np.float64]
    worth: NDArray[np.int64]
    context: int
    mean: NDArray[np.int64]
    sequence: NDArray[np.int32]


class References(NamedTuple):
    """The n-grams of each sentence's references: a trie per sentence, all in one index of (node, type).

    `unigrams[i]` is the node of word i of the options. A node matches as often as `limits` says and occurs `counts`
    times. `undo[: undo_count]` are the nodes whose counts the present proposal has changed.
    """

    children: PairIndex
    unigrams: NDArray[np.int32]
    limits: NDArray[np.int32]
    counts: NDArray[np.int32]
    undo: NDArray[np.int32]
    undo_count: NDArray[np.int64]
    buffer: NDArray[np.int32]
    length_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    method: int
    value: float


class Measures(NamedTuple):
    """Everything about document models: which are `active` (the last one: any of them), their `weights`, and counts.

    `types[i]` numbers word i of the options within the document, `kinds` has bits for each type. `lengths[s]` is the
    number of target words of sentence s. `saved` are the totals before a proposal, `values` and `present` the values
    of models with it and without it, `reach` what they can gain at most. `logs` are logarithms of whole numbers.
    """

    active: NDArray[np.bool_]
    weights: NDArray[np.float64]
    types: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int64]
    totals: NDArray[np.int64]
    saved: NDArray[np.int64]
    values: NDArray[np.float64]
    present: NDArray[np.float64]
    reach: NDArray[np.float64]
    logs: NDArray[np.float64]
    scratch: NDArray[np.float64]
    consistency: Consistency
    vectors: Vectors
    references: References


@dataclass(frozen=True, eq=False)
class Known:
    """A document: its options, the words of each source sentence, and the references of each."""

    model: Model
    text: Text
    sources: Sequence[Sequence[str]]
    references: Sequence[Sequence[Sequence[str]]]

    def options_of(self, s: int) -> range:
        """The options of a sentence."""
        begin, end = self.text.words[s], self.text.words[s + 1]
        if begin == end:
            return range(0)
        return range(int(self.text.options.first[begin, 0]), int(self.text.options.stop[begin:end].max()))
