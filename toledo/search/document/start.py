"""Where a search begins: what beam search finds, phrases at random, or phrases that are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.search.beam.search import beam_lattice, best_options
from toledo.search.chain import random_derivation
from toledo.search.document.arrays import State, Text, chain_at, sentence_at
from toledo.search.document.models.model import Known
from toledo.search.features import Derivations
from toledo.search.options import SentenceOptions, after_span, may_follow
from toledo.search.settings import Beam
from toledo.search.weighted_model import WeightedModel


class GivenPhrase(Protocol):
    """A phrase that translates the source words from `begin` up to `end`; a `Step` is one."""

    @property
    def begin(self) -> int:
        """The first source word, from 0."""

    @property
    def end(self) -> int:
        """After the last source word."""

    @property
    def words(self) -> Sequence[str]:
        """The target words."""


def random_phrases(known: Known, state: State) -> Derivations:
    """Choose phrases in source order, whatever they score."""
    parts = [_random_sentence(known.text, state, s) for s in range(len(known.sources))]
    return Derivations.joined(known.model, known.text.options, parts)


@kernel
def _random_sentence(text: Text, state: State, s: int) -> NDArray[np.int32]:
    return random_derivation(sentence_at(text, s), chain_at(text, state, s))


def beam_phrases(chooser: WeightedModel, parts: Sequence[SentenceOptions], known: Known) -> Derivations:
    """Choose the best derivation that beam search finds for each sentence, whose options are the parts."""
    found, first = [], 0
    for options in parts:
        if options.begin.size:
            found.append(best_options(beam_lattice(chooser, options, Beam().pop_limit)) + np.int32(first))
        else:
            found.append(np.empty(0, np.int32))
        first += options.begin.size
    return Derivations.joined(known.model, known.text.options, found)


def given_phrases(known: Known, derivation: Sequence[Sequence[GivenPhrase]]) -> Derivations:
    """Derivations from outside; they must translate each word once, with options of the model, within the limit."""
    if len(derivation) != len(known.sources):
        raise InputError(
            f"derivations of {len(derivation)} sentences for a document of {len(known.sources)}",
            remedy="give one derivation for each segment",
        )
    parts = [_given_sentence(known, s, phrases) for s, phrases in enumerate(derivation)]
    return Derivations.joined(known.model, known.text.options, parts)


def _given_sentence(known: Known, s: int, phrases: Sequence[GivenPhrase]) -> NDArray[np.int32]:
    options, model, found = known.text.options, known.model, []
    for phrase in phrases:
        ids = model.target_vocabulary.ids(phrase.words).tolist()
        for option in known.options_of(s):
            if (options.begin[option], options.end[option]) == (phrase.begin, phrase.end):
                begin = int(options.word_begin[option])
                if options.words[begin : begin + int(options.lengths[option])].tolist() == ids:
                    found.append(option)
                    break
        else:
            source = " ".join(known.sources[s][phrase.begin : phrase.end])
            raise InputError(
                f"segment {s + 1}: {' '.join(phrase.words)!r} is no option for {source!r}",
                remedy="use the model that made the derivation, and a table limit that is not lower",
            )
    chosen = np.array(found, np.int32)
    require_derivation(known, s, chosen)
    return chosen


def require_derivation(known: Known, s: int, chosen: NDArray[np.int32]) -> None:
    """Refuse options that leave words out, translate them twice, or break the distortion rule."""
    options, gap, mask, last, done = known.text.options, 0, np.uint64(0), 0, set[int]()
    for option in chosen.tolist():
        begin, end = int(options.begin[option]), int(options.end[option])
        words = set(range(begin, end))
        if done & words or not may_follow.py_func(gap, last, begin, end, known.text.limit):  # type: ignore[attr-defined]
            raise InputError(
                f"segment {s + 1}: words {begin + 1} to {end} cannot come next",
                remedy="each word is translated once, and jumps are at most as long as the model's distortion limit",
            )
        done |= words
        gap, mask = after_span.py_func(gap, mask, begin, end)  # type: ignore[attr-defined]
        last = end
    if len(done) != len(known.sources[s]):
        raise InputError(f"segment {s + 1}: not all words are translated", remedy="give complete derivations")


def phrases_of_pairs(known: Known, offsets: NDArray[np.int64], rows: NDArray[np.int32]) -> Derivations:
    """Phrases from rows of begin, end and pair: what a state was saved as."""
    options, parts = known.text.options, []
    if offsets.size != len(known.sources) + 1 or offsets[-1] != rows.shape[0]:
        raise InputError("a saved state is of another document", remedy="give the document that it was saved for")
    for s in range(len(known.sources)):
        mine = known.options_of(s)
        named = zip(*(array[mine.start : mine.stop].tolist() for array in options[:3]), strict=True)
        numbers = {name: mine.start + k for k, name in enumerate(named)}
        try:
            found = [numbers[tuple(row)] for row in rows[offsets[s] : offsets[s + 1]].tolist()]
        except KeyError:
            raise InputError(
                f"segment {s + 1}: a saved state has a phrase that is no option",
                remedy="give the document and the model that it was saved for",
            ) from None
        parts.append(np.array(found, np.int32))
        require_derivation(known, s, parts[-1])
    return Derivations.joined(known.model, options, parts)
