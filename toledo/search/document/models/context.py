"""A language model whose context does not end with the sentence.

The model is one of whole documents: a line of its training text is a document, with the word `<br>` behind each
sentence (`LanguageModel.train` with document ids). The value is the natural logarithm of the document's probability.

The state of the language model before each sentence is kept. A change is read from the beginning of its sentence on,
and later sentences as far as they see another state, which are one or two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.errors import InputError
from toledo.language_model.automaton import Automaton, advance, begin_state, empty_automaton
from toledo.language_model.model import BREAK, LanguageModel
from toledo.search.chain import Chain
from toledo.search.document.arrays import State, Text, chain_at
from toledo.search.document.models.model import FRACTION, DocumentModel, Known
from toledo.search.options import SentenceOptions
from toledo.settings import Meta

UNIT = FRACTION * math.log(10.0)
COUNT, FIRST = range(2)  # of `ReadText.replaced`
PRESENT, SAVED = range(2)  # of `ReadText.totals`


@dataclass(frozen=True, eq=False)
class ContextModel(DocumentModel):
    """A language model across sentence boundaries: log probability of a document, where `<br>` ends a sentence."""

    lm: Annotated[
        LanguageModel | str | Path | None, Meta(description="Language model of documents: an ARPA file or directory.")
    ] = None

    name: ClassVar[str] = "document.context"
    bounds: ClassVar[tuple[float, float]] = (-math.inf, 0.0)

    def __post_init__(self) -> None:
        if self.lm is None:
            raise InputError(
                "the document model context needs a language model of documents",
                remedy="train one with document ids, and give context:lm=FILE",
            )
        if not isinstance(self.lm, LanguageModel):
            object.__setattr__(self, "lm", LanguageModel.load(self.lm))
        if BREAK not in self.loaded.vocabulary:
            raise InputError(
                f"the language model does not know {BREAK}, the end of a sentence", remedy="train it with document ids"
            )

    @property
    def loaded(self) -> LanguageModel:
        """Return the language model."""
        return cast(LanguageModel, self.lm)


class ReadText(NamedTuple):
    """Word i of the options is `words[i]` of the language model; `states[s]` is its state before sentence s.

    `totals` is the log probability of the document in units of 1 / FRACTION, and what it was before a proposal, which
    has replaced the states `old[:replaced[COUNT]]` from that of sentence `replaced[FIRST]` on.
    """

    model: Automaton
    words: NDArray[np.int32]
    end: int
    states: NDArray[np.int32]
    old: NDArray[np.int32]
    replaced: NDArray[np.int64]
    totals: NDArray[np.int64]


def prepare_reading(known: Known, model: ContextModel | None) -> ReadText:
    """Look up the words of a document; nothing is read yet."""
    size = len(known.sources) + 1
    arrays = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(2, np.int64), np.zeros(2, np.int64)
    if model is None:
        return ReadText(empty_automaton(1, 1, 1), np.empty(0, np.int32), 0, *arrays)
    vocabulary = model.loaded.vocabulary
    words = np.array([vocabulary.id(word) for word in known.spelled], np.int32)[known.types]
    return ReadText(model.loaded.automaton, words, vocabulary.id(BREAK), *arrays)


@inner_kernel
def read_change(read: ReadText, text: Text, state: State, s: int, first: int, old: int, new: int) -> None:
    """Count a change of sentence s as if it were made."""
    read.totals[SAVED], read.replaced[COUNT], read.replaced[FIRST] = read.totals[PRESENT], 0, s + 1
    before, after = read.states[s], read.states[s]
    while True:
        chain = chain_at(text, state, s)
        removed, before = _read_sentence(read, text.options, chain, 1, 0, 0, before)
        added, after = _read_sentence(read, text.options, chain, first, old, new, after)
        read.totals[PRESENT] += added - removed
        first, old, new = 1, 0, 0
        s += 1
        if before == after or s == text.words.size - 1:
            return
        read.old[read.replaced[COUNT]] = before
        read.replaced[COUNT] += 1
        read.states[s] = after


@inner_kernel
def forget_change(read: ReadText) -> None:
    """Take back what `read_change` counted."""
    read.totals[PRESENT] = read.totals[SAVED]
    for k in range(read.replaced[COUNT]):
        read.states[read.replaced[FIRST] + k] = read.old[k]


@inner_kernel
def read_document(read: ReadText, text: Text, state: State) -> None:
    """Read the whole document."""
    read.totals[PRESENT] = 0
    place = begin_state(read.model)
    for s in range(text.words.size - 1):
        read.states[s] = place
        added, place = _read_sentence(read, text.options, chain_at(text, state, s), 1, 0, 0, place)
        read.totals[PRESENT] += added


@inner_kernel
def _read_sentence(
    read: ReadText, options: SentenceOptions, chain: Chain, first: int, old: int, new: int, state: int
) -> tuple[int, int]:
    """Return the log probability of a sentence with a change, and the state of the language model after it."""
    total, size = 0, chain.size[0] + new - old
    for place in range(1, size + 1):
        if first <= place < first + new:
            option = chain.new[place - first]
        else:
            option = chain.chosen[place if place < first else place + old - new]
        for i in range(options.word_begin[option], options.word_begin[option] + options.lengths[option]):
            score, state = advance(read.model, state, read.words[i])
            total += int(score * UNIT)
    score, state = advance(read.model, state, read.end)
    return total + int(score * UNIT), state
